"""The tables of architectures and datasets."""

from pathlib import Path

import h5py
import numpy as np

from anynet_study.design_space.architecture import ids_of
from anynet_study.design_space.complexity import MEASURES
from anynet_study.design_space.population_table import costs_of
from anynet_study.errors import UserError
from anynet_study.store.columns import read_column
from anynet_study.store.exporting.tables import population_of
from anynet_study.store.record import ROLES
from anynet_study.store.results import ResultStore
from anynet_study.store.verifying.finding import Finding, Findings, some


def architectures(path: Path) -> Findings:
    """Ids and costs that are not those of the networks, where the columns describe networks."""
    store = ResultStore(path)
    names = store.table("architectures", ["architecture"])["architecture"].to_pylist()
    if len(set(names)) < len(names):
        yield Finding("/architectures/architecture", "has an architecture twice")
    try:
        population = population_of(store)
        if population is None:
            return
        groups, table = population.groups, population.table
        place = population.resolution, population.classes
    except UserError as error:
        yield Finding("/architectures", str(error))
        return
    ids = np.array(names, object)
    for rows, networks in groups:
        if (other := ids[rows] != np.array(ids_of(networks), object)).any():
            said = f"is not the hash of the network of {some(ids[rows][other])}"
            yield Finding("/architectures/architecture", said)
        for name, counts in zip(MEASURES, costs_of(networks, *place), strict=True):
            if (other := table[name].to_numpy()[rows] != counts).any():
                said = f"is not what the network costs of {some(ids[rows][other])}"
                yield Finding(f"/architectures/{name}", said)


def datasets(file: h5py.File) -> Findings:
    """Datasets that there cannot be."""
    table = file["datasets"]
    columns = {name: read_column(table, name) for name in table}
    names = columns["dataset"]
    if len(set(names)) < len(names):
        yield Finding("/datasets/dataset", "has a dataset twice")
    if "role" in columns and (unknown := set(columns["role"]) - {*ROLES, ""}):
        yield Finding("/datasets/role", f"has {some(sorted(unknown))}; legal: {', '.join(ROLES)}")
    for name, low, high in (("chance", 0, 100), ("classes", 1, np.inf), ("test_images", 0, np.inf)):
        values = columns.get(name, np.empty(0))
        if values.dtype.kind in "iuf" and ((values < low) | (values > high)).any():
            yield Finding(f"/datasets/{name}", f"is not in {low}..{high}")
