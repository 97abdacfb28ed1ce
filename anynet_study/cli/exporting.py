"""`anynet-study export`: a study's results as a folder for others."""

import json
from pathlib import Path
from typing import Annotated

from anynet_study.cli.options import AsIs, AsJson, StoreName, current, writes
from anynet_study.cli.tables import print_table


def export(
    store: StoreName,
    output: Annotated[Path, writes("Folder to make.")],
    as_json: AsJson = False,
    as_is: AsIs = False,
) -> None:
    """Write a folder to publish, which others can check and import.

    It holds the results as HDF5 and as Parquet, the sweep and population where the study has
    them, a README, a data dictionary and checksums. An older export of that name is replaced.

    \b
    Examples:
      anynet-study export quickstart -o release
      anynet-study import release -o results.h5
    """
    from anynet_study.store import export as write
    from anynet_study.store import find_store

    current([store], as_is)
    report = write(find_store(store), output)
    if as_json:
        print(json.dumps({"folder": str(report.folder), "files": report.files}))
        return
    print_table((), [(f"{size:,}", name) for name, size in report.files.items()], left={1})
    print(report.folder)
