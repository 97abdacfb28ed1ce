"""Variants of a dataset as views of it: classes, groups, shares, wrong labels."""
