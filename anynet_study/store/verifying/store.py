"""Everything about one results store."""

from pathlib import Path

import h5py

from anynet_study.errors import UserError
from anynet_study.progress import progress_if_long
from anynet_study.store.opening import DAMAGE, open_store, opened
from anynet_study.store.verifying import arrays, evaluations, runs, structure, tables
from anynet_study.store.verifying.finding import Finding


def verify(path: Path) -> list[Finding]:
    """What is wrong with a results store; nothing if all is well.

    Memory is bounded by the columns of its runs and some dozen MB of arrays. Raises UserError if
    it is missing, no store, or a newer one; OSError if it may not be read.
    """
    with open_store(path):
        pass
    try:
        with opened(path) as file:
            found = _damage(file)
            if not found:
                found = _contradictions(file)
    except DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        found = [Finding("/", f"cannot be read: {reason}")]
    if not found:
        try:
            found = list(tables.architectures(path))
        except UserError as error:
            found = [Finding("/architectures", str(error))]
    return found


def _damage(file: h5py.File) -> list[Finding]:
    """What keeps the contents from being looked at."""
    each = structure.arrays(file)
    found = [*structure.parts(file), *structure.sizes(each)]
    if found:
        return found
    total = sum(array.nbytes for array in each.values())
    with progress_if_long("reading (MB)", total >> 20) as report:
        return list(structure.readable(each, lambda done: report(done >> 20)))


def _contradictions(file: h5py.File) -> list[Finding]:
    columns, evaluated = runs.Runs(file), evaluations.Evaluations(file)
    found = [
        *runs.references(file, columns),
        *evaluations.references(evaluated, columns),
        *arrays.offsets(file, columns),
    ]
    if found:
        return found
    return [
        *structure.root(file),
        *tables.datasets(file),
        *runs.values(file, columns),
        *arrays.specs(file, columns),
        *arrays.curves(file, columns),
        *arrays.predictions(file, columns),
        *evaluations.values(file, evaluated, columns),
    ]
