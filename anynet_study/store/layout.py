"""The layout of a results store: an HDF5 file that any HDF5 reader understands.

`COLUMNS` is the one description of the columns of all tables: their types, what they mean, and
which values are legal. Records and journals, what is written to a store and read from it, the check
of what is opened, the documentation `LAYOUT`, which travels in the file as the attribute `layout`
of its root, and the data dictionary of a release are made of it. Times and provenance are the only
things in which two stores of the same runs differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Literal, get_args

import pyarrow as pa

from anynet_study.core.metrics import Metric

FORMAT = "anynet-study results"
#: Raised when stores change in a way that reading columns by name cannot bridge: not for further
#: columns, tables or groups, which older stores lack and newer ones have.
SCHEMA_VERSION = 7

#: The tables in which a store is read and queried; a release has a file of each of the first six;
#: the classes are counted from predictions.
TableName = Literal[
    "runs",
    "architectures",
    "datasets",
    "curves",
    "errors",
    "evaluations",
    "journals",
    "provenance",
    "classes",
    "trials",
]

Status = Literal["completed", "diverged", "failed"]
FailureKind = Literal["", "oom", "data", "timeout", "node", "code"]
#: The training engine; "": not known, as for all runs before there were two.
RecordedEngine = Literal["", "reference", "fast"]
#: How networks were computed (`models.Backend`), "": not known. The last is of runs trained before
#: November 2026: by rewrites with C kernels, which are no longer part of the package.
RecordedBackend = Literal["", "plain", "rewritten", "compiled"]


_ANY_NUMBER = (float("-inf"), float("inf"))


@dataclass(frozen=True)
class Column:
    """The meaning, type and limits of a column of a table."""

    meaning: str
    #: None: whichever type its source gives it, as of columns of other people's tables.
    type: pa.DataType | None
    #: The smallest and the largest number. A number that is not known is null, and NaN in HDF5.
    range: tuple[float, float] = _ANY_NUMBER
    #: The legal texts; empty: any.
    legal: tuple[str, ...] = ()
    #: Whether its texts name something: these are not empty.
    named: bool = False

    @property
    def limited(self) -> bool:
        """Tell whether some values of its type are not legal."""
        return self.named or bool(self.legal) or self.range != _ANY_NUMBER


def _text(meaning: str, legal: object = None) -> Column:
    return Column(meaning, pa.string(), legal=get_args(legal))


def _name(meaning: str) -> Column:
    return Column(meaning, pa.string(), named=True)


def _count(meaning: str, least: int = 0, most: int = 2**31 - 1) -> Column:
    return Column(meaning, pa.int32(), (least, most))


def _number(meaning: str) -> Column:
    return Column(meaning, pa.float64())


def _percent(meaning: str) -> Column:
    return Column(meaning, pa.float64(), (0, 100))


def _truth(meaning: str) -> Column:
    return Column(meaning, pa.bool_(), (0, 1))


def _any(meaning: str) -> Column:
    return Column(meaning, None)


_OF_RUNS = {
    "run_id": _name(
        "hash of everything that determines the run's result; of an imported run: of its names, "
        "which are its specification"
    ),
    "architecture": _name("id or name of the model"),
    "dataset": _name("label of the dataset"),
    "recipe": _text("how the model was trained"),
    "replicate": _count("number of the repetition, from 0"),
    "status": _text("completed, diverged (error of guessing) or failed (no error)", Status),
    "failure_kind": _text("of a failed run: oom, data, timeout, node, code", FailureKind),
    "message": _text("why a run failed, or what else is to be said of it"),
    "metric": _text(
        "what the error is of: top1, top5, balanced_accuracy, macro_f1, quadratic_kappa, auroc; "
        "errors are 100 (1 - value), at most 100",
        Metric,
    ),
    "error": _percent(
        "test error in percent after the final epoch on the run's metric; of a diverged run: of "
        "guessing; of a failed run: NaN"
    ),
    "error_std": _number(
        "of an imported error that is the mean over trainings: their standard deviation in points "
        "(with n - 1); NaN where it is not known, and of a single training"
    ),
    "trainings": _count("how many trainings the error is the mean of", 1),
    "planned": _truth("1 if the sweep of this store asks for the run, else 0 (kept, not analysed)"),
    "epochs": _count("number of epochs in its curves"),
    "images": _count("number of its predictions"),
    "seconds": _number("duration, s"),
    "started": _number("when it began, seconds since 1970, UTC"),
    "host": _text("machine that did it"),
    "device": _text("cpu, or the GPU"),
    "torch_version": _text("version of PyTorch"),
    "code_version": _text("version of anynet-study"),
    "engine": _text(
        "of training: reference, fast, empty where it is not known",
        RecordedEngine,
    ),
    "backend": _text(
        "plain: the library's own layers, rewritten: exact rewrites of them, compiled: these with "
        "C kernels of an earlier version; empty where it is not known",
        RecordedBackend,
    ),
    "instruction_set": _text(
        "the widest that it could use, as avx512; of a GPU its architecture; bfloat16 where "
        "convolutions computed in it (else float32, TF32 on a GPU), and what that used beside "
        "torch's operators"
    ),
    "threads": _count("of the CPU, for one network; 0 where it is not known"),
    "processor": _text("model of the CPU or GPU"),
    "libraries": _text("versions of those that compute"),
    "scores": _text("SHA-256 of scores/RUN.npy beside the store; empty if none were kept"),
    "function_digest": _text(
        "start of the SHA-256 of the source of the user's own function that made the network, and "
        "of the modules of the user's own that it imports; empty for other networks"
    ),
    "journal": _text("file that the record came from"),
}
_OF_EVALUATIONS = {
    "run": _count("the row of /runs that was evaluated"),
    "evaluation": _name("name of the further test set, or of what was done to the images"),
    "evaluation_id": _text("16 hexadecimal digits, the start of the SHA-256 of identity"),
    "identity": _text("JSON: all that determines the evaluation of given weights"),
    "kind": _text(
        "what it is, by what it asks or as the sweep declares it: shift, transform, label set, "
        "few-shot, validation, own images; empty where it is not known"
    ),
    "images": _count("number of test images"),
    "loss": _number("mean cross-entropy, nats"),
    "top1": _percent("error, percent"),
    "top5": _percent("error, percent"),
    "error": _percent("error in percent on the metric of the run; NaN where it was not recorded"),
    "planned": _truth(
        "1 if the sweep of this store asks for the evaluation and for its run, else 0"
    ),
    "predicted": _count("number of its predictions: images (times the columns of one), or 0"),
    **{name: _OF_RUNS[name] for name in ("seconds", "started", "host", "journal")},
}
_OF_ARCHITECTURES = {
    "architecture": _name("id, or name of the model"),
    "name": _any("what an imported file called a model that has an id"),
    "network": _any('what the sweep calls a network that it names; "" if it was drawn'),
    "stem": _any("first layers: imagenet, simple, cifar"),
    "stem_width": _any("channels of the stem"),
    "block": _any("type of the blocks"),
    "se_ratio": _any("of their squeeze-and-excitation, 0: none"),
    "weight": _any(
        "where they were not drawn with equal probability: proportional to the probability of the "
        "architecture in the design space over that of being drawn"
    ),
    "flops": _any("multiply-adds"),
    "parameters": _any("count"),
    "activations": _any("count"),
}
_OF_DATASETS = {
    "dataset": _name("label"),
    "base": _text("dataset that it is a variant of"),
    "role": _text("source, family, target, extra"),
    "test_set_of": _text('of imported ones the dataset that it is a further test set of, or ""'),
    "classes": _count("count", 1, 1_000_000),
    "train_images": _count("count"),
    "test_images": _count("count"),
    "errors_of": _text('recipe whose errors stand for it; "": the main one'),
    "recipes": _text("JSON: names of the recipes that the sweep trains on it"),
    "metric": _text("what errors on it are of"),
    "chance": _percent("error of the best guess that is the same for all images, percent"),
    "epochs": _count("planned for it"),
    "content_hash": _text("hash of the images"),
    "variant": _text("JSON: how it was selected from its base"),
    "class_names": _text("JSON: the classes in the order of their numbers"),
}
_OF_JOURNALS = {
    "journal": _name("file name"),
    "records": _any("count"),
    "duplicates": _any("records set aside"),
    "bytes": _any("size of the file"),
    "problem": _any('what is wrong with it, "" if nothing'),
    "end": _any("in bytes: where its last record that was read ends; absent in earlier stores"),
    "crc32": _any("CRC-32 of its bytes up to there; absent in earlier stores"),
}
_OF_TRIALS = {
    "run_id": _name("of /runs"),
    "tuned": _text("recipe whose trial it is"),
    "trial": _count("number of the setting, from 0"),
    "rung": _count("from 0; of successive halving each rung has longer runs of fewer trials"),
    "validation_error": _percent(
        "error in percent on the images by which trials are compared, on the run's metric; NaN "
        "where the run diverged, failed or is missing"
    ),
    "trains": _truth("1 if the run neither diverged nor errs as often on these as guessing"),
    "chosen": _truth("1 if its error is that of the tuned recipe"),
}


def _curve(meaning: str) -> Column:
    return Column(meaning, pa.float32())


_OF_CURVES = {
    "train_loss": _curve("after the epoch, nats"),
    "train_top1": _curve("error after the epoch, percent"),
    "train_top5": _curve("error after the epoch, percent"),
    "test_loss": _curve("after the epoch, nats"),
    "test_top1": _curve("error after the epoch, percent"),
    "test_top5": _curve("error after the epoch, percent"),
    "test_error": _curve(
        "after the epoch, on the run's metric, percent; NaN where it was not recorded"
    ),
}
#: By table: its columns, in the order in which the table shows them.
COLUMNS: Mapping[str, Mapping[str, Column]] = {
    "runs": _OF_RUNS,
    "evaluations": _OF_EVALUATIONS,
    "architectures": _OF_ARCHITECTURES,
    "datasets": _OF_DATASETS,
    "journals": _OF_JOURNALS,
    "curves": _OF_CURVES,
    "trials": _OF_TRIALS,
}
_RUNS = tuple(_OF_RUNS)
#: Columns of /runs that say how and where a run was made, not what it gave.
CIRCUMSTANCES = ("message", *_RUNS[_RUNS.index("seconds") :])
#: What a column of a stage means, by the letter before the stage's number.
STAGES = {
    "d": "depth",
    "w": "width",
    "b": "bottleneck ratio",
    "g": "group width",
    "s": "stride",
}


def _listed(table: str) -> str:
    """The columns of a table, one below the other."""
    return "\n".join(
        fill(column.meaning, 100, initial_indent=f"  {name:15} ", subsequent_indent=18 * " ")
        for name, column in COLUMNS[table].items()
    )


_of_stages = ", ".join(f"{letter}1... {text}" for letter, text in STAGES.items())
LAYOUT = f"""\
Results of a study of CNN architectures: one row per run, a run being one architecture trained on
one dataset. Text is UTF-8, rows are counted from 0, errors are in percent.
A missing number is NaN: a column of whole numbers in which some are missing is float64. A missing
text is empty.

