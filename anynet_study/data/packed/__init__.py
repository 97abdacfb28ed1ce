"""A dataset as it lies on disk: its folder, its description, its images in either form."""
