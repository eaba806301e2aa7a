"""The parts of `./dev bench search`: one file each, with a function `rows(device)` that yields the part's rows."""
