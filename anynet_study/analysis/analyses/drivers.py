"""Tell what of an architecture drives its errors (paper 1, sections 4.4 and 6.2.2)."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import MARKED, drawable_errors, one_of
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.claims import Claim, CorrectedP, Fact, Kind, Said, sources
from anynet_study.analysis.study import Inputs, Study
from anynet_study.analysis.worlds import SIZES, TARGETS, Draw, Setting, World, settings
from anynet_study.core.errors import DoesNotApplyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Trees of each forest.
TREES = 100
#: Whose errors drivers are of: those on test images, and on training images.
TEST, TRAINING = "test", "training"


def drivers(study: Study) -> pd.DataFrame:
    """Cumulative depth and width, with the test errors and, where known, the training errors."""
    parts = {TEST: apr.drivers(study.staged(study.errors), study.population, **study.weighted)}
    if (training := study.known("training_errors")) is not None:
        with suppress(DoesNotApplyError):
            errors = study.staged(training)
            parts[TRAINING] = apr.drivers(errors, study.population, **study.weighted)
    table = one_of("errors", parts)
    counts = [f"the {part['p'].notna().sum()} tests of {it} errors" for it, part in parts.items()]
    table.attrs["tests"] = ", and for ".join(counts)
    return table


def of_errors(table: pd.DataFrame, which: str) -> pd.DataFrame:
    """The rows of the drivers of test, or of training errors."""
    return table[table["errors"] == which]


def arrange(table: pd.DataFrame) -> pd.DataFrame:
    """Without the kind of errors where there is one."""
    return table if table["errors"].nunique() > 1 else table.drop(columns="errors")


def driver(parameter: str, name: str, title: str) -> StudyFigure[Study]:
    """A figure of the errors on each dataset against one parameter."""

    def data(study: Study) -> pd.DataFrame:
        return plots.driver_data(
            drawable_errors(study.staged(study.errors)), study.population, parameter
        )

    def draw(study: Study, _: pd.DataFrame) -> "Figure":
        errors = drawable_errors(study.staged(study.errors))
        table = of_errors(study.table("drivers"), TEST)
        return plots.driver_grid(errors, study.population, parameter, table, study.metrics)

    return StudyFigure(
        name=name,
        title=title,
        caption=f"Each architecture's {parameter} over its stages, against its test error on each "
        f"dataset. A positive {{rho}} says that the error grows with it. "
        f"{MARKED.format(of='dataset')}",
        draw=draw,
        data=data,
        column="estimate",
        expected=True,
    )


def fitted(study: Study) -> pd.DataFrame:
    """Training errors of the architectures that have stages."""
    return study.staged(study.training_errors)


def draw_fitting(study: Study, _: pd.DataFrame) -> "Figure":
    """A panel for each dataset."""
    errors, table = fitted(study), of_errors(study.table("drivers"), TRAINING)
    metrics = dict.fromkeys(errors, "training")
    return plots.driver_grid(errors, study.population, "cumulative depth", table, metrics)


OF_SAMPLE = sources("architectures")
GOES_WITH = Kind(
    name="errors go with a sum",
    speaks=OF_SAMPLE,
    subject="more {about}",
    words={
        "opposite": "{subject} goes with lower errors on {names}",
        "yes": "{subject} goes with higher errors on {names}",
        "undecided": "it is undecided whether errors rise or fall with {about} on {any_of}",
    },
)


def driven(drivers: pd.DataFrame) -> Said:
    """Return where deeper or wider architectures are better on some datasets and worse on
    others.
    """
    level, tests = drivers.attrs.get("level", 0.95), len(drivers)
    return [
        Claim(
            GOES_WITH,
            str(row["dataset"]),
            CorrectedP(row["p_holm"], row["estimate"], OF_SAMPLE, tests, level),
            str(row["parameter"]),
            tests,
        )
        for _, rows in drivers.groupby("parameter", sort=False)
        for row in rows.to_dict("records")
    ]


def of_spread(kind: str, strength: float) -> Callable[[Draw, Setting], Inputs]:
    """Errors on datasets that rise with depth by `strength`, where "opposed" on every other one.

    Their spread may hang on depth, too.
    """

    def draw_inputs(draw: Draw, setting: Setting) -> Inputs:
        n = setting.n
        depths = draw.integers(1, 9, (n, 4))
        deep = (depths.sum(axis=1) - 18) / depths.sum(axis=1).std()
        of_kind = {"fanning": np.exp(0.5 * deep), "U": 0.2 + deep**2}
        spread = of_kind.get(kind, np.ones(n))
        own = draw.normal(size=(n, setting.targets)) + draw.normal(size=(n, 1))
        own = np.exp(own) - np.exp(1) if setting.shape == "skewed" else own
        if setting.shape == "diverged":
            own = np.where(draw.random(own.shape) < 0.03, 12.0, own)
        signs = np.where((kind == "opposed") & (np.arange(setting.targets) % 2 == 1), -1, 1)
        errors = 40 + strength * signs * deep[:, None] + spread[:, None] * own
        table = pd.DataFrame(errors, columns=[f"t{at}" for at in range(setting.targets)])
        stages: dict[str, Any] = {f"d{stage + 1}": depths[:, stage] for stage in range(4)}
        stages |= {f"w{stage}": 8 * draw.integers(1, 129, n) for stage in range(1, 5)}
        stages |= {f"{what}{stage}": np.ones(n) for what in "bg" for stage in range(1, 5)}
        known = {"architecture": table.index, **stages}
        if setting.weights:
            known["weight"] = np.where(deep > 0, 8.0, 1.0)
        return Inputs(errors=table, architectures=pd.DataFrame(known))

    return draw_inputs


def depth_only(claim: Claim, _: Inputs) -> bool:
    """Errors rise with depth, and do not go with width."""
    return claim.about == "cumulative depth" and claim.answer == "yes"


def depths(claim: Claim, _: Inputs) -> bool:
    """A claim about depth."""
    return claim.name in ("cumulative depth", *(f"d{stage}" for stage in range(1, 5)))


def neither(claim: Claim, _: Inputs) -> bool:
    """Errors go with nothing."""
    return False


ALONG = (
    *settings(n=SIZES, targets=TARGETS, shape=("normal", "skewed", "diverged")),
    Setting(weights=True),
)
SOME = ALONG[:2]
DRIVING = (
    World("nothing, even spread", "false", of_spread("even", 0.0), neither, ALONG),
    World("nothing, spread U-shaped in depth", "false", of_spread("U", 0.0), neither, ALONG),
    World("errors rise by a hair", "threshold", of_spread("even", 0.001), depth_only, ALONG),
    World("errors rise with depth, r 0.45", "true", of_spread("even", 0.7), depth_only, SOME),
)


DRIVERS = Analysis[Study](
    name="drivers",
    older_names=("training-drivers",),
    title="Correlation of the errors with the architecture (positive: more is worse)",
    table=drivers,
    question="Do deeper or wider architectures err less, and fit the training images better?",
    formula="ρ(error, sum of the stages' depths) and ρ(error, sum of their widths), of errors on "
    "test images, and on training images in the last epoch",
    source="paper 1, sections 4.4 and 6.1.5, Table 4 and Figure A4B",
    avoid=(
        "as the effect of depth alone: at equal FLOPs, deeper is narrower; `stages` holds "
        "FLOPs and parameters fixed. Training errors are those on augmented images, and do not "
        "compare recipes of different augmentation"
    ),
    needs=("population",),
    headings={"estimate": "correlation", "p": "", "p_holm": "p (Holm)"},
    figures=(
        driver("cumulative depth", "depth", "Cumulative depth"),
        driver("cumulative width", "width", "Cumulative width"),
        StudyFigure(
            name="fitting",
            title="Training error and depth",
            caption="Each architecture's cumulative depth against its error on the training "
            "images.",
            draw=draw_fitting,
            data=lambda study: plots.driver_data(
                fitted(study), study.population, "cumulative depth"
            ),
            panels="dataset",
        ),
    ),
    arrange=arrange,
    say=lambda study, table: [*driven(of_errors(table, TEST)), *left_out(study)],
    says={GOES_WITH: DRIVING},
    topic="Drivers",
    section="drivers",
    shown="open",
    expected=True,
)


def tested(study: Study) -> pd.DataFrame:
    """Every parameter of every stage, raw and given what all of them cost."""
    return apr.stage_drivers(study.staged(study.errors), study.population, **study.weighted)


def stages(study: Study) -> pd.DataFrame:
    """Every parameter as `tested`, and how important each is to a forest."""
    table, seed, level = tested(study), study.options.seed, study.options.level
    errors = study.staged(study.errors)
    # A forest takes all architectures alike.
    errors = errors if study.weights is None else errors * np.nan
    found = apr.importance(errors, study.population, trees=TREES, seed=seed, level=level)
    found = found.rename(columns={"low": "importance_low", "high": "importance_high"})
    keys = ["dataset", "parameter"]
    columns = [*keys, "importance", "importance_low", "importance_high", "r2"]
    joined = table.merge(found[columns], on=keys, how="left")
    joined.attrs = table.attrs
    return joined


def drawn_importance(study: Study) -> pd.DataFrame:
    """The parameters of stages as `apr.importance` has them; an error where there is no forest."""
    table = study.table("stages")
    known = table[~table["parameter"].isin(apr.cumulative(study.population))]
    if known["importance"].isna().all():
        raise DoesNotApplyError("too few architectures for a forest, or of unequal weight")
    ends = {"importance_low": "low", "importance_high": "high"}
    columns = ["dataset", "parameter", "importance", *ends, "r2", "n"]
    return known[columns].rename(columns=ends)


FLIPS = Kind(
    name="parameter flips",
    speaks=OF_SAMPLE,
    what="parameters",
    words={
        "yes": "{names} (d depth, w width, b bottleneck ratio, g group width of a stage) help on "
        "one dataset and hurt on another{about}",
    },
)


def flipping(stages: pd.DataFrame) -> Said:
    """Parameters that help on one dataset and hurt on another.

    Both p are corrected for all tests; that of the claim is the larger one.
    """
    level, tests, said = stages.attrs.get("level", 0.95), len(stages), list[Claim]()
    for column, how in (("", ""), ("partial_", " at equal FLOPs and parameters")):
        estimate = column.removesuffix("_") or "estimate"
        for parameter, rows in stages.groupby("parameter", sort=False):
            sides = (rows.loc[sign * rows[estimate] > 0, f"{column}p_holm"] for sign in (-1, 1))
            p = max(1.0 if side.isna().all() else float(side.min()) for side in sides)
            evidence = CorrectedP(p, 1.0, OF_SAMPLE, tests, level)
            said.append(Claim(FLIPS, str(parameter), evidence, how, tests))
    return said


def left_out(study: Study) -> Said:
    """Architectures without stages."""
    return [Fact("{told}", {"told": study.stageless})] if study.stageless else []


def flipping_of(study: Study) -> Said:
    """Return the claims of the analysis, without the forest, which is slow and of no claim."""
    return flipping(tested(study))


FLIPPING = (
    World("nothing, even spread", "false", of_spread("even", 0.0), neither, ALONG, flipping_of),
    World("all errors rise with depth", "threshold", of_spread("fanning", 0.7), neither, ALONG,
          flipping_of),
    World("errors rise with depth, or fall", "true", of_spread("opposed", 1.5), depths, SOME[:1],
          flipping_of),
)  # fmt: skip


def draw_given(study: Study, table: pd.DataFrame) -> "Figure":
    """The partial correlations."""
    if table["partial"].isna().all():
        raise DoesNotApplyError(
            "all architectures have the same FLOPs and parameters, or unknown ones"
        )
    return plots.stage_driver_heatmap(table, "partial")


STAGES = Analysis[Study](
    name="stages",
    title="Correlation of the errors with every parameter, and given FLOPs and parameters",
    table=stages,
    older_names=("importance",),
    question="Which parameters of which stages go with the errors, also at equal cost?",
    formula="ρ(error, parameter of a stage), and the partial ρ given FLOPs and parameters; "
    "importance: decrease of the R² of ranks of errors that a forest predicts, on held-out "
    "architectures, when the values of a parameter are shuffled",
    source="paper 1, section 4.4; Breiman 2001; Nadeau and Bengio 2003 for the interval",
    avoid=(
        "to rank parameters that correlate with each other, as the widths of neighbouring stages "
        "do; and where R² is not above 0, as the forest has then learned nothing"
    ),
    needs=("population",),
    headings={"estimate": "correlation", "p": "", "partial": "given the others", "given": ""}
    | {"p_holm": "p (Holm)", "partial_p": "", "partial_p_holm": "p (Holm), given"}
    | {"flips": "flips sign", "partial_flips": "flips, given", "r2": "R² of the forest"},
    figures=(
        StudyFigure(
            name="stages",
            title="Every parameter of every stage",
            caption="{correlation} of the errors with the parameters of every stage. Blue: larger "
            "parameters err more. Numbers: p below 0.05, corrected for all of single stages, "
            "or of sums. Frames: what helps on one dataset and hurts on another.",
            draw=lambda study, table: plots.stage_driver_heatmap(table),
            column="estimate",
        ),
        StudyFigure(
            name="stages-given",
            title="Every parameter, at equal cost",
            caption="The same at equal FLOPs and parameters: partial correlations.",
            draw=draw_given,
            column="estimate",
        ),
        StudyFigure(
            name="importance",
            title="Importance to a forest",
            caption="How much worse a forest predicts the ranks of architectures that it has not "
            "seen when one parameter is shuffled, as a share of their variance.",
            draw=lambda study, table: plots.importance_grid(table),
            data=drawn_importance,
            panels="dataset",
        ),
    ),
    say=lambda study, table: flipping(table),
    says={FLIPS: FLIPPING},
    topic="Drivers",
    section="drivers",
    heading="Stage by stage",
    shown="folded",
    caption="Every parameter as a table",
    note="d: depth, w: width, b: bottleneck ratio, g: group width. “Given the others”: at equal "
    "FLOPs and parameters. “Flips”: significant here and, with the opposite sign, on another "
    "dataset. Importance: what a forest that predicts ranks needs of it, as a share of their "
    "variance.",
)
