"""Tell which datasets rank the architectures alike (paper 1, section 4.2), and how surely."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import (
    MOST_IN_HEATMAP,
    MOST_IN_MATRIX,
    Parts,
    stacked,
)
from anynet_study.analysis.analysis import Analysis, StudyFigure, check_room
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Random parts of a study, of each size, whose intervals are measured.
SUBSAMPLES = 20
#: Most targets of which they are: each takes as long as all correlations.
MOST_TARGETS = 16
#: Most resamples of the intervals of those parts, and of each of more than so many pairs.
MOST_RESAMPLES = 1_000
MANY_PAIRS = 1_000
#: An interval of this width needs no more architectures.
NARROW = 0.1


def correlations(study: Study) -> pd.DataFrame:
    """Correlate the errors on every pair of datasets."""
    datasets = study.errors.shape[1]
    pairs = max(1, datasets * (datasets - 1) // 2)
    how, fewer = study.weighted, pairs > MANY_PAIRS and study.options.resamples > MOST_RESAMPLES
    how |= {"resamples": MOST_RESAMPLES} if fewer else {}
    table = apr.correlations(
        study.errors, **how, on_pairs=lambda done: study.progress(done / pairs)
    )
    if fewer:
        table.attrs["resamples"] = MOST_RESAMPLES
        table.attrs["remarks"] = [
            f"Intervals of {pairs:,} pairs rest on {MOST_RESAMPLES:,} resamples."
        ]
    return table


def all_pairs(study: Study) -> pd.DataFrame:
    """The points of a scatter matrix."""
    names = list(study.errors.columns)
    check_room(len(names), MOST_IN_MATRIX)
    pairs = [(x, y) for number, y in enumerate(names) for x in names[:number]]
    return plots.scatter_data(study.errors, pairs)


def of_heatmap(study: Study) -> pd.DataFrame:
    """The correlations, where there is room for a row for every dataset."""
    check_room(study.errors.shape[1], MOST_IN_HEATMAP)
    return study.table("correlations")


CORRELATIONS = Analysis[Study](
    name="correlations",
    title="Correlation of the errors, every pair of datasets",
    table=correlations,
    question="Do two datasets rank the architectures alike?",
    formula="ρ(x, y) = Pearson's r of the (mid)ranks of the errors on x and on y",
    source="paper 1, section 4.2 and Figure A8",
    avoid=(
        "as evidence of a cause: in a wide band of FLOPs, errors can correlate only because all of "
        "them fall with size"
    ),
    headings={"source": "dataset", "target": "and", "estimate": "correlation"}
    | {"p_holm": "p (Holm)", "p_bh": "", "fisher": ""},
    figures=(
        StudyFigure(
            name="heatmap",
            title="Correlations of all pairs",
            caption="{correlation} of the errors for every pair of datasets; below each, where "
            "there is room, its {level} bootstrap interval.",
            draw=lambda study, table: plots.correlation_heatmap(table),
            data=of_heatmap,
            column="estimate",
            expected=True,
        ),
        StudyFigure(
            name="matrix",
            title="Scatter matrix",
            caption="All pairs of datasets. Below the diagonal: test errors in percent, one point "
            "per architecture, the best and worst ten on the row's dataset marked. On the "
            "diagonal: their distribution. Above it: {correlation} ({rho}) with its {level} "
            "bootstrap interval.",
            draw=lambda study, _: plots.scatter_matrix(study.errors, study.table("correlations")),
            data=all_pairs,
            column="estimate",
            expected=True,
        ),
    ),
    section="pairs",
    shown="folded",
    caption="All pairs as a table",
    note="p: two-sided test of no association, for that pair alone.",
    expected=True,
)


def sizes(study: Study) -> pd.DataFrame:
    """Return how many architectures narrower intervals of the correlations with the targets
    need.
    """
    found, roles = study.table("correlations"), study.known("roles")
    if roles is not None:
        source, targets = roles.source, set(roles.targets)
        found = found[
            (found["source"].eq(source) & found["target"].isin(targets))
            | (found["target"].eq(source) & found["source"].isin(targets))
        ]
        other = found["target"].where(found["source"].eq(source), found["source"])
        found = found.assign(source=source, target=other)
    width = found["high"] - found["low"]
    result = found[["source", "target", "estimate", "low", "high"]].assign(width=width)
    result["n"] = found["n"]
    needed = {"for_half": 4 * found["n"], "for_a_tenth": found["n"] * (width / NARROW) ** 2}
    for name, count in needed.items():
        # Sums of rounded widths must not add an architecture.
        most = np.maximum(count, found["n"])  # an interval of less than 0.1 has enough
        result[name] = np.ceil(most.where(width > 0) - 1e-9).astype("Int64")
    return result.reset_index(drop=True)


def roughly(count: int) -> str:
    """A count with two digits that mean something: 606 is written 610."""
    return f"{int(float(f'{count:.2g}')):,}"


def arrange_sizes(sizes: pd.DataFrame) -> pd.DataFrame:
    """For people: with two digits of what is an estimate."""
    return sizes.assign(
        **{
            name: [roughly(count) if pd.notna(count) else "–" for count in sizes[name]]
            for name in ("for_half", "for_a_tenth")
        }
    )


def widths(study: Study) -> pd.DataFrame:
    """Tell how wide the intervals of smaller studies are, against Fisher's approximation."""
    _ = study.equal_weights  # random parts take all alike
    source, targets = study.roles.source, list(study.roles.targets)
    parts: Parts = {
        (source, target): partial(widths_of, study, source, target)
        for target in targets[:MOST_TARGETS]
    }
    table = stacked(["source", "target"], parts, study.progress)
    return of_parts(table.dropna(subset="width"))


