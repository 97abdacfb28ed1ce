"""The engine on a GPU that it has never seen: see `first_hour`. Imports nothing, for `wheels`."""
