"""What GPUs can do: the table of devices, with the figures that validity rules and the roofline read."""
