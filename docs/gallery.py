"""Draw every figure there is, from committed data, into a page to look at.

    python docs/gallery.py FOLDER [--width 8.5] [NAME ...]

All registered figures (`anynet-study plot`) and all scripts of `analysis/`: each with the question
it answers, its command, its caption and, where it has one, the number of the paper's figure. Data
are the study across domains (analysis/cross-domain/release), a miniature of the tests for further
test sets, and Table 1 of paper 2 as printed. What is wrong by the boxes of a figure's artists
(tests/analysis/plots/figure_faults.py) is printed, and makes the exit code 1.
"""

import argparse
import ast
import html
import io
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pyarrow as pa

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "analysis" / "plots")]

from figure_faults import faults  # noqa: E402
from small_study import SmallStudy, run_records, small_study  # noqa: E402

import anynet_study  # noqa: E402
from anynet_study import plots  # noqa: E402
from anynet_study.analysis.analyses import FIGURES  # noqa: E402
from anynet_study.analysis.study import Study  # noqa: E402
from anynet_study.core.errors import DoesNotApplyError  # noqa: E402
from anynet_study.store import (  # noqa: E402
    EvaluationRecord,
    EvaluationWriter,
    JournalWriter,
    collect,
)

DOMAINS = ROOT / "analysis" / "cross-domain" / "release" / "results.h5"
RESAMPLES = 100
#: Paper 2, Table 1: accuracies (%) on the validation set of ImageNet and on the new test set.
PAPER_2 = {
    "pnasnet_large_tf": (82.9, 72.2),
    "nasnetalarge": (82.5, 72.2),
    "resnet152": (78.3, 67.0),
    "inception_v3_tf": (78.0, 66.1),
    "densenet161": (77.1, 65.3),
    "vgg19_bn": (74.2, 61.9),
    "alexnet": (56.5, 44.0),
    "fv_64k": (35.1, 24.1),
}
#: The years in which these were published, for the gap against the year.
YEARS = [2017, 2017, 2015, 2015, 2016, 2014, 2012, 2010]
#: Evaluations of the miniature: kind, points of error above the own test set, and factor of noise.
EVALUATIONS = {
    "sketch": ("shift", 20.0, 2.0),
    "renditions": ("shift", 28.0, 1.5),
    "new": ("shift", 8.0, 0.5),
    "blurred": ("transform", 10.0, 1.0),
    "turned": ("transform", 14.0, 2.0),
    "five": ("label set", -8.0, 0.5),
    "own": ("own images", 0.0, 0.5),
}
IMAGES, EPOCHS = 200, (2, 4)
#: Datasets on which a recipe was tuned, and the learning rates that were tried.
TUNED, RATES = ("base", "target-0"), (0.05, 0.1, 0.2)
#: What datasets are versions of.
VARIANTS = {
    "target-0": '{"base": "target-0"}',
    "target-1": '{"base": "target-0", "balanced": true}',
}
#: Datasets whose networks have evaluations.
TESTED = ("base", "target-0")


@dataclass(frozen=True)
class Shown:
    """A figure of the gallery."""

    name: str
    question: str
    command: str
    caption: str
    picture: Path
    faults: list[str]


