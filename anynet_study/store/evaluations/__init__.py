"""Evaluations of trained runs on further test sets.

`record` one of them as a row; `catalogue` those of a study's journals, duplicates settled;
`sources` where their predictions are; `writing` and `reading` their part of a results store;
`several` those of several stores as one.
"""
