"""A study engine for populations of CNN architectures."""
