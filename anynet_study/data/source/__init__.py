"""A download as a tree of files: folders and archives, never trusted."""