ROOT ATTRIBUTES
format          "{FORMAT}"
schema_version  {SCHEMA_VERSION}
created         when this file was made, ISO 8601, UTC
planned_runs    how many runs the sweep asks for; -1 if that was not said
layout          this text

TABLES  A group whose attribute `columns` lists its columns in order, all of one length; of those
below, some may be missing, and imported tables may have others.
/architectures  the population, one row per architecture. Columns of its stages, missing from the
                first stage on that it lacks: {_of_stages}.
                The attribute `sampling` is JSON: how the population was drawn.
{_listed("architectures")}
/datasets       one row per dataset:
{_listed("datasets")}
/journals       one row per journal or imported file that the store was made from:
{_listed("journals")}
/trials         one row per planned run of a tuned recipe; missing in earlier stores. The
                recipe of a chosen run in /runs is the tuned one, that of the others the tuned one
                with the number of the trial (and of the rung), as tuned/07 (tuned/07.1). Further
                columns are the keys of the recipe that were tuned.
{_listed("trials")}
/runs           one row per run, ordered by architecture, dataset, recipe, replicate, run_id:
{_listed("runs")}
/evaluations    one row per evaluation of a trained run on a further test set, ordered by run,
                evaluation, evaluation_id:
{_listed("evaluations")}
  predictions   one group per dataset (of the runs), in it one per evaluation that has any, named by
                them as the groups of /predictions are; attributes `dataset` and `evaluation`. In
                each, `classes` as in /predictions, one row per evaluated run; and `row`: the row of
                /evaluations that each of them belongs to, ascending.

