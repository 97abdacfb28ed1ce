"""What the name of a column says of it: the vocabulary, and a name taken apart by it.

Names are the weakest evidence: `evidence` asks the values of columns first.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from anynet_study.core.sheets import letters_of, normal_form, words_of

Quantity = Literal["error", "accuracy"]

#: What says that values are errors or accuracies: words, and arrows.
SAYS: Mapping[str, Quantity] = {
    **dict.fromkeys(("acc", "accuracy", "accuracies", "↑"), "accuracy"),
    **dict.fromkeys(("err", "error", "errors", "↓"), "error"),
}
#: The part of its images that an accuracy is of, the likelier one to be wanted first.
PARTS = {
    **dict.fromkeys(("test", "testing"), 0),
    **dict.fromkeys(("val", "valid", "validation", "dev", "eval"), 1),
    **dict.fromkeys(("train", "training", "trn"), 2),
}
#: The weights of one training that an accuracy is of: all on the same images.
WEIGHTS = {"last": 10, "final": 10, "best": 11, "ema": 12, "swa": 13, "averaged": 14}
#: Of trainings, or folds, of one dataset.
OF_RUNS = {"run", "seed", "trial", "rep", "repeat", "replicate", "fold", "try", "attempt", "split"}
#: Amounts and other measures than the error: a name with such a word is of no accuracies.
NO_ACCURACY = {
    *("params", "param", "parameter", "parameters", "flops", "gflops", "mflops", "macs", "gmacs"),
    *("latency", "throughput", "runtime", "fps", "vram", "kwh", "co2", "loss", "nll", "ece"),
    *("brier", "auc", "auroc", "recall", "precision", "iou", "miou", "psnr", "ssim", "fid", "mse"),
    *("rmse", "mae", "mce", "perplexity", "f1", "kappa", "mcc", "std", "stdev", "stddev"),
    *("stderr", "sem", "variance", "conf", "confidence", "fpr", "fpr95", "tpr", "ap", "ap50"),
    *("ap75", "dice", "wer", "bleu", "rank", "ranking", "ranks"),
}
#: Words of a spread over trainings; some are in names of datasets as well (SD-198).
OF_SPREAD = {"std", "stdev", "stddev", "sd", "stderr", "sem", "se", "ci", "var", "variance"}
SUMMARIES = {"average", "avg", "mean", "median", "overall", "all", "best", "worst", "total"}
HARMONIC = {"h", "hm", "harmonic"}
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
    *("state", "k", "patch", "tokens", "count", "stars", "map"),
    *("min", "max", "lower", "upper", "diff", "difference", "delta", "gap", "gain"),
    *("drop", "improvement", "lo", "hi", "low", "high", "lcl", "ucl", "lb", "ub"),
}
#: Units, which say nothing beside other words.
UNITS = {"m", "g", "k", "b", "mio", "s", "h", "cpu", "gpu", "ms"}
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


def said_by(name: str) -> Quantity | None:
    """Return what a name says that values are: by an arrow, or else by its words; None: nothing.

    >>> said_by("top1_err"), said_by("CIFAR-100 ↓"), said_by("error of accuracy"), said_by("cars")
    ('error', 'error', None, None)
    """
    arrows = {SAYS[mark] for mark in "↑↓" if mark in name}
    said = arrows or {SAYS[word] for word in words_of(name) if word in SAYS}
    return said.pop() if len(said) == 1 else None


@dataclass(frozen=True)
class Called:
    """The name of a column, taken apart."""

    name: str
    #: Its words without numbers, but for those that are words with them (f1).
    words: frozenset[str]
    #: What it says that its values are; and the place in a ranking, of top-1 and top-5.
    quantity: Quantity | None
    top: str
    #: The part of the images, by its rank in PARTS, and the weights, by theirs in WEIGHTS; None:
    #: neither is said, or several are.
    part: tuple[int, ...] | None
    #: The name with # for the number of a training or fold; "" where none is said.
    runs: str
    #: What is left of the name: names of one dataset have one stem.
    stem: str

    @classmethod
    def of(cls, name: str) -> "Called":
        """Take a name apart."""
        words, form = words_of(name), normal_form(name)
        whole = {*form.split("_"), letters_of(name)} & NO_ACCURACY
        parts, weights = ([it for it in words if it in some] for some in (PARTS, WEIGHTS))
        is_measure = bool({*words} & {*SAYS, "top"})
        tops = [word for word in words if word in ("1", "5") and is_measure]
        one = parts + weights if len(parts) <= 1 and len(weights) <= 1 and is_measure else []
        one = one or (parts if len(parts) == 1 else [])
        dropped = {*SAYS, *one, *tops}
        return cls(
            name=name,
            words=frozenset(whole | {word for word in words if not word.isdigit()}),
            quantity=said_by(name),
            top=tops[0] if len(tops) == 1 else "",
            part=tuple({**PARTS, **WEIGHTS}[word] for word in one) or None,
            runs=_numbered(name),
            stem=" ".join(word for word in words if word not in dropped),
        )

    @property
    def is_accuracy(self) -> bool:
        """Whether words say that values are accuracies or errors."""
        return self.quantity is not None or (
            re.search(r"(?<![a-z])top_?[15](?!\d)|per_class", normal_form(self.name)) is not None
        )

    def kind(self, forms: set[str]) -> Literal["accuracy", "description", "partly", ""]:
        """Return what the words say: all that a column is, or that it is partly a description.

        `forms` are the names of all columns in normal form: cars_std is said of cars.
        """
        tokens = normal_form(self.name).split("_")
        rests = [tokens[n:] for n in range(1, len(tokens)) if "_".join(tokens[:n]) in forms]
        beside = any(
            set() < Called.of("_".join(rest)).words <= DESCRIBING | NO_ACCURACY | OF_SPREAD
            for rest in rests
        )
        if beside or "±" in self.name or self.words & NO_ACCURACY:
            return "description"
        if self.is_accuracy:
            return "description" if self.words & OF_SPREAD else "accuracy"
        words = self.words - UNITS or self.words
        if not self.name or (words & DESCRIBING and words <= DESCRIBING | PARTS.keys()):
            return "description"
        return "partly" if words & DESCRIBING else ""


def _numbered(name: str) -> str:
    """The name with # for its first number that counts trainings or folds."""
    for match in re.finditer(r"\d+", name):
        before = words_of(name[: match.start()])[-1:]
        if before and before[0].removesuffix("s") in OF_RUNS:
            return f"{name[: match.start()]}#{name[match.end() :]}"
    return ""


def several_of(names: Sequence[str], *by: str) -> list[list[Called]]:
    """Names that are equal in the properties `by`, where several are."""
    groups: dict[tuple[object, ...], list[Called]] = {}
    for called in map(Called.of, names):
        groups.setdefault(tuple(getattr(called, one) for one in by), []).append(called)
    return [group for group in groups.values() if len(group) > 1]
