"""What the columns of numbers in a table with a row per model are: datasets, descriptions, unclear.

The evidence, in this order: values that no accuracy has; what a column is of others (their mean,
their ranks); how its values lie beside those of columns that surely are accuracies (range, spread,
whole numbers, correlation of ranks); and words of its name last.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.core.sheets import normal_form

Kind = Literal["dataset", "description", "unclear"]
Values = NDArray[np.float64]

#: Words of amounts and of other measures than the error: a name with one is of no accuracies.
NO_ACCURACY = {
    *("params", "param", "parameter", "parameters", "flops", "gflops", "mflops", "macs", "gmacs"),
    *("latency", "throughput", "runtime", "fps", "vram", "kwh", "co2", "loss", "nll", "ece"),
    *("brier", "auc", "auroc", "recall", "precision", "iou", "miou", "psnr", "ssim", "fid", "mse"),
    *("rmse", "mae", "mce", "perplexity", "f1", "kappa", "mcc", "std", "stdev", "stddev"),
    *("stderr", "sem", "variance"),
}
#: Words of a spread over trainings; some are in names of datasets as well (SD-198).
OF_SPREAD = {"std", "stdev", "stddev", "sd", "stderr", "sem", "se", "ci", "var", "variance"}
SUMMARIES = {"average", "avg", "mean", "median", "overall", "all", "best", "worst", "total"}
#: Words of descriptions of models: a name of such words alone, numbers apart, is of no dataset.
DESCRIBING = {
    *SUMMARIES,
    *("tflops", "flop", "gflop", "mmacs", "madds", "mparams", "size", "resolution", "mb", "gb"),
    *("kb", "mib", "sec", "secs", "seconds", "second", "time", "samples", "year", "date", "epoch"),
    *("epochs", "lr", "batch", "dropout", "layers", "passes", "pct", "learning", "rate"),
    *("momentum", "mem", "memory", "gpu", "gpus", "cpu", "hours", "cost", "seed", "runs", "steps"),
    *("step", "iterations", "iters", "heads", "channels", "blocks", "downloads", "likes", "crop"),
    *("citations", "interpolation", "unnamed", "number", "peak", "macts", "activations", "acts"),
    *("energy", "power", "watts", "infer", "stride", "kernel", "depth", "width", "input", "px"),
    *("img", "image", "images", "adds", "id", "index", "idx", "no", "nr", "n", "num", "order"),
    *("version", "stem", "arch", "model", "weight", "weights", "decay", "wd", "mixup", "cutmix"),
    *("smoothing", "droppath", "warmup", "ratio", "alpha", "beta", "gamma", "temperature", "ema"),
    *("aug", "timestamp", "duration", "trial", "sampling", "forward", "per", "of", "wall", "clock"),
    *("state", "k", "patch", "tokens", "count", "stars", "map", "rank", "ranking"),
    *("ranks", "min", "max", "lower", "upper", "diff", "difference", "delta", "gap", "gain"),
    *("drop", "improvement", "lo", "hi", "low", "high", "lcl", "ucl", "lb", "ub"),
}
#: Words of what is said of another column: cars_std, cars_rank beside cars.
OF_A_COLUMN = DESCRIBING | NO_ACCURACY | OF_SPREAD
#: Units, which say nothing beside other words.
UNITS = {"m", "g", "k", "b", "mio", "s", "h", "cpu", "gpu", "ms"}
#: The part of its images that an accuracy is of, the likelier one to be wanted first.
PARTS = {
    **dict.fromkeys(("test", "testing"), 0),
    **dict.fromkeys(("val", "valid", "validation", "dev", "eval"), 1),
    **dict.fromkeys(("train", "training", "trn"), 2),
}
#: Of trainings, or folds, of one dataset that are columns.
OF_RUNS = {"run", "seed", "trial", "rep", "repeat", "replicate", "fold", "try", "attempt", "split"}
#: Words of names of datasets: they tell which way round a table lies, and help a column whose
#: values look like accuracies.
OF_DATASETS = {
    *("imagenet", "cifar", "svhn", "mnist", "coco", "dtd", "pets", "flowers", "cars", "aircraft"),
    *("food", "sun", "caltech", "eurosat", "resisc", "objectnet", "sketch", "places", "inat"),
    *("inaturalist", "stl", "cub", "dogs", "birdsnap", "kitti", "dmlab", "clevr", "dsprites"),
    *("snorb", "camelyon", "pcam", "retinopathy", "voc", "ucf", "kinetics", "fer", "gtsrb"),
    *("domainnet", "pacs", "vlcs", "officehome", "terraincognita", "isic", "ham", "aptos"),
    *("celeba", "fmow", "wilds", "tinyimagenet", "oxford", "stanford", "omniglot", "textures"),
}
#: How arrows say that errors are meant, and accuracies; and how words do.
ARROWS = {"↓": "error", "↑": "accuracy"}
SAYS = {
    "accuracy": re.compile(r"(?<![a-z])acc(uracy|uracies)?(?![a-z])"),
    "error": re.compile(r"(?<![a-z])err(or|ors)?(?![a-z])"),
}
OF_TOP = re.compile(r"(?<![a-z])top_?[15](?![0-9])|per_class")
#: Percent by which a printed mean may differ from the mean of printed values.
ROUNDED = 0.06
#: A median error above the first, where those of all others are below the second.
FAR, NEAR = 95.0, 50.0
#: Models from which ranks, means of some datasets, repeated values and correlations are told from
#: chance.
FEWEST_OF_RANKS, FEWEST_OF_MEANS, FEWEST_OF_FEW, FEWEST_OF_RHO = 5, 3, 12, 6
#: A correlation with the others at which a column runs against them, agrees, and agrees closely.
AGAINST, AGREES, CLOSELY = -0.85, 0.3, 0.6


def words_of(name: str) -> list[str]:
    """The words and numbers of a name.

    >>> words_of("CIFAR10TestAccuracy200Epochs")
    ['cifar', '10', 'test', 'accuracy', '200', 'epochs']
    """
    return re.findall(r"[^\W\d_]+|\d+", normal_form(name))


def said_by(name: str) -> Literal["error", "accuracy"] | None:
    """Return what the name of a column says that its values are."""
    for arrow, quantity in ARROWS.items():
        if arrow in name:
            return "error" if quantity == "error" else "accuracy"
    plain = "_".join(words_of(name))
    found = [quantity for quantity, pattern in SAYS.items() if pattern.search(plain)]
    return None if len(found) != 1 else "error" if found == ["error"] else "accuracy"


def _called(name: str, forms: set[str]) -> Literal["accuracy", "description", "partly", ""]:
    """Return what the words of a name say: all that it is, or that it is partly a description.

    `forms` are the names of all columns in normal form.
    """
    words, tokens = _plain_words(name), normal_form(name).split("_")
    is_value = said_by(name) is not None or OF_TOP.search(normal_form(name)) is not None
    rests = [tokens[n:] for n in range(1, len(tokens)) if "_".join(tokens[:n]) in forms]
    beside = any(set() < _plain_words("_".join(rest)) <= OF_A_COLUMN for rest in rests)
    if beside or "±" in name or words & NO_ACCURACY or (is_value and words & OF_SPREAD):
        return "description"
    if is_value:
        return "accuracy"
    words = words - UNITS or words
    if not name or (words & DESCRIBING and words <= DESCRIBING | PARTS.keys()):
        return "description"
    return "partly" if words & DESCRIBING else ""


def _plain_words(name: str) -> set[str]:
    """The words of a name without numbers; f1 and co2 are words."""
    tokens = (*normal_form(name).split("_"), normal_form(name).replace("_", ""))
    known = {token for token in tokens if token in NO_ACCURACY}
    return known | {w for t in tokens[:-1] if t not in known for w in re.findall(r"[^\W\d_]+", t)}


@dataclass(frozen=True)
class Verdict:
    """The kind of a column, and the evidence."""

    kind: Kind
    why: str = ""


@dataclass(frozen=True)
class _Column:
    """A column, and what is compared of its values."""

    name: str
    #: What its name says.
    word: str
    #: (models that are known,), and which these are.
    values: Values
    known: NDArray[np.bool_]
    #: The share of values from 0 to the highest that there can be.
    inside: float
    median: float
    largest: float
    spread: float
    distinct: int
    whole: bool

    @classmethod
    def of(cls, name: str, word: str, values: Values, top: float) -> "_Column":
        known = ~np.isnan(values)
        there = values[known]
        inside = float(((there >= 0) & (there <= top)).mean()) if len(there) else 1.0
        some = there if len(there) else np.zeros(1)
        told = float(np.median(some)), float(some.max()), float(some.std())
        whole = bool((there % 1 == 0).all())
        return cls(name, word, there, known, inside, *told, len(np.unique(there)), whole)


def verdicts(
    columns: Mapping[str, Values], top: float, declared: Collection[str], quantity: str | None
) -> dict[str, Verdict]:
    """Return what each column of numbers (models,) is; those `declared` are datasets.

    `top` is the highest value that there can be; `quantity` what values are, where it is said.
    """
    forms = {normal_form(name) for name in columns if name}
    found = {n: _Column.of(n, _called(n, forms), v, top) for n, v in columns.items()}
    sure = [c for c in found.values() if c.name in declared or c.word == "accuracy"]
    likely = [c for c in found.values() if c.word in ("", "partly") and c.inside == 1]
    means = [c for c in found.values() if {*words_of(c.name)} & SUMMARIES and c.inside == 1]
    together = {c.name for c in (*sure, *likely, *means)}
    derived = _derived({name: columns[name] for name in columns if name in together}, top)
    beside = {c.name: c for c in sure or likely}
    ranks = pd.DataFrame(columns).rank(pct=True)
    total, count = ranks[[*beside]].sum(axis=1), ranks[[*beside]].notna().sum(axis=1)
    told = {}
    for name, column in found.items():
        if name in declared:
            told[name] = Verdict("dataset")
            continue
        others = [c for c in beside.values() if c is not column]
        own = ranks[name] if name in beside else 0 * ranks[name]
        mean = (total - own.fillna(0)) / (count - own.notna() * (name in beside))
        rho = _correlation(ranks[name], mean) if others else None
        verdict = _verdict(column, derived.get(name, ""), others, rho, top, quantity)
        if verdict.kind == "dataset" and rho is not None and rho <= AGAINST and len(others) > 1:
            why = f"ranks models the other way round than the others (correlation {rho:.2f})"
            verdict = Verdict("dataset", f"{why}: an error among accuracies? --error-columns")
        told[name] = verdict
    return told


def _verdict(
    column: _Column,
    derived: str,
    others: list[_Column],
    rho: float | None,
    top: float,
    quantity: str | None,
) -> Verdict:
    summary = bool(_plain_words(column.name) & (SUMMARIES | {"h", "hm", "harmonic"}))
    weak = column.word == "partly"
    if column.word == "description" or (others and column.inside < (1 if weak else 0.5)):
        return Verdict("description", derived)
    if derived:
        return Verdict("description" if summary else "unclear", derived)
    if column.inside < 1 and others and column.word != "accuracy":
        return Verdict("unclear", f"has values outside 0 to {top:g}")
    if column.word == "accuracy" or not others:
        return Verdict("dataset")  # a value outside is refused by its row
    like = _like(column, others, rho, top)
    if not like and (against := _against(column, others, rho, top, quantity)):
        return Verdict("description" if weak else "unclear", against)
    if summary:
        return Verdict("description", "called a mean")
    if like or {*words_of(column.name)} & OF_DATASETS:
        return Verdict("dataset")
    if weak:
        far = column.largest < min(other.median for other in others) / 3
        told = "called like a description, and its values do not decide"
        return Verdict("description" if far else "unclear", told)
    if others[0].word == "accuracy":
        return Verdict("unclear", "no word says accuracy, as in others")
    return Verdict("dataset")


def _like(column: _Column, others: list[_Column], rho: float | None, top: float) -> bool:
    """Tell whether values lie, spread and rank models as those of columns that are accuracies
    do.
    """
    medians = [other.median for other in others]
    low, high = 0.2 * min(medians), max(2 * max(medians), 0.5 * top)
    if _coarse(column, others):  # as depths and counts are
        low, high = 0.5 * min(medians), 2.5 * max(medians)
    return (
        len(column.values) > 0
        and low <= column.median <= high
        and not _wide(column, others)
        and (rho is None or rho >= AGREES)
        and 2 * column.distinct > min(len(column.values), *(other.distinct for other in others))
    )


def _coarse(column: _Column, others: list[_Column]) -> bool:
    """Tell whether a column holds whole numbers, and most others do not."""
    return column.whole and 2 * sum(not other.whole for other in others) > len(others)


def _wide(column: _Column, others: list[_Column]) -> bool:
    """Tell whether the values of a column spread far more than those of any other."""
    return column.spread > 4 * max(other.spread for other in others) + 1e-9


def _correlation(ranks: "pd.Series[float]", mean: "pd.Series[float]") -> float | None:
    """Of a column with the mean of the others' ranks; None of too few models, or of equal ones."""
    both = np.isfinite(ranks) & np.isfinite(mean)
    own, others = ranks[both], mean[both]
    if len(own) < FEWEST_OF_RHO or np.ptp(own) == 0 or np.ptp(others) == 0:
        return None
    return float(np.corrcoef(own, others)[0, 1])


