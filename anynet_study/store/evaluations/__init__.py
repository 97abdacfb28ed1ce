"""Evaluations of trained runs on further test sets.

`record` one of them as a row; `gathering` those of a study's journals, duplicates settled;
`writing` and `reading` their part of a results store.
"""
