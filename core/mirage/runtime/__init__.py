"""The decorator at run time: the kernel when one is installed and fits the call, else the function as written."""
