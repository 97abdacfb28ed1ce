"""What a results store holds: an HDF5 file that any HDF5 reader understands.

The documentation below travels in the file, as the attribute `layout` of its root. Times and
provenance are the only things in which two stores of the same runs differ.
"""

from typing import Literal

FORMAT = "anynet-study results"
#: Stores of any other version are refused.
SCHEMA_VERSION = 6

LAYOUT = """\
Results of a study of CNN architectures: one row per run, a run being one architecture trained on
one dataset. Text is UTF-8, rows are counted from 0, errors are in percent.
A missing number is NaN: a column of whole numbers in which some are missing is float64. A missing
text is empty.

ROOT ATTRIBUTES
format          "anynet-study results"
schema_version  6
created         when this file was made, ISO 8601, UTC
planned_runs    how many runs the sweep asks for; -1 if that was not said
layout          this text

TABLES  A group whose attribute `columns` lists its columns in order, all of one length.
/architectures  the population, one row per architecture: id `architecture`; depth d, width w,
                bottleneck ratio b, group width g and stride s of its stages (d1, d2, ..., s1, s2,
                ...), missing from the first stage on that it lacks; stem; stem_width; block, the
                type of its blocks; se_ratio of their squeeze-and-excitation, 0: none; weight,
                where they were not drawn with equal probability: proportional to the probability
                of the architecture in the design space over that of being drawn; flops
                (multiply-adds), parameters and activations (counts). The attribute `sampling` is
                JSON: how the population was drawn.
/datasets       one row per dataset: label `dataset`; base; role (source, family, target, extra);
                of imported ones test_set_of (the dataset that it is a further test set of, or "");
                classes, train_images, test_images (counts); metric (top1, top5, balanced_accuracy,
                macro_f1, quadratic_kappa, auroc: errors are 100 (1 - value), at most 100); chance
                (error of the best guess that is the same for all images); epochs; content_hash;
                variant (JSON); and class_names, a JSON list in the order of the classes' numbers.
/journals       one row per journal or imported file that the store was made from: journal (file
                name), records, duplicates (records set aside), bytes, problem ("" if none).
/runs           one row per run, ordered by architecture, dataset, recipe, replicate, run_id:
  run_id        hash of everything that determines the run's result, fixed-length ASCII; of an
                imported run: of its names, which are its specification
  replicate     number of the repetition, from 0
  error         test error in percent after the final epoch on the run's metric;
                of a diverged run: of guessing; of a failed run: NaN
  seconds       duration
  started       when it began, seconds since 1970, UTC
  threads       of the CPU, for one network; 0 if not known
  planned       1 if the sweep of this store asks for the run, else 0 (kept, not analysed)
  epochs        number of epochs in its curves
  images        number of its predictions
  coded text    architecture, dataset, recipe, status (completed, diverged, failed), failure_kind
                ("", oom, data, timeout, node, code), message, metric, host, device,
                torch_version, code_version, engine (of training: reference, fast, "" if not
                known), backend (plain: the library's own layers, rewritten: exact rewrites of them,
                compiled: these with kernels of our own), instruction_set (the widest that it could
                use, as avx512; of a GPU its architecture), processor (model of the CPU or GPU),
                libraries (versions of those that compute), each "" if not known; journal: an
                integer i standing for the text /labels/<column>[i]
/labels         one 1-D text array per coded column. /labels/architecture begins with the rows of
                /architectures and /labels/dataset with those of /datasets, in their order, so
                these two integers are row numbers there as well. /labels/recipe is in the order
                of the sweep: the first is the main recipe.
/evaluations    one row per evaluation of a trained run on a further test set, ordered by run,
                evaluation, evaluation_id:
  run           the row of /runs that was evaluated
  images        number of test images
  loss          mean cross-entropy, nats
  top1, top5    errors in percent
  error         error in percent on the metric of the run; NaN where that was not recorded
  seconds       duration
  started       when it began, seconds since 1970, UTC
  planned       1 if the sweep of this store asks for the evaluation and for its run, else 0
  predicted     number of its predictions: images (times the columns of one), or 0
  coded text    evaluation (its name in the sweep), identity (JSON: all that determines the
                evaluation of given weights), evaluation_id (16 hexadecimal digits, the start of
                the SHA-256 of identity), host, journal: an integer i standing for the text
                /labels/<column>[i]
  predictions   one group per dataset (of the runs), in it one per evaluation that has any, named by
                them as the groups of /predictions are; attributes `dataset` and `evaluation`. In
                each, `classes` as in /predictions, one row per evaluated run; and `row`: the row of
                /evaluations that each of them belongs to, ascending.

ARRAYS
/curves         per-epoch curves of all runs end to end: train_loss, test_loss (nats), train_top1,
                train_top5, test_top1, test_top5 (errors in percent), test_error (on the run's
                metric, NaN where that was not recorded), float32. Run r has elements offsets[r] up
                to, not including, offsets[r + 1] of each, one per epoch.
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
                attribute, by path@name.

THE TABLE OF ERRORS that analyses begin with has a row per architecture and a column per dataset,
each the mean of `error` over the runs of that architecture and dataset with planned 1 and recipe 0
whose error is not NaN.

Texts are of fixed length, padded with NUL (h5py gives bytes: decode them); of varying length where
padding would be a waste. Chunked arrays are compressed with gzip and carry a Fletcher-32 checksum,
both built into HDF5; so do the structures of the file, which HDF5 1.10 and later can read.
"""

#: Every column of /evaluations, in order.
EVALUATION_COLUMNS = (
    "run",
    "evaluation",
    "evaluation_id",
    "identity",
    "images",
    "loss",
    "top1",
    "top5",
    "error",
    "planned",
    "predicted",
    "seconds",
    "started",
    "host",
    "journal",
)
#: Those of them that are integers into labels of their own.
EVALUATION_CODED = ("evaluation", "evaluation_id", "identity")
#: The tables in which a store is read and queried.
TableName = Literal[
    "runs",
    "architectures",
    "datasets",
    "curves",
    "errors",
    "evaluations",
    "journals",
    "provenance",
]


def prediction_group(dataset: str) -> str:
    """Path of the group that holds a dataset's predictions."""
    return f"/predictions/{_group_name(dataset)}"


def evaluation_group(dataset: str, evaluation: str) -> str:
    """Path of the group that holds the predictions of an evaluation of runs on a dataset."""
    return f"/evaluations/predictions/{_group_name(dataset)}/{_group_name(evaluation)}"


def _group_name(label: str) -> str:
    return label.replace("%", "%25").replace(".", "%2E").replace("/", "%2F")
