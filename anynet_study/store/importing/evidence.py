"""What the columns of numbers in a table with a row per model are: datasets, descriptions, unclear.

The evidence, in this order: values that no accuracy has; what a column is of others (their mean,
their ranks); how its values lie beside those of columns that surely are accuracies (range, spread,
whole numbers, correlation); and words of its name last.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from anynet_study.core.sheets import normal_form

Kind = Literal["dataset", "description", "unclear"]
Values = NDArray[np.float64]

#: Words that say that values are accuracies or errors.
OF_VALUES = {"acc", "accuracy", "accuracies", "err", "error", "errors"}
OF_TOP = re.compile(r"(?<![a-z])top_?[15](?![0-9])|per_class")
#: Words of descriptions of models: a name of such words alone, numbers apart, is of no dataset.
DESCRIBING = {
    *("flops", "gflops", "mflops", "tflops", "flop", "gflop", "macs", "gmacs", "mmacs", "madds"),
    *("params", "param", "mparams", "parameters", "size", "resolution", "mb", "gb", "kb", "mib"),
    *("sec", "secs", "seconds", "second", "time", "latency", "throughput", "fps", "samples"),
    *("year", "date", "epoch", "epochs", "lr", "batch", "dropout", "layers", "passes", "pct"),
    *("learning", "rate", "momentum", "mem", "memory", "vram", "gpu", "gpus", "hours", "cost"),
    *("seed", "runs", "steps", "step", "iterations", "iters", "heads", "channels", "blocks"),
    *("downloads", "likes", "citations", "interpolation", "unnamed", "number", "crop", "peak"),
    *("kwh", "co2", "macts", "activations", "acts", "energy", "power", "watts", "infer", "total"),
    *("stride", "kernel", "depth", "width", "input", "px", "img", "image", "images", "adds"),
    *("id", "index", "idx", "no", "nr", "n", "num", "order", "version", "stem", "arch", "model"),
    *("weight", "weights", "decay", "wd", "mixup", "cutmix", "smoothing", "droppath", "warmup"),
    *("ratio", "alpha", "beta", "gamma", "temperature", "ema", "aug", "runtime", "timestamp"),
    *("duration", "trial", "sampling", "forward", "per", "of", "wall", "clock", "state", "k"),
}
#: Words of amounts, which no dataset's name has; and units beside them.
AMOUNTS = {
    *("params", "param", "parameter", "parameters", "flops", "gflops", "mflops", "macs", "gmacs"),
    *("latency", "throughput", "runtime", "fps", "vram", "kwh"),
}
UNITS = {"m", "g", "k", "b", "mio", "s", "h", "cpu", "gpu", "ms"}
#: Such words that are names of datasets as well (Seeds, SD-198, MS-COCO): values decide.
AMBIGUOUS = {"seeds", "sd", "ms", "count", "patch", "stars", "tokens", "se"}
#: Other measures than the error, whatever words are beside these.
OTHER_MEASURES = {
    *("loss", "nll", "ece", "brier", "auc", "auroc", "recall", "precision", "iou", "miou", "psnr"),
    *("ssim", "fid", "mse", "rmse", "mae", "mce", "perplexity", "f1", "kappa", "mcc"),
}
#: And words that say so with a description, or a dataset that is a column as well.
MEASURES = {
    *OTHER_MEASURES,
    *("map", "rank", "ranking", "ranks", "min", "max", "lower", "upper", "diff", "difference"),
    *("delta", "gap", "gain", "drop", "improvement", "lo", "hi", "low", "high", "lcl", "ucl"),
    *("lb", "ub"),
}
SUMMARIES = {"average", "avg", "mean", "median", "overall", "all", "best", "worst", "total"}
#: What is called so is one where its values are.
SUMMARIES_BY_VALUE = {*SUMMARIES, "h", "hm", "harmonic"}
#: Of the spread of an accuracy over trainings.
OF_SPREAD = {"std", "stdev", "stddev", "sd", "stderr", "sem", "se", "ci", "var", "variance"}
#: The part of its images that an accuracy is of, the likelier one to be wanted first.
PARTS = {
    **dict.fromkeys(("test", "testing"), 0),
    **dict.fromkeys(("val", "valid", "validation", "dev", "eval"), 1),
    **dict.fromkeys(("train", "training", "trn"), 2),
}
#: Of trainings, or folds, of one dataset that are columns.
OF_RUNS = {"run", "seed", "trial", "rep", "repeat", "replicate", "fold", "try", "attempt", "split"}
#: Words of names of datasets, and of networks: they tell which way round a table lies, and help
#: a column whose values look like accuracies.
OF_DATASETS = {
    *("imagenet", "cifar", "svhn", "mnist", "coco", "dtd", "pets", "flowers", "cars", "aircraft"),
    *("food", "sun", "caltech", "eurosat", "resisc", "objectnet", "sketch", "places", "inat"),
    *("inaturalist", "stl", "cub", "dogs", "birdsnap", "kitti", "dmlab", "clevr", "dsprites"),
    *("snorb", "camelyon", "pcam", "retinopathy", "voc", "ucf", "kinetics", "fer", "gtsrb"),
    *("domainnet", "pacs", "vlcs", "officehome", "terraincognita", "isic", "ham", "aptos"),
    *("celeba", "fmow", "wilds", "tinyimagenet", "oxford", "stanford", "omniglot", "textures"),
}
OF_NETWORKS = {
    *("resnet", "vgg", "mobilenet", "densenet", "efficientnet", "vit", "deit", "swin", "convnext"),
    *("alexnet", "googlenet", "inception", "squeezenet", "shufflenet", "regnet", "regnetx"),
    *("regnety", "wide", "resnext", "mnasnet", "clip", "bert", "mlp", "beit", "nfnet", "xception"),
}
#: How arrows say that errors are meant, and accuracies.
ARROWS = {"↓": "error", "↑": "accuracy"}
SAYS = {
    "accuracy": re.compile(r"(?<![a-z])acc(uracy|uracies)?(?![a-z])"),
    "error": re.compile(r"(?<![a-z])err(or|ors)?(?![a-z])"),
}
#: Percent by which a printed mean may differ from the mean of printed values.
ROUNDED = 0.06
#: A median error above the first, where those of all others are below the second.
FAR, NEAR = 95.0, 50.0
#: Models from which ranks, means of some datasets, repeated values and correlations are told from
#: chance.
FEWEST_OF_RANKS, FEWEST_OF_MEANS, FEWEST_OF_FEW, FEWEST_OF_RHO = 5, 3, 12, 6
#: A correlation with the others at which a column runs against them, and one that agrees.
AGAINST, AGREES = -0.85, 0.3


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


def _word(name: str, names: Collection[str]) -> Literal["value", "measure", "other", "partly", ""]:
    """Return what the words of a name say: of values, another measure, a description, or some
    of one.
    """
    plain, described = normal_form(name), DESCRIBING | SUMMARIES | MEASURES | AMBIGUOUS
    words: set[str] = set()
    for token in plain.split("_"):  # f1 and co2 are words
        words |= {token} if token in described else {*re.findall(r"[^\W\d_]+", token)}
    beside = any(other and plain.startswith(f"{normal_form(other)}_") for other in names)
    if "±" in name or plain.replace("_", "") in MEASURES:
        return "measure"
    is_value = bool(words & OF_VALUES or OF_TOP.search(plain))
    if words & OF_SPREAD and (beside or is_value or not words <= AMBIGUOUS):
        rest = words - OF_SPREAD - OF_VALUES - DESCRIBING - {"top"}
        return "measure" if beside or is_value or not rest else "partly"
    if is_value:
        return "value"
    if words & OTHER_MEASURES:
        return "measure"
    if words & AMOUNTS:
        return "other"
    if words and words <= AMBIGUOUS:
        return "partly"
    if words & MEASURES and (beside or words <= described | PARTS.keys()):
        return "measure"
    words = words - UNITS or words
    told = words & (DESCRIBING | SUMMARIES)
    if not name or (told and words <= described | PARTS.keys()) or (beside and "n" in words):
        return "other"
    return "partly" if words & described else ""


@dataclass(frozen=True)
class Verdict:
    """The kind of a column, and the evidence."""

    kind: Kind
    why: str = ""


class _Column:
    """The values of a column as far as they are known, and what is compared of them."""

    def __init__(self, name: str, word: str, values: Values, top: float) -> None:
        known = values[~np.isnan(values)]
        self.name, self.word, self.top = name, word, top
        self.count, self.known = len(known), ~np.isnan(values)
        self.inside = float(((known >= 0) & (known <= top)).mean()) if len(known) else 1.0
        self.median = float(np.median(known)) if len(known) else 0.0
        self.largest = float(known.max()) if len(known) else 0.0
        self.spread = float(known.std()) if len(known) else 0.0
        self.whole = bool((known % 1 == 0).all())
        self.distinct = len(np.unique(known))
        #: 0 to 1, of the models that are known.
        self.ranks = np.zeros(len(values))
        self.ranks[self.known] = rankdata(known) / max(1, len(known))


def verdicts(
    columns: Mapping[str, Values], top: float, declared: Collection[str], quantity: str | None
) -> dict[str, Verdict]:
    """Return what each column of numbers (models,) is; those `declared` are datasets.

    `top` is the highest value that there can be; `quantity` what values are, where it is said.
    """
    names = [*columns]
    found = {n: _Column(n, _word(n, names), values, top) for n, values in columns.items()}
    sure = [c for c in found.values() if c.name in declared or c.word == "value"]
    candidates = [c for c in found.values() if c.word in ("", "partly") and c.inside == 1]
    beside = sure or candidates
    means = [c for c in found.values() if {*words_of(c.name)} & SUMMARIES and c.inside == 1]
    together = {c.name for c in (*sure, *candidates, *means)}
    derived = _derived({name: columns[name] for name in names if name in together}, top)
    said = any(c.word == "value" for c in found.values())
    ranks = np.sum([c.ranks for c in beside], axis=0)
    counts = np.sum([c.known for c in beside], axis=0)
    told = {}
    for name, column in found.items():
        if name in declared:
            told[name] = Verdict("dataset")
            continue
        others = [c for c in beside if c is not column]
        own = int(column in beside)
        apart = ranks - own * column.ranks, counts - own * column.known
        rho = _correlation(column, *apart) if others else None
        verdict = _verdict(column, derived.get(name, ""), others, rho, said, quantity)
        if verdict.kind == "dataset" and rho is not None and rho <= AGAINST and len(others) > 1:
            why = f"ranks models the other way round than the others (Spearman {rho:.2f})"
            verdict = Verdict("dataset", f"{why}: an error among accuracies? --error-columns")
        told[name] = verdict
    return told


def _verdict(
    column: _Column,
    derived: str,
    others: list[_Column],
    rho: float | None,
    said: bool,
    quantity: str | None,
) -> Verdict:
    words = {*words_of(column.name)}
    if column.word in ("other", "measure"):
        return Verdict("description", derived)
    if others and (column.inside < 0.5 or (column.inside < 1 and column.word == "partly")):
        return Verdict("description")
    if derived:
        return Verdict("description" if words & SUMMARIES_BY_VALUE else "unclear", derived)
    if column.inside < 1 and others and column.word != "value":
        return Verdict("unclear", f"has values outside 0 to {column.top:g}")
    if column.inside < 1 or column.word == "value":
        return Verdict("dataset")  # a value outside is refused by its row
    like = _like(column, others, rho)
    against = _against(column, others, quantity, rho)
    if against and not like:
        return Verdict("description" if column.word == "partly" else "unclear", against)
    if words & SUMMARIES and others:
        return Verdict("description", "called a mean")
    if like or not others or words & OF_DATASETS:
        return Verdict("dataset")
    if column.word == "partly":
        far = column.largest < min(other.median for other in others) / 3
        told = "called like a description, and its values do not decide"
        return Verdict("description" if far else "unclear", told)
    return Verdict("unclear", "no word says accuracy, as in others") if said else Verdict("dataset")


def _like(column: _Column, others: list[_Column], rho: float | None) -> bool:
    """Tell whether values lie, spread and rank models as those of columns that are accuracies
    do.
    """
    if not others or not column.count:
        return False
    medians = [other.median for other in others]
    low, high = 0.2 * min(medians), max(2 * max(medians), 0.5 * column.top)
    if _coarse(column, others):  # as depths and counts are
        low, high = 0.5 * min(medians), 2.5 * max(medians)
    return (
        low <= column.median <= high
        and column.spread <= 4 * max(other.spread for other in others) + 1e-9
        and (rho is None or rho >= AGREES)
        and 2 * column.distinct > min(column.count, *(other.distinct for other in others))
    )


def _coarse(column: _Column, others: list[_Column]) -> bool:
    """Tell whether a column holds whole numbers, and most others do not."""
    return column.whole and 2 * sum(not other.whole for other in others) > len(others)


def _correlation(column: _Column, ranks: Values, counts: NDArray[np.int64]) -> float | None:
    """Spearman's correlation with the mean rank among the others; None of too few models."""
    both = column.known & (counts > 0)
    if both.sum() < FEWEST_OF_RHO:
        return None
    own, mean = rankdata(column.ranks[both]), rankdata(ranks[both] / counts[both])
    if np.ptp(own) == 0 or np.ptp(mean) == 0:
        return None
    return float(np.corrcoef(own, mean)[0, 1])