def _against(
    column: _Column, others: list[_Column], rho: float | None, top: float, quantity: str | None
) -> str:
    """Why a column may be no dataset; empty where nothing speaks against it."""
    if not len(column.values):
        return ""
    medians = [other.median for other in others]
    errors = [top - m if quantity == "accuracy" else m for m in (column.median, *medians)]
    if errors[0] > FAR * top / 100 and max(errors[1:]) < NEAR * top / 100:
        median = f"{100 * errors[0] / top:.4g}%"
        return f"its median error would be {median}, on all others less than {NEAR:g}%"
    if top > 1 and column.largest <= 1 and max(medians) > 1:
        most = max(others, key=lambda other: other.median)
        return f"has no value above {column.largest:g}, {most.name} has up to {most.largest:g}"
    distinct, agrees = [other.distinct for other in others], rho is not None and rho >= AGREES
    if len(column.values) < 3:
        return ""
    if column.distinct == 1 and min(distinct) > 1:
        return f"{column.median:g} for all models"
    if _coarse(column, others) and not (agrees and not column.word):  # printed without decimals
        return "whole numbers, others have decimals"
    if len(column.values) >= FEWEST_OF_FEW and column.distinct < min(9, np.median(distinct) / 4):
        return f"{column.distinct} values only"
    if _wide(column, others) and rho is not None and AGAINST < rho < CLOSELY:
        return "spreads far more than the others, and ranks models otherwise"
    return ""


