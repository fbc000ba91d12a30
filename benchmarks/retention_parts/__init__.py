"""The parts of the retention benchmark: conversations with their probes, and the methods that are compared."""
