"""Populations of architectures: the table, its files, and what can be made of it."""