def miniature(folder: Path, architectures: int = 24, count: int = 4) -> Path:
    """A store of two recipes with predictions, curves, and evaluations of every kind; one is tuned.

    Of `count` datasets: the source, a target, two subsets of the source's classes, more targets,
    of which the first is said to be the target's balanced version.
    Beside it are distances of these datasets.
    """
    folder.mkdir(parents=True)
    (folder / "journals").mkdir()
    (folder / "scores").mkdir()
    study, generator = of_datasets(architectures, count), np.random.default_rng(0)
    truth = generator.integers(0, 10, IMAGES).astype(np.uint16)
    sizes = {"base": 8000, "base-5": 4000, "base-2": 1600}
    images = study.datasets["dataset"].map(sizes).fillna(8000).astype(int)
    variants = study.datasets["dataset"].map(VARIANTS).fillna("{}")
    datasets = study.datasets.assign(train_images=images, variant=variants)
    seconds = dict(zip(datasets["dataset"], images / 100, strict=True))
    tried: list[dict[str, Any]] = []
    with (
        JournalWriter(folder / "journals" / "a.arrow") as runs,
        EvaluationWriter(folder / "journals" / "a.evaluations.arrow") as evaluations,
    ):
        for number, record in enumerate(run_records(study)):
            wrong = generator.random(IMAGES) < record.error / 100
            seen = np.where(wrong, (truth + 1) % 10, truth).astype(np.uint16)
            curves = record.curves | {"train_top1": np.asarray(record.curves["test_top1"]) / 3}
            for recipe, better in (("labels", 0.0), ("texts", 3.0)):
                run = f"{number + (1_000_000 if better else 0):016x}"
                error = record.error - better
                own = replace(record, run_id=run, recipe=recipe, error=error, curves=curves)
                own = replace(own, seconds=seconds[record.dataset])
                runs.append(replace(own, predictions=seen))
                if recipe == "labels" and record.dataset == "base":
                    scores = 2 * np.eye(10)[seen] + generator.normal(size=(IMAGES, 10))
                    np.save(folder / "scores" / f"{run}.npy", scores.astype(np.float32))
                if record.dataset in TESTED:
                    for row in evaluated(run, record.dataset, error, generator):
                        evaluations.append(row)
            if record.replicate == 0 and record.dataset in TUNED:
                errors = record.error - 2 + 3 * generator.random(len(RATES))
                for trial, (rate, error) in enumerate(zip(RATES, errors, strict=True)):
                    run, chosen = f"{number + trial * 10**6:x}".rjust(16, "f"), error == min(errors)
                    recipe = "tuned" if chosen else f"tuned/{trial:02d}"
                    runs.append(replace(record, run_id=run, recipe=recipe, error=float(error)))
                    found = {"validation_error": error, "trains": True, "chosen": chosen}
                    tried.append(
                        {"run_id": run, "tuned": "tuned", "trial": trial, "rung": 0, "lr": rate}
                        | found
                    )
    distances_of(list(datasets["dataset"])).to_csv(folder / "distances.csv", index=False)
    tables = study.population, pa.Table.from_pandas(datasets, preserve_index=False)
    truths = dict.fromkeys(datasets["dataset"], truth)
    out = folder / "results.h5"
    more: dict[str, Any] = {"recipes": ["labels", "texts", "tuned"], "truths": truths}
    collect(folder / "journals", out, *tables, None, {}, trials=pa.Table.from_pylist(tried), **more)
    return out


def distances_of(names: list[str]) -> pd.DataFrame:
    """Distances of each two datasets, as `data distance` writes them."""
    pairs = list(combinations(names, 2))
    far = 20.0 + 15 * np.arange(len(pairs))
    table = pd.DataFrame(pairs, columns=["a", "b"])
    return table.assign(fid_corrected=far, fid_low=far - 4, fid_high=far + 4)


def of_datasets(architectures: int, count: int) -> SmallStudy:
    """A synthetic study of so many datasets, at least two."""
    study = small_study(architectures, max(1, count - 3))
    names = ["base", "target-0", "base-5", "base-2", *study.errors][:count]
    names = [name for name in study.errors if name in {*names, *[*study.errors][4:]}][:count]
    tables = {"datasets": study.datasets, "replicates": study.replicates, "curves": study.curves}
    kept = {name: table[table["dataset"].isin(names)] for name, table in tables.items()}
    return replace(study, errors=study.errors[names], **kept)


def evaluated(
    run: str, dataset: str, error: float, generator: np.random.Generator
) -> Iterator[EvaluationRecord]:
    """Those of a run: at its end, and on shifts some epochs earlier and between its weights."""
    earlier: list[dict[str, Any]] = [{"epoch": epoch} for epoch in EPOCHS]
    earlier += [{"interpolate": share} for share in (0.0, 0.5, 1.0)]
    for name, (kind, harder, noise) in EVALUATIONS.items():
        for moment in ({}, *(earlier if kind == "shift" else ())):
            at = "".join(f"@{value:g}" for value in moment.values())
            early = (
                3.0 * (5 - moment.get("epoch", 5)) + 8 * (moment.get("interpolate", 1) - 0.7) ** 2
            )
            found = float(np.clip(error + harder + early + noise * generator.normal(), 1, 99))
            identity = (
                f'{{"content_hash":"{name} of {dataset}"'
                + "".join(f',"{key}":{value}' for key, value in moment.items())
                + "}"
            )
            yield EvaluationRecord(
                run_id=run,
                evaluation=f"{name}{at}",
                evaluation_id=sha256(identity.encode()).hexdigest()[:16],
                identity=identity,
                kind=kind,
                images=IMAGES,
                loss=1.0,
                top1=found,
                top5=found / 2,
                error=found,
                seconds=1.0,
                started=1e9,
                host="",
            )


