"""Results: run records, the workers' journals, and the HDF5 store collected from them.

`layout` describes the columns of every table once, for records, journals, the store and its
readers. Journals, imported files and other stores each yield one table of records (`records`) and
their arrays (`run_arrays`); `deduplicate` keeps one record of each run and orders them, and `write`
makes the file, whose columns are those of the table.

`journal` writes and reads journals, in checked `frames`; `collecting` makes the store of a study,
`importing` one of other people's results; `opening` checks the layout of every store that is
opened; `integrity` says whether a store is what it should be, and compares two.
`restoring` writes journals again that were lost, from a store. `results` reads a store as tables,
`several` some as one, and a part of one; `querying` runs a SELECT over them; `exporting` makes a
folder for others, and reads it back; `publishing` leaves out of it what is private.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