def widths_of(study: Study, source: str, target: str) -> pd.DataFrame:
    """Tabulate the interval widths of one pair of datasets."""
    how = study.options.correlating
    how["resamples"] = min(study.options.resamples, MOST_RESAMPLES)
    return apr.interval_widths(study.errors, source, target, subsamples=SUBSAMPLES, **how)


def of_parts(table: pd.DataFrame) -> pd.DataFrame:
    """Widths of studies of several sizes. Raises UserError for one size, which says nothing."""
    if table["n"].nunique() < 2:
        raise DoesNotApplyError(
            f"{table['n'].max()} architectures have no smaller parts to compare"
        )
    return table


def draw_widths(study: Study, table: pd.DataFrame) -> "Figure":
    """A panel for each target."""
    groups = table.groupby("target", sort=False)
    return plots.width_grid({f"{rows['source'].iloc[0]} and {name}": rows for name, rows in groups})


SIZES = Analysis[Study](
    name="sizes",
    older_names=("widths",),
    title="How many architectures narrower intervals need",
    table=sizes,
    question="How many architectures would narrower intervals need?",
    formula="n needed = n (width here / width wanted)²; drawn: the median width of the intervals "
    "of random subsamples of m architectures, and by Fisher's formula that of "
    "tanh(artanh ρ ± q √((1 + ρ²/2) / (m - 3))), q the normal quantile",
    source="Bonett and Wright 2000 for Fisher's formula",
    avoid=("where training noise limits a correlation: more architectures do not raise that limit"),
    headings={"estimate": "correlation", "for_half": "n for half the width"}
    | {"for_a_tenth": "n for a width of 0.1"},
    arrange=arrange_sizes,
    figures=(
        StudyFigure(
            name="widths",
            title="Intervals of smaller studies",
            caption="Width of the {level} interval of each target's correlation with the source "
            "(of the first 16 targets at most) in studies of fewer architectures, random parts of "
            "this one: the median and its spread, and the width by Fisher's formula.",
            draw=draw_widths,
            data=widths,
            panels="target",
        ),
    ),
    section="proxies",
    heading="How many architectures would be enough?",
    shown="open",
    note="For an interval half as wide as here, and for one of width 0.1: widths shrink with the "
    "root of the number of architectures.",
)