def written(folder: Path) -> dict[str, Path]:
    """The inputs, by the name that commands have for them."""
    study = small_study(24)
    parameters = study.parameters.set_index("architecture")
    stages = [f"{prefix}{stage}" for prefix in "dwbg" for stage in range(1, 5)]
    paper_2 = pd.DataFrame(PAPER_2, index=["val", "v2"]).T
    tables = {
        "errors.csv": study.errors.join(parameters[[*stages, "parameters", "flops"]]),
        "accuracies.csv": 100 - study.errors,
        "paper-2.csv": paper_2.assign(year=YEARS).rename_axis("model"),
    }
    for name, table in tables.items():
        table.to_csv(folder / name)
    made = {name: folder / name for name in tables}
    return made | {"cross-domain": DOMAINS, "miniature": miniature(folder / "miniature")}


#: Of scripts: their input, and what else they are told; FIRST is an architecture of the input.
ROLES = "--source base --family base=10,base-5=5 --targets target-0=4"
TOLD = {
    "best_of_bins": ("miniature", "parameters --top 3 --robustness"),
    "checkpoints": ("miniature", ""),
    "class_draws": ("errors.csv", f"--draws base-5,base-2 {ROLES}"),
    "data_budget": ("miniature", ""),
    "edf": ("errors.csv", ""),
    "ensembles": ("miniature", "base --sizes 1,2,5,10"),
    "figure1": ("cross-domain", ""),
    "figure6": (
        "errors.csv",
        "--source base --fewer-images base-5 --fewer-classes base-2 --targets target-0",
    ),
    "figure_a1": ("miniature", "--dataset target-0 --proxies base,base-5"),
    "figure_a2": ("miniature", "--zoom 2 --marked 5"),
    "figure_a3": ("cross-domain", ""),
    "figure_a4": ("miniature", ""),
    "figure_a5": ("errors.csv", "--pairs base=base-5,base-2=target-0"),
    "figure_a6": ("miniature", "--source base --recipe texts"),
    "importance": ("errors.csv", "--trees 30"),
    "improvement": ("accuracies.csv", "FIRST --accuracy"),
    "interpolation": ("miniature", "--recipe texts"),
    "label_sets": ("miniature", "base --sizes 2,5,10"),
    "mcnemar": ("miniature", "base --top 4"),
    "new_test_set": (
        "paper-2.csv",
        "val v2 --accuracy --images val=50000,v2=10000 --describe year --against year",
    ),
    "other_targets": ("accuracies.csv", "--accuracy"),
    "pareto": ("errors.csv", f"--costs base=9000,base-5=400 {ROLES}"),
    "recipes": ("miniature", ""),
    "robustness": ("miniature", "--dataset base --group-by recipe"),
    "sample_size": ("cross-domain", "--source cifar10 --target mnist"),
    "transfer": ("miniature", "--above 80 --spline --images base=2000 --across parameters"),
    "transforms": ("miniature", "--dataset base"),
    "tuning": ("miniature", "--recipe tuned"),
}
#: A script that wants what no committed data have: a study that names its networks.
NEED_MORE = {"table_a1", "reuse"}


def scripts() -> list[str]:
    """The scripts of `analysis/` that committed data suffice for."""
    found = {path.stem for path in (ROOT / "analysis").glob("*.py")}
    return sorted(found - NEED_MORE)


