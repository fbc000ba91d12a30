"""Benchmarks: ratios against a peer or a limit, measured alternating in one run. Timings are never tested."""
