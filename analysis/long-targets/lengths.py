"""The questions of PLAN.md, asked of a study's runs.

What a proxy is *worth* for a target is Spearman's correlation of the errors of architectures, freed
of the noise of both by their second seeds. Proxies and targets are trained short or long.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from anynet_study.analysis.apr.bootstrap import Resampled, stacked
from anynet_study.analysis.apr.drivers import partial, partial_correlations
from anynet_study.analysis.apr.noise import first_runs, freed, noise_ceiling, reliabilities

sys.path.insert(0, str(Path(__file__).parents[1] / "classes-images-steps"))
import contrasts

TARGETS, SMALLEST, LEVEL = contrasts.TARGETS, contrasts.SMALLEST, contrasts.LEVEL
RESAMPLES = 10_000
SHORT, LONG = "short", "long"
LENGTHS = (SHORT, LONG)
#: Of all images of CIFAR-10, for 936 and for 4,686 steps; the targets' recipe by their length.
PROXIES = {SHORT: "images-50000", LONG: "cifar10"}
RECIPES = {SHORT: "basic", LONG: "long"}
#: The same of a tenth of the images, for 936 and for 4,680 steps: not in the family of questions.
OF_A_TENTH = {SHORT: "cifar10-tenth", LONG: "steps-4680"}
#: Two contrasts of worth are a family: their intervals hold together at `LEVEL`.
FAMILY_LEVEL = 1 - (1 - LEVEL) / 2
#: Fewer wrong test images than this rank no architectures.
FEWEST_WRONG = 10
#: Fewer targets than this are no answer.
FEWEST_TARGETS = 3
#: Worth by the lengths of proxy and target: a statistic for each target.
Worths = dict[tuple[str, str], Resampled]


@dataclass(frozen=True)
class Data:
    """The errors of the architectures (rows) that have one of every proxy and target."""

    #: First runs: (architectures, proxies and targets); a target trained long as "mnist-long".
    errors: pd.DataFrame
    #: All runs: architecture, dataset (named likewise), replicate, error.
    replicates: pd.DataFrame
    #: Of each architecture.
    depth: pd.Series
    #: Those that are in averages.
    targets: tuple[str, ...]


def trained(target: str, length: str) -> str:
    """What the errors of a target's short or long training are called."""
    return target if length == SHORT else f"{target}-{length}"


def data_of(runs: pd.DataFrame, depth: pd.Series, targets: Sequence[str] = TARGETS) -> Data:
    """What the questions are asked of.

    `runs`: architecture, dataset, recipe, replicate, error, of which those of the control are left
    out; `depth` by architecture; `targets`: those that are not at the floor by the pilot. A target
    whose long training has errors of no shown reliability is left out here (`reliable`).
    """
    of_long = runs["recipe"] == RECIPES[LONG]
    names = runs["dataset"].where(~of_long, runs["dataset"].map(lambda name: trained(name, LONG)))
    kept = runs.assign(dataset=names)[runs["recipe"].isin([*RECIPES.values()])]
    kept = kept[["architecture", "dataset", "replicate", "error"]]
    proxies = [*PROXIES.values(), *OF_A_TENTH.values()]
    wanted = [*proxies, *(trained(target, length) for length in LENGTHS for target in targets)]
    errors = first_runs(kept)[wanted].dropna()
    whole = kept[kept["architecture"].isin(errors.index)]
    return Data(errors, whole, depth.loc[errors.index], reliable(whole, targets))


def reliable(replicates: pd.DataFrame, targets: Sequence[str]) -> tuple[str, ...]:
    """The targets whose long training gives ranks that a second seed is shown to repeat at all."""
    low = noise_ceiling(replicates).set_index("dataset")["icc_low"]
    return tuple(target for target in targets if low.get(trained(target, LONG), -1) > 0)


def floors(pilot: pd.DataFrame, held_out: pd.Series, tested: pd.Series) -> pd.DataFrame:
    """Whether each target of the pilot is at the floor; decided on validation images alone.

    `pilot`: errors (%) on them, (architectures, targets); `held_out` and `tested`: how many images
    of validation and of test there are, by target. Returns DataFrame[target, error (the median),
    wrong (of as many images as the test has), spread (the variance of errors over that which images
    drawn at random give to equal networks), floor].
    """
    share = pilot / 100
    wrong = share.median() * tested
    by_chance = (share * (1 - share)).mean() / held_out
    spread = share.var() / by_chance
    floor = (wrong < FEWEST_WRONG) | ~(spread > 1)
    found = pd.DataFrame({"error": pilot.median(), "wrong": wrong, "spread": spread})
    return found.assign(floor=floor).rename_axis("target").reset_index()


def worths(data: Data, at_equal_depth: bool = False, proxies: dict[str, str] = PROXIES) -> Worths:
    """What proxies are worth, freed of the noise of both sides; by length of proxy and target."""
    noise = reliabilities(data.replicates, data.errors.index, resamples=RESAMPLES)
    table = data.errors.assign(depth=data.depth)

    def correlations(x: str, names: Sequence[str]) -> Resampled:
        return partial_correlations(table, [(x, name) for name in names], (), resamples=RESAMPLES)

    found = {}
    for targets in LENGTHS:
        names = [trained(target, targets) for target in data.targets]
        of_targets = stacked([noise[name] for name in names])
        for length, proxy in proxies.items():
            both = freed(freed(correlations(proxy, names), noise[proxy]), of_targets)
            with_depth = {
                ("x", "y"): both,
                ("x", "depth"): freed(correlations("depth", [proxy] * len(names)), noise[proxy]),
                ("y", "depth"): freed(correlations("depth", names), of_targets),
            }
            given = ["depth"] if at_equal_depth else []
            found[length, targets] = partial(with_depth, "x", "y", given)
    return found


def gain(worths: Worths, targets: str) -> Resampled:
    """What the short proxy is worth more than the long one, for each target of a length."""
    return worths[SHORT, targets] - worths[LONG, targets]


def answers(data: Data) -> pd.DataFrame:
    """`judged` of worths as they are, the family; and at equal depth, which is question (d)."""
    ways = {"freed of noise": worths(data), "at equal depth": worths(data, at_equal_depth=True)}
    tables = [judged(found).assign(way=way) for way, found in ways.items()]
    return pd.concat(tables, ignore_index=True).assign(n=len(data.errors))


def judged(worths: Worths) -> pd.DataFrame:
    """DataFrame[question, estimate, low, high, answer, targets]; intervals are at `FAMILY_LEVEL`.

    "smaller" is (a), whether the gain is smaller on targets trained long, "still" is (b), whether
    there is one on them, "equal" is (c), whether the long proxy is the better one for them.
    """
    still = gain(worths, LONG).average()
    smaller = gain(worths, SHORT).average() - still
    count = len(worths[LONG, LONG].estimate)
    rows = []
    for question, one in (("smaller", smaller), ("still", still), ("equal", still)):
        row = {name: float(ends[0]) for name, ends in one.columns(FAMILY_LEVEL).items()}
        said = answer(question, row["low"], row["high"])
        few = count < FEWEST_TARGETS
        rows.append({"question": question, **row, "answer": "undecided" if few else said})
    return pd.DataFrame(rows).assign(targets=count)


def answer(question: str, low: float, high: float) -> str:
    """Yes, no or undecided, by an interval; "equal" is asked of that of "still", below 0."""
    if question == "equal":
        low, high = -high, -low
    return "yes" if low > SMALLEST else "no" if high < SMALLEST else "undecided"