def _derived(columns: Mapping[str, Values], top: float) -> dict[str, str]:
    """Return what a column is of others, in every row: ranks, or a mean, also of some side by
    side.
    """
    rounded = ROUNDED * top / 100
    names = [*columns]
    if not names:
        return {}
    table = np.array([*columns.values()])
    table = table[:, ~np.isnan(table).any(axis=0)]
    count, models = table.shape
    found = dict.fromkeys(
        _means(names, table, rounded), "the mean of the others, or of some side by side"
    )
    if models >= FEWEST_OF_MEANS and count > 2 and (table > 0).all():
        inverse = 1 / table
        of_all = (count - 1) / (inverse.sum(axis=0) - inverse)
        of_pair = np.full_like(table, np.inf)
        of_pair[2:] = 2 / (inverse[:-2] + inverse[1:-1])
        near = [abs(mean - table).max(axis=1) <= rounded for mean in (of_all, of_pair)]
        harmonic = [names[place] for place in np.flatnonzero(near[0] | near[1])]
        found = dict.fromkeys(harmonic, "the harmonic mean of others") | found
    if models >= FEWEST_OF_RANKS:
        counted = np.arange(1, models + 1)
        ranks = [
            (np.sort(v) == counted).all() or (np.sort(top - v) == counted).all() for v in table
        ]
        found |= {name: "ranks" for name, told in zip(names, ranks, strict=True) if told}
    return found


