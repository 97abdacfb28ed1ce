"""`anynet-study export`: a study's results as a folder for others."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from anynet_study.cli.options import AsIs, AsJson, StoreName, current, opt, writes
from anynet_study.cli.tables import print_table


def export(
    store: StoreName,
    output: Annotated[Path, writes("Folder to make.")],
    with_launch: Annotated[
        bool, opt("Publish launch options, hosts and paths as well.", "--with-launch")
    ] = False,
    as_json: AsJson = False,
    as_is: AsIs = False,
) -> None:
    """Write a folder to publish, which others can check and import.

    It holds the results as HDF5 and as Parquet, the sweep and population where the study has
    them, a README, a data dictionary and checksums. An older export of that name is replaced. How
    and where jobs ran (launch options, hosts, folders of paths) and what looks like a key are left
    out, and said to be.

    \b
    Examples:
      anynet-study export quickstart -o release
      anynet-study import release -o results.h5
    """
    from anynet_study.store import export as write
    from anynet_study.store import find_store

    current([store], as_is)
    report = write(find_store(store), output, with_launch)
    if as_json:
        print(json.dumps({**asdict(report), "folder": str(report.folder)}))
        return
    print_table((), [(f"{size:,}", name) for name, size in report.files.items()], left={1})
    for line in report.left_out:
        print(f"left out: {line}")
    if report.left_out:
        print("with them: --with-launch")
    print(report.folder)
