"""Release bundles: a folder of a study's results that others can read, cite and import.

`bundle` writes one, from `tables` and what `wording` says of them; `checking` reads one.
"""

from anynet_study.store.exporting.bundle import ExportReport, export
from anynet_study.store.exporting.checking import checked_bundle, import_bundle, is_bundle

__all__ = ["ExportReport", "checked_bundle", "export", "import_bundle", "is_bundle"]
