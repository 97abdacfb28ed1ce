"""From a sweep to journals: what is planned, trained and dispatched.

`sweep` is the typed file in which a study is stated; `planning` says which runs it asks for, and
what each costs; `models` and `training` train one; `dispatch` gives them to workers, who write what
they finish to the journals of the `study_folder`. `stages` are the steps that commands take. The
engine writes the store, and reads nothing of the analysis.
"""
