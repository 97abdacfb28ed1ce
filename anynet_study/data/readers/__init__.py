"""Readers of datasets as they are downloaded, by families of layouts."""
