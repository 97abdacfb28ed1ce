"""Submission to Slurm, and what it says of its queue."""
