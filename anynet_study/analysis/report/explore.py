"""The data that the page draws in the browser: one block that all drawings share.

The drawings are plain canvases, about 1,200 lines of JavaScript (`templates/scripts/`), 45 KB in a
page. Libraries were weighed: uPlot (50 KB) draws series over time, no linked scatter plots nor
parallel coordinates, so that brushing would be written by hand all the same; Observable Plot with
the parts of D3 that it needs (230 KB) makes one SVG node per point and makes all anew at each move
of a brush; Vega-Lite is a megabyte.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from anynet_study.analysis.apr import Roles, cumulative
from anynet_study.analysis.apr.population import stages_of
from anynet_study.analysis.plots import driver_estimates, pair_estimates, upper_limit, wording
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError

#: The most panels of one group; further pairs are shown one by one.
MOST_PANELS = 24
#: The most cells of data: at about 6 bytes each, they take at most a third of the page.
MOST_CELLS = 1_000_000
#: The most points of learning curves: with more, some epochs are left out, but never the last.
MOST_CURVE_ERRORS = 150_000
TOTALS = ("cumulative depth", "cumulative width")
COSTS = {"flops": "FLOPs", "parameters": "parameters", "activations": "activations"}
#: Fields of an `Architecture` with a value for each stage, and their columns' letter.
STAGES = {"depths": "d", "widths": "w", "bottleneck_ratios": "b", "group_widths": "g"}
SINGLE = ("stem", "stem_width", "block", "se_ratio")
Data = dict[str, Any]


def explore_data(study: Study, beside: Sequence[Study] = ()) -> Data:
    """Architectures, columns of numbers, and which of them are drawn together; JSON-able.

    `architectures` are names of networks, or else ids; `columns` have name, label, values (null:
    missing), limit (null: none; larger values are drawn at the edge), whether they are errors, the
    replicates by the number of the architecture, and which field of an architecture they are a
    stage of; `groups` have a title, panels of columns x and y with a note, and how many panels more
    there would have been; `matrix` has the pairs (rho, low, high, n) of the names, row by row above
    the diagonal; `sides` are what is set side by side: recipes of the study and the studies
    `beside` it, whose architectures are added. `z` is the normal quantile of intervals made in the
    browser.

    Raises:
        DoesNotApplyError: there is no error to show, or more than a page can hold.
    """
    errors = study.errors.dropna(axis="columns", how="all").dropna(how="all")
    if errors.empty:
        raise DoesNotApplyError("no run has an error")
    others = _others(study, beside)
    ids = list(dict.fromkeys([*errors.index, *(i for _, _, it in others for i in it.index)]))
    if (cells := len(ids) * (errors.shape[1] + sum(it.shape[1] for *_, it in others))) > MOST_CELLS:
        raise DoesNotApplyError(
            f"{cells:,} errors are more than the {MOST_CELLS:,} a page can hold"
        )
    columns = _error_columns(study, errors.reindex(ids))
    roles: Roles | None = study.known("roles")
    datasets = list(map(str, errors))
    main = study.recipe or study.name
    places = {name: number for number, name in enumerate(datasets)}
    sides = [_side(main if others and not beside else study.name, roles, places)]
    for name, known, table in others:
        where = {str(dataset): len(columns) + k for k, dataset in enumerate(table)}
        sides.append(_side(name, known, where))
        for dataset in table:
            label = wording.error_label(f"{dataset}, {name}", limit=60)
            columns.append(
                _column(f"{dataset}, {name}", label, table[dataset].reindex(ids), error=True)
            )
    population = _population([study, *beside], ids)
    names = {one: name for each in (study, *beside) for one, name in each.networks.items()}
    columns += _parameter_columns(population)
    place = {each["name"]: number for number, each in enumerate(columns)}
    source = roles.source if roles else datasets[0]
    rest = [*roles.targets, *roles.family] if roles else datasets
    first = next((name for name in rest if name != source and name in place), source)
    return {
        "architectures": [names.get(str(one), one) for one in ids],
        "columns": columns,
        "groups": _groups(study, datasets, place),
        "pair": [place.get(source, 0), place.get(first, 0)],
        "source": source,
        "letter": wording.symbol(study.options.method),
        "z": float(ndtri((1 + study.options.level) / 2)),
        "matrix": _matrix(study, datasets),
        "curves": _curves(study, datasets, ids),
        "sides": sides if len(sides) > 1 else [],
        **_specifications(population),
    }


def _others(study: Study, beside: Sequence[Study]) -> list[tuple[str, Roles | None, pd.DataFrame]]:
    """Name, roles and errors of each further recipe and study."""
    recipes: dict[str, pd.DataFrame] = study.known("recipes") or {}
    found = [(name, study.known("roles"), table) for name, table in recipes.items()]
    found += [(other.name, other.known("roles"), other.errors) for other in beside]
    return [
        (name, roles, table.dropna(axis="columns", how="all").dropna(how="all").round(3))
        for name, roles, table in found
    ]


def _side(name: str, roles: Roles | None, columns: dict[str, int]) -> Data:
    source = roles.source if roles and roles.source in columns else None
    return {"name": name, "source": source, "columns": columns}


def _error_columns(study: Study, errors: pd.DataFrame) -> list[Data]:
    number = {name: i for i, name in enumerate(errors.index)}
    replicates: dict[str, dict[int, list[float]]] = {}
    known: pd.DataFrame | None = study.known("replicates")
    if known is not None:
        known = known.dropna(subset="error")
        several = known[known.duplicated(["architecture", "dataset"], keep=False)]
        for (dataset, name), rows in several.groupby(["dataset", "architecture"], sort=False):
            if name in number:
                of = replicates.setdefault(str(dataset), {})
                of[number[str(name)]] = [round(float(error), 3) for error in rows["error"]]
    made = []
    for name in map(str, errors):
        label = wording.error_label(name, study.metrics.get(name, ""), limit=60)
        column = _column(name, label, errors[name].round(3), error=True)
        limit = upper_limit(errors[name])
        column["limit"] = round(limit, 3) if math.isfinite(limit) else None
        made.append(column | {"replicates": replicates.get(name, {})})
    return made


def _column(name: str, label: str, values: pd.Series, error: bool = False, stage: str = "") -> Data:
    column = {"name": name, "label": label, "values": _short(values), "limit": None, "error": error}
    return column | ({"stage": stage} if stage else {})


def _short(values: Any) -> list[float | int | None]:
    """Write whole numbers without a decimal point, and missing values as null."""
    cells = [None if math.isnan(value) else value for value in np.asarray(values, float).tolist()]
    return [int(cell) if cell is not None and cell == int(cell) else cell for cell in cells]


def _population(studies: Sequence[Study], ids: list[str]) -> pd.DataFrame:
    """The parameters of these architectures, a row for each; empty where none are known."""
    known = [study for study in studies if study.known("population") is not None]
    tables = [study.architectures.set_index("architecture") for study in known]
    if not tables:  # the section of the drivers says so
        return pd.DataFrame(index=pd.Index(ids))
    both = pd.concat(tables)
    return both[~both.index.duplicated()].reindex(ids)


def _parameter_columns(population: pd.DataFrame) -> list[Data]:
    if population.columns.empty:
        return []
    made = [_column(str(n), str(n), values) for n, values in cumulative(population).items()]
    made += [
        _column(label, label, population[name])
        for name, label in COSTS.items()
        if name in population and population[name].notna().any()
    ]
    for kind, letter in STAGES.items():
        for stage in stages_of(population.columns, "d"):
            if (name := f"{letter}{stage}") in population:
                label = f"{kind.replace('_', ' ').removesuffix('s')} of stage {stage} ({name})"
                made.append(_column(name, label, population[name], stage=kind))
    return made


def _specifications(population: pd.DataFrame) -> Data:
    """Return what an architecture has beside its stages: distinct ones, and the number of
    each's.
    """
    if not {"d1", "w1"} <= set(population.columns):
        return {"skeletons": None, "skeleton": None}
    strides = [f"s{stage}" for stage in stages_of(population.columns, "d")]
    strides = [name for name in strides if name in population]
    single = [name for name in SINGLE if name in population]
    distinct: dict[str, int] = {}
    skeletons: list[Data] = []
    numbers = []
    for row in population[[*strides, *single]].itertuples(index=False):
        number = distinct.setdefault(repr(row), len(distinct))
        numbers.append(number)
        if number == len(skeletons):
            told = dict(zip([*strides, *single], row, strict=True))
            known = [int(told[name]) for name in strides if not pd.isna(told[name])]
            skeletons.append({"strides": known} | {n: told[n] for n in single} if known else {})
    return {"skeletons": skeletons, "skeleton": numbers}


def _matrix(study: Study, datasets: list[str]) -> Data | None:
    correlations = study.get("correlations")
    if correlations is None or len(datasets) < 2:
        return None
    found = pair_estimates(correlations)
    pairs: list[list[float | int | None]] = []
    for number, name in enumerate(datasets):
        for other in datasets[number + 1 :]:
            estimate = found.get((name, other))
            # Rounded once more where it is shown: three decimals would sometimes show another end.
            pairs.append([None] * 3 + [0] if estimate is None else _short(np.round(estimate, 6)))
    return {"names": datasets, "pairs": pairs}


def _curves(study: Study, datasets: list[str], ids: list[str]) -> dict[str, Data]:
    table: pd.DataFrame | None = study.known("curves")
    if table is None:
        return {}
    table = table.dropna(subset="error")
    fewer = math.ceil(len(table) / MOST_CURVE_ERRORS)
    made = {}
    for dataset in datasets:
        rows = table[table["dataset"] == dataset]
        wide = rows.pivot_table(index="architecture", columns="epoch", values="error", sort=False)
        if wide.empty:
            continue
        wide = wide.sort_index(axis="columns")
        kept = [*range(len(wide.columns) - 1, -1, -fewer)][::-1]
        wide = wide.iloc[:, kept].round(2)
        errors = dict(zip(wide.index, map(_short, wide.to_numpy(np.float64)), strict=True))
        epochs = [int(epoch) for epoch in wide.columns]
        made[dataset] = {"epochs": epochs, "errors": [errors.get(name) for name in ids]}
    return made


def _groups(study: Study, datasets: list[str], place: dict[str, int]) -> list[Data]:
    """Panels of errors against errors, then of errors against what may drive them."""
    correlations, drivers = study.get("correlations"), study.get("drivers")
    estimates = {} if correlations is None else {**pair_estimates(correlations)}
    letter = wording.symbol(study.options.method)

    def group(title: str, pairs: list[tuple[str, str]]) -> Data:
        known = [(x, y) for x, y in pairs if x in place and y in place]
        panels = [
            {"x": place[x], "y": place[y], "note": _note(estimates.get((x, y)), letter)}
            for x, y in known[:MOST_PANELS]
        ]
        return {"title": title, "panels": panels, "more": len(known) - len(panels)}

    groups = [group(title, pairs) for title, pairs in _pairs(study.known("roles"), datasets)]
    for parameter in TOTALS:
        if drivers is not None:
            found = driver_estimates(drivers[drivers["errors"] == "test"], parameter)
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