ARRAYS
/labels         names in the order of the sweep
  recipe        the recipes; the first is the main one
  evaluation    the further test sets
/curves         per-epoch curves of all runs end to end, float32. Run r has elements offsets[r] up
                to, not including, offsets[r + 1] of each, one per epoch:
{_listed("curves")}
/specs          text: the bytes of every run's canonical JSON specification end to end; run r has
                text[offsets[r] : offsets[r + 1]].
/predictions    one group per dataset that has any, its attribute `dataset` the label; the group is
                named by the label, in which % . and / are written %25 %2E %2F.
  classes       uint16, one row per run, one column per test image in test order: the predicted
                class; 65535 where the run has none
  run           the row of /runs that each row belongs to, ascending
  labels        uint16, one per test image: its true class, 65535 where unknown; not in every group
                The attribute `kind` of a group is "class"; or "correct" where only that is known:
                classes are then 1 for a right prediction and 0 for a wrong one, and labels all 1;
                or "labels" where an image can have several classes: it then has as many columns
                as there are fifteens of classes, and bit b of column w is class 15 w + b.
/provenance     scalar text: a JSON object saying what made the store.
/checksums      scalar text: a JSON object with the CRC-32 of every array, by its path, and of every
                attribute, by path@name. They show what was changed by accident since the file was
                written; not who wrote it, nor whether its numbers are true: whoever changes numbers
                can change checksums too.

