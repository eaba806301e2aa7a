"""The table of GPUs, with the figures that validity rules, plan and roofline read."""