def _means(names: Sequence[str], table: Values, rounded: float) -> list[str]:
    """Names of columns that are the mean of all others, or of two or more that are side by side."""
    count, models = table.shape
    if models < 2 or count < 3:
        return []
    others = (table.sum(axis=0) - table) / (count - 1)
    found = np.abs(others - table).max(axis=1) <= rounded
    sums = np.cumsum(np.pad(table, ((1, 0), (0, 0))), axis=0)
    firsts, ends = np.triu_indices(count + 1, 2)
    for place in np.flatnonzero(~found) if models >= FEWEST_OF_MEANS else ():
        apart = (ends <= place) | (firsts > place)
        first, end = firsts[apart], ends[apart]
        for model in range(models):
            mean = (sums[end, model] - sums[first, model]) / (end - first)
            near = np.abs(mean - table[place, model]) <= rounded
            first, end = first[near], end[near]
            if not len(first):
                break
        found[place] = len(first) > 0
    return [name for name, is_mean in zip(names, found, strict=True) if is_mean]


def of_one_dataset(names: Sequence[str]) -> tuple[list[list[str]], dict[str, list[str]]]:
    """Columns that are of one dataset each.

    Accuracies on parts of its images (train_acc, test_acc), the likelier part to be wanted first;
    and by pattern, with # for the number, its trainings (Run 1, Run 2).
    """
    by_rest: dict[str, dict[str, int]] = {}
    runs: dict[str, list[str]] = {}
    for name in names:
        words = words_of(name)
        parts = [word for word in words if word in PARTS]
        if len(parts) == 1:
            rest = " ".join(word for word in words if word not in PARTS)
            by_rest.setdefault(rest, {})[name] = PARTS[parts[0]]
        for match in re.finditer(r"\d+", name):
            before = words_of(name[: match.start()])[-1:]
            if before and before[0].removesuffix("s") in OF_RUNS:
                runs.setdefault(f"{name[: match.start()]}#{name[match.end() :]}", []).append(name)
    several = (found for found in by_rest.values() if len({*found.values()}) > 1)
    groups = [sorted(found, key=lambda name: found[name]) for found in several]
    return groups, {pattern: found for pattern, found in runs.items() if len(found) > 1}
