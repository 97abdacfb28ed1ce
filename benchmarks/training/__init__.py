"""Runs an hour of the engines against plain loops: `python -m benchmarks.training`."""
