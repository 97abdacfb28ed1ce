"""Images decoded once and written to a dataset, in a way that can be interrupted."""
