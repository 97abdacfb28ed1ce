"""What the page's linked panels show: one block of data that all of them share.

Architectures that a reader selects in one panel are marked in every other (`brush.js`).
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from anynet_study.apr import Roles, cumulative
from anynet_study.errors import UserError
from anynet_study.plots import driver_estimates, pair_estimates, upper_limit, wording
from anynet_study.study import Study

#: Panels of one group; more are looked at one by one.
MOST_PANELS = 24
#: Cells of the data: at about 6 bytes each they are a third of the page at most.
MOST_CELLS = 1_000_000
PARAMETERS = ("cumulative depth", "cumulative width")

Panel = dict[str, Any]


def brush_data(study: Study) -> dict[str, Any]:
    """Architectures, columns of numbers, and panels that show two columns each; JSON-able.

    `columns` have name, label, values (null: missing), limit (null: none; larger values are drawn
    at the edge) and whether they are errors; `groups` have a title, panels of columns x and y with
    a note, and how many panels more there would have been.

    Raises:
        UserError: there is no error to show, or more than a page can hold.
    """
    errors = study.errors.dropna(axis="columns", how="all").dropna(how="all")
    if errors.empty:
        raise UserError("no run has an error")
    if errors.size > MOST_CELLS:
        raise UserError(f"{errors.size:,} errors are more than the {MOST_CELLS:,} a page can hold")
    parameters = _parameters(study, errors.index)
    columns = [_error_column(study, errors[name]) for name in errors] + [
        _column(str(name), str(name), values) for name, values in parameters.items()
    ]
    groups = _groups(study, list(errors.columns), list(parameters.columns))
    return {"architectures": list(errors.index), "columns": columns, "groups": groups}


def _error_column(study: Study, errors: pd.Series) -> dict[str, Any]:
    name = str(errors.name)
    label = wording.error_label(name, study.metrics.get(name, ""), limit=60)
    column = _column(name, label, errors.round(3), is_error=True)
    limit = upper_limit(errors)
    return column | ({"limit": round(limit, 3)} if math.isfinite(limit) else {})


def _column(name: str, label: str, values: pd.Series, is_error: bool = False) -> dict[str, Any]:
    cells = [None if math.isnan(value) else value for value in values.to_numpy(np.float64).tolist()]
    # Whole numbers are shorter without their point.
    short = [int(cell) if cell is not None and cell == int(cell) else cell for cell in cells]
    return {"name": name, "label": label, "values": short, "limit": None, "error": is_error}


def _parameters(study: Study, architectures: pd.Index) -> pd.DataFrame:
    try:
        population = study.population.set_index("architecture")
    except UserError:  # the section of the drivers says so
        return pd.DataFrame(index=architectures)
    return cumulative(population).reindex(architectures)


def _groups(study: Study, datasets: list[str], parameters: list[str]) -> list[dict[str, Any]]:
    """Panels of errors against errors, then of errors against what may drive them."""
    place = {name: number for number, name in enumerate([*datasets, *parameters])}
    correlations, drivers = study.get("correlations"), study.get("drivers")
    estimates = {} if correlations is None else {**pair_estimates(correlations)}
    letter = wording.symbol(study.options.method)

    def group(title: str, pairs: list[tuple[str, str]]) -> dict[str, Any]:
        known = [(x, y) for x, y in pairs if x in place and y in place]
        panels: list[Panel] = [
            {"x": place[x], "y": place[y], "note": _note(estimates.get((x, y)), letter)}
            for x, y in known[:MOST_PANELS]
        ]
        return {"title": title, "panels": panels, "more": len(known) - len(panels)}

    groups = [group(title, pairs) for title, pairs in _pairs(study.known("roles"), datasets)]
    for parameter in parameters:
        if drivers is not None:
            found = driver_estimates(drivers, parameter)
            estimates |= {(parameter, name): value for name, value in found.items()}
        pairs = [(parameter, name) for name in datasets]
        groups.append(group(f"Errors against {parameter}", pairs))
    return [each for each in groups if each["panels"]]


def _pairs(roles: Roles | None, datasets: list[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    if roles is None:
        first = datasets[0]
        return [(f"Every dataset against {first}", [(first, name) for name in datasets[1:]])]
    source = roles.source
    family = [name for name in roles.family if name != source]
    return [
        (f"Targets against the source, {source}", [(source, name) for name in roles.targets]),
        (f"Family of {source} against it", [(source, name) for name in family]),
    ]


def _note(estimate: tuple[float, float, float, int] | None, letter: str) -> str:
    said = "" if estimate is None else wording.correlation(*estimate, letter)
    return said.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
