"""Which store a user means."""

from collections.abc import Sequence
from pathlib import Path

from anynet_study.errors import UserError
from anynet_study.store.results import ResultStore
from anynet_study.store.several import ResultStores


def find_stores(where: Sequence[str | Path]) -> ResultStore | ResultStores:
    """The store of one name, or the stores of several as one. Raises UserError as `find_store`."""
    stores = [find_store(each) for each in where]
    return stores[0] if len(stores) == 1 else ResultStores(stores)


def find_store(where: str | Path) -> ResultStore:
    """The store named by a results file, a study folder, or a study's bare name in `studies/`."""
    places = [Path(where), Path(where) / "results.h5", Path("studies") / where / "results.h5"]
    for place in places:
        if place.is_file():
            return ResultStore(place)
    folder = next((place.parent for place in places[1:] if _is_study(place.parent)), None)
    if folder is not None:
        raise UserError(f"{folder}: holds no results.h5 yet; make it: anynet-study collect {where}")
    there = sorted(path.parent.name for path in Path("studies").glob("*/results.h5"))
    listed = f"; in studies/ there are: {', '.join(there)}" if there else ""
    raise UserError(f"{where}: no such results store or study{listed}")


def _is_study(folder: Path) -> bool:
    return (folder / "sweep.yaml").is_file()