def drawn_by_script(name: str, inputs: dict[str, Path], folder: Path) -> Iterator[Shown]:
    """What a script writes; nothing for those that print tables. Raises RuntimeError with why."""
    script = ROOT / "analysis" / f"{name}.py"
    said = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    question = " ".join(said.split("\n\n")[0].split())
    source, more = TOLD.get(name, ("cross-domain", ""))
    told = more.replace("FIRST", str(small_study(24).errors.index[0]))
    kept: list[tuple[Path, Any]] = []
    save: Callable[..., list[Path]] = plots.save

    def keep(figure: Any, stem: Path, *args: Any, **options: Any) -> list[Path]:
        kept.append((stem, figure))
        paths = save(figure, stem, *args, formats=("png",), **options)
        wrong[stem.name] = faults(figure)  # as it was laid out: to lay it out takes long
        return paths

    wrong: dict[str, list[str]] = {}
    arguments = [f"{name}.py", str(inputs[source]), *told.split()]
    if "output" in script.read_text() or "draw(" in script.read_text():
        arguments += ["-o", str(folder)]
    before, sys.argv = sys.argv, [*arguments, "--resamples", str(RESAMPLES)]
    heard = io.StringIO()
    try:
        plots.save = keep  # type: ignore[assignment]
        with redirect_stdout(heard), redirect_stderr(heard):
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{name}: {heard.getvalue().strip()}") from None
    finally:
        plots.save, sys.argv = save, before  # type: ignore[assignment]
    command = f"python analysis/{name}.py {source} {more}".strip()
    for stem, _ in kept:
        yield Shown(stem.name, question, command, "", stem.with_suffix(".png"), wrong[stem.name])


def drawn_by_analyses(study: Study, source: str, folder: Path, names: list[str]) -> Iterator[Shown]:
    """The registered figures of these names that a study has."""
    for analysis in study.analyses.values():
        for figure in analysis.figures:
            if figure.name not in names:
                continue
            try:
                drawn = study.figure(figure.name)
                stem = folder / f"{source}-{figure.name}"
                plots.save(drawn, stem, formats=("png",))
            except DoesNotApplyError:
                continue
            command = f"anynet-study plot {source} --figure {figure.name}"
            caption = study.caption(figure.name)
            title = f"{analysis.title}."
            picture = stem.with_suffix(".png")
            yield Shown(figure.name, title, command, caption, picture, faults(drawn))


def page(shown: list[Shown]) -> str:
    """All of them below each other, as large as they are printed."""
    parts = ["<!doctype html><meta charset=utf-8><title>Figures</title>"]
    parts.append("<style>body{font:15px sans-serif;max-width:60em;margin:2em auto}</style>")
    for one in shown:
        size = matplotlib.image.imread(one.picture).shape[1] / 200 * 2.54
        told = [f"<h2>{html.escape(one.name)}</h2><p>{html.escape(one.question)}</p>"]
        told.append(f"<p><code>{html.escape(one.command)}</code></p>")
        name = html.escape(one.picture.name)
        told.append(f"<img src='{name}' style='width:{size:.1f}cm'>")
        told.append(f"<p>{html.escape(one.caption)}</p>")
        parts += told
    return "\n".join(parts)


def gallery(folder: Path, names: list[str], width: float | None = None) -> list[Shown]:
    """Draw all figures, or those of these names, and write index.html.

    They are `width` centimetres wide; None: each as wide as it is by itself. Raises RuntimeError
    where a script fails, or a registered figure is of no data.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shown: list[Shown] = []
    look = plots.Look(width=width and width / 2.54)
    with tempfile.TemporaryDirectory() as scratch, look.drawing():
        inputs = written(Path(scratch))
        for source in ("cross-domain", "miniature"):
            study = anynet_study.load(inputs[source], resamples=RESAMPLES)
            drawn = {one.name for one in shown}
            of = [name for name in names or FIGURES if name not in drawn]
            shown += drawn_by_analyses(study, source, folder, of)
        for name in scripts():
            if not names or name in names:
                shown += drawn_by_script(name, inputs, folder)
    lacking = set() if names else set(FIGURES) - {one.name for one in shown}
    if lacking:
        raise RuntimeError(f"figures of no committed data: {', '.join(sorted(lacking))}")
    (folder / "index.html").write_text(page(shown), encoding="utf-8")
    return shown


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="Of figures or scripts; default: all.")
    parser.add_argument("--width", type=float, help="Of all figures, in centimetres.")
    asked = parser.parse_args()
    made = gallery(asked.folder, asked.names, asked.width)
    for one in made:
        for fault in one.faults:
            print(f"{one.picture.name}: {fault}")
    print(f"{len(made)} figures in {asked.folder / 'index.html'}")
    sys.exit(any(one.faults for one in made))