def _against(
    column: _Column, others: list[_Column], quantity: str | None, rho: float | None
) -> str:
    """Why a column may be no dataset; empty where nothing speaks against it."""
    if not column.count or not others:
        return ""
    top, medians = column.top, [other.median for other in others]
    errors = [top - m if quantity == "accuracy" else m for m in (column.median, *medians)]
    if errors[0] > FAR * top / 100 and max(errors[1:]) < NEAR * top / 100:
        median = f"{100 * errors[0] / top:.4g}%"
        return f"its median error would be {median}, on all others less than {NEAR:g}%"
    if top > 1 and column.largest <= 1 and max(medians) > 1:
        most = max(others, key=lambda other: other.median)
        return f"has no value above {column.largest:g}, {most.name} has up to {most.largest:g}"
    if column.count < 3:
        return ""
    distinct = [other.distinct for other in others]
    if column.distinct == 1 and min(distinct) > 1:
        return f"{column.median:g} for all models"
    agrees = rho is not None and rho >= AGREES and not column.word
    if _coarse(column, others) and not agrees:  # errors may be printed without decimals
        return "whole numbers, others have decimals"
    few = column.count >= FEWEST_OF_FEW and column.distinct <= 8
    if few and column.distinct < np.median(distinct) / 4:
        return f"{column.distinct} values only"
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
    found = {}
    ranks = np.arange(1, table.shape[1] + 1)
    for place, name in enumerate(names):
        values = np.sort(table[place])
        if len(ranks) >= FEWEST_OF_RANKS and (
            np.array_equal(values, ranks) or np.array_equal(np.sort(top - values), ranks)
        ):
            found[name] = "ranks"
    for name in _means(names, table, rounded) - found.keys():
        found[name] = "the mean of the others, or of some side by side"
    if table.shape[1] >= FEWEST_OF_MEANS and (table > 0).all():
        for place, name in enumerate(names):
            if name not in found and _is_harmonic(table, place, rounded):
                found[name] = "the harmonic mean of others"
    return found


def _is_harmonic(table: Values, place: int, rounded: float) -> bool:
    """Tell whether a column is the harmonic mean of the two before it, or of all others."""
    rest = [row for row in range(len(table)) if row != place]
    groups = [rest, *([[place - 2, place - 1]] if place > 1 else [])]
    return any(
        len(group) > 1
        and bool((abs(len(group) / (1 / table[group]).sum(axis=0) - table[place]) <= rounded).all())
        for group in groups
    )


def _means(names: Sequence[str], table: Values, rounded: float) -> set[str]:
    """Names of columns that are the mean of all others, or of two or more that are side by side."""
    count, models = table.shape
    if models < 2 or count < 3:
        return set()
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
    return {name for name, is_mean in zip(names, found, strict=True) if is_mean}


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