THE TABLE OF ERRORS that analyses begin with has a row per architecture and a column per dataset,
each the mean of `error` over the runs of that architecture and dataset with planned 1 and the main
recipe, or the one in the column errors_of of /datasets, whose error is not NaN.

Texts are of fixed length, padded with NUL (h5py gives bytes: decode them, or read them by asstr());
of varying length where padding would be a waste. Chunked arrays are compressed with gzip and carry
a Fletcher-32 checksum, both built into HDF5; so do the structures of the file, which HDF5 1.10 and
later can read.

EARLIER STORES  Before schema_version 7, an integer i in a column of texts of /runs or /evaluations
(but for run_id) stands for the text /labels/<column>[i].
"""


def scores_folder(store: Path) -> Path:
    """Return where the outputs of networks on their test images are, beside the store of their
    study.
    """
    return store.parent / "scores"


def scores_file(store: Path, run_id: str) -> Path:
    """Return the file of the scores of a run."""
    return scores_folder(store) / f"{run_id}.npy"


def prediction_group(dataset: str, evaluation: str = "") -> str:
    """Path of the group of predictions on a dataset, or on an evaluation of the runs on it."""
    parts = [_group_name(label) for label in (dataset, evaluation) if label]
    return "/".join([f"{'/evaluations' if evaluation else ''}/predictions", *parts])


def _group_name(label: str) -> str:
    return label.replace("%", "%25").replace(".", "%2E").replace("/", "%2F")
