"""The window: what a prompt shows of the memory, how full it is, and why each item is in or out."""
