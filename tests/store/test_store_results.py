import itertools
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from store_factory import (
    ARCHITECTURES,
    DATASETS,
    datasets,
    failed,
    gather,
    make_store,
    population,
    record,
)

from anynet_study.core.errors import UserError
from anynet_study.core.files import sha256_of
from anynet_study.core.metrics import Metric, auroc_interval, error_interval
from anynet_study.store import (
    ResultStore,
    RunRecord,
    export,
    find_store,
    import_bundle,
    stores_equal,
    verify,
)
from anynet_study.store.run_errors import on_metric

# Every architecture on every dataset twice, but: one failed, one diverged, one never begun.
RUNS: list[RunRecord] = [record(number) for number in range(17)]
RUNS[1] = failed(1, "timeout")
RUNS[10] = failed(10, "oom")
RUNS[4] = record(4, status="diverged", error=50.0, curves={}, predictions=np.empty(0, np.uint16))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("store"), RUNS[::-1])[0]


@pytest.fixture
def store(path: Path) -> ResultStore:
    return ResultStore(path)


def errors_of(architecture: str, dataset: str) -> list[float]:
    """Brute force: the errors of the replicates that have one, in order."""
    mine = [run for run in RUNS if (run.architecture, run.dataset) == (architecture, dataset)]
    ordered = sorted(mine, key=lambda run: run.replicate)
    return [run.error for run in ordered if not math.isnan(run.error)]


@pytest.mark.parametrize("replicates", ["mean", "first"])
def test_errors_are_the_reduced_errors_of_the_runs(store: ResultStore, replicates: str) -> None:
    table = store.errors(replicates=replicates)  # type: ignore[arg-type]
    assert table.index.tolist() == list(ARCHITECTURES)
    assert table.index.name == "architecture"
    assert table.columns.tolist() == list(DATASETS)
    for architecture in ARCHITECTURES:
        for dataset in DATASETS:
            values = errors_of(architecture, dataset)
            if not values:
                assert math.isnan(table.loc[architecture, dataset])
            elif replicates == "first":
                assert table.loc[architecture, dataset] == values[0]
            else:
                assert table.loc[architecture, dataset] == pytest.approx(np.mean(values), rel=1e-15)


def test_a_single_replicate_is_its_own_mean_bit_for_bit(tmp_path: Path) -> None:
    out, _ = make_store(tmp_path, [record(0, error=100 / 3)])
    assert ResultStore(out).errors().iloc[0, 0] == 100 / 3


def test_equal_means_are_ties_whatever_their_sums_rounded(tmp_path: Path) -> None:
    once = record(0, error=100 * 3 / 7, architecture=ARCHITECTURES[0], dataset="digits")
    wrong = (1, 4, 4)
    assert sum(100 * count / 7 for count in wrong) / 3 != once.error
    thrice = [
        record(number, error=100 * count / 7, architecture=ARCHITECTURES[1], dataset="digits")
        for number, count in zip((9, 18, 27), wrong, strict=True)
    ]
    out, _ = make_store(tmp_path, [once, *thrice])
    single, mean = ResultStore(out).errors().loc[list(ARCHITECTURES[:2]), "digits"]
    assert single == mean == pytest.approx(once.error)


def test_replicates_are_the_runs_with_an_error(store: ResultStore) -> None:
    table = store.replicates()
    assert table.columns.tolist() == ["architecture", "dataset", "replicate", "error"]
    assert len(table) == 15
    for (architecture, dataset), group in table.groupby(["architecture", "dataset"]):
        assert group["error"].tolist() == errors_of(str(architecture), str(dataset))


def test_another_metric_is_the_end_of_its_curve(store: ResultStore) -> None:
    table = store.errors(metric="top5", replicates="first")
    assert table.loc[ARCHITECTURES[0], "digits"] == RUNS[0].curves["test_top5"][-1]
    # Diverged on digits-2: five guesses of two classes cannot be wrong.
    assert table.loc[ARCHITECTURES[1], "digits-2"] == 0.0
    assert store.errors(metric="top1").equals(store.errors())


@pytest.mark.parametrize("classes", [2, 5, 6, 8])
@pytest.mark.parametrize(("metric", "guesses"), [("top1", 1), ("top5", 5)])
def test_a_diverged_run_has_the_error_of_guessing_on_another_metric(
    metric: str, guesses: int, classes: int
) -> None:
    """Of all sets of so many different classes, those without the true one."""
    sets = list(itertools.combinations(range(classes), min(guesses, classes)))
    runs = pd.DataFrame(
        {"run_id": ["a", "b", "c"], "metric": "auroc", "error": [20.0, 50.0, math.nan]}
    ).assign(status=["completed", "diverged", "failed"], classes=classes)
    found = on_metric(runs, metric, pd.Series({"a": 12.0, "b": 99.0}))
    wrong = 100 * np.mean([0 not in some for some in sets])
    np.testing.assert_allclose(found, [12.0, wrong, math.nan])


def test_curves_of_some_runs(store: ResultStore) -> None:
    table = store.curves(dataset="gratings", architecture=ARCHITECTURES[1], metrics=["test_loss"])
    runs = [run for run in RUNS if run.dataset == "gratings" and run.architecture[0] == "a"]
    assert table["test_loss"].tolist() == [x for run in runs for x in run.curves["test_loss"]]
    assert table["replicate"].tolist() == [run.replicate for run in runs for _ in range(run.epochs)]
    one = store.curves(run_id=RUNS[5].run_id)
    assert one["train_top5"].tolist() == RUNS[5].curves["train_top5"].tolist()
    assert store.curves(run_id="unknown").empty


def test_tables_come_back_as_they_went_in(store: ResultStore) -> None:
    assert store.architectures().to_dict("list") == population().to_pydict()
    assert store.datasets().to_dict("list") == datasets().to_pydict()
    assert store.architectures()["d1"].dtype == np.int32


def test_exclusions_count_what_is_not_ordinary(tmp_path: Path, store: ResultStore) -> None:
    assert store.exclusions().to_dict("split")["data"] == [
        ["digits-2", "diverged", "", 1],
        ["digits-2", "failed", "oom", 1],
        ["digits-2", "failed", "timeout", 1],
    ]
    out, _ = make_store(tmp_path, [failed(1), record(2)], planned=[])
    assert ResultStore(out).exclusions()["status"].tolist() == ["unplanned"] * 2


def test_provenance(store: ResultStore) -> None:
    assert store.provenance["sweep"] == "x: 1"
    assert store.provenance["created"].startswith("20")
    assert store.planned_runs is None


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda store: store.runs(["eror"]), "no column 'eror'"),
        (lambda store: store.errors(metric="top3"), "top1, top5"),
        (lambda store: store.errors(recipe="x"), "there are: basic"),
        (lambda store: store.errors(replicates="median"), "mean, first"),
        (lambda store: store.curves(dataset="x"), "no dataset x"),
        (lambda store: store.curves(metrics=["loss"]), "test_loss"),
        (lambda store: store.predictions("x"), "there are: digits, digits-2, gratings"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(store: ResultStore, ask, answer: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match=answer) as raised:
        ask(store)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("write", "answer"),
    [
        (lambda path: None, "no such results store"),
        (lambda path: path.mkdir(), "no such results store"),
        (lambda path: path.write_text("hello"), "not an HDF5 file"),
        (lambda path: path.touch(), "not an HDF5 file"),
    ],
)
def test_what_is_no_store_is_said_in_one_line(tmp_path: Path, write, answer: str) -> None:  # type: ignore[no-untyped-def]
    write(tmp_path / "some.h5")
    with pytest.raises(UserError, match=answer) as raised:
        ResultStore(tmp_path / "some.h5")
    assert "\n" not in str(raised.value)
    assert "some.h5" in str(raised.value)


def test_a_store_is_found_by_file_folder_or_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = make_store(tmp_path / "studies" / "mine", [record(0)])
    (tmp_path / "studies" / "begun").mkdir()
    (tmp_path / "studies" / "begun" / "sweep.yaml").touch()
    (tmp_path / "studies" / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    for where in (out, out.parent, "studies/mine", "mine"):
        assert find_store(where).path.resolve() == out
    with pytest.raises(UserError, match=r"begun: no run is recorded yet.* status begun"):
        find_store("begun")
    (tmp_path / "studies/begun/journals").mkdir()
    (tmp_path / "studies/begun/journals/one.arrow").touch()
    with pytest.raises(UserError, match="anynet-study collect begun"):
        find_store("begun")
    for where in ("yours", "notes", ".", "studies"):
        with pytest.raises(UserError, match=r"no such results store or study; .* mine$"):
            find_store(where)


def test_equal_stores_differ_in_circumstances_only(tmp_path: Path, path: Path) -> None:
    elsewhere = [
        RunRecord(**{**vars(run), "host": "b", "started": 1.0, "seconds": 9.0, "device": "x"})
        for run in RUNS
    ]
    other, _ = make_store(tmp_path, elsewhere[:5], elsewhere[5:])
    assert stores_equal(path, other) == []


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"error": math.nextafter(RUNS[0].error, 0)}, "error"),
        ({"spec": "{}"}, "spec"),
        ({"predictions": np.zeros(11, np.uint16)}, "predictions"),
        ({"curves": RUNS[0].curves | {"train_loss": np.zeros(3, np.float32)}}, "curves"),
    ],
)
def test_one_changed_value_is_a_difference(
    tmp_path: Path, path: Path, changes: dict[str, object], difference: str
) -> None:
    other, _ = make_store(tmp_path, [record(0, **changes), *RUNS[1:]])
    (line,) = stores_equal(path, ResultStore(other))
    assert line.startswith(f"run_id {RUNS[0].run_id}: {difference} ")


def test_missing_and_further_runs_are_differences(tmp_path: Path, path: Path) -> None:
    other, _ = make_store(tmp_path, [*RUNS[1:], record(40)])
    assert stores_equal(path, other) == [
        f"run_id {RUNS[0].run_id}: only in the first",
        f"run_id {record(40).run_id}: only in the second",
    ]


def test_intervals_are_of_metrics_that_count_images(tmp_path: Path) -> None:
    runs = [record(0), record(3, metric="top5", error=30.0), record(6, metric="auroc", error=30.0)]
    store = ResultStore(make_store(tmp_path, runs)[0])
    table = store.runs(["metric", "error_low", "error_high"]).set_index("metric")
    assert table.loc[["top1", "top5"]].notna().all(axis=None)
    assert table.loc["auroc"].isna().all()


def test_intervals_of_aurocs_are_of_the_scores_beside_the_store(tmp_path: Path) -> None:
    one, other = record(0, metric="auroc"), record(9, metric="auroc")
    make_store(tmp_path, [one, other])
    generator = np.random.default_rng(5)
    truth = generator.integers(0, 10, len(one.predictions))
    gather(tmp_path, truths={one.dataset: truth, other.dataset: truth})
    store = ResultStore(tmp_path / "results.h5")
    (tmp_path / "scores").mkdir()
    scores = generator.normal(size=(len(truth), 10)).astype(np.float32)
    np.save(tmp_path / "scores" / f"{one.run_id}.npy", scores)
    table = store.runs(["run_id", "error_low", "error_high"]).set_index("run_id")
    assert tuple(table.loc[one.run_id]) == auroc_interval(scores, truth)
    assert table.loc[other.run_id].isna().all()
    assert (store.scores(one.run_id) == scores).all()
    with pytest.raises(UserError, match="no scores were kept; launch it with"):
        store.scores(other.run_id)
    (tmp_path / "scores" / f"{one.run_id}.npy").write_bytes(b"no array")
    with pytest.raises(UserError, match="no scores can be read from it"):
        store.scores(one.run_id)


def exchanged(first: Path, second: Path) -> None:
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (exchanged, "is not what was written for run"),
        (lambda first, _: np.save(first, np.load(first) + 1), "is not what was written for run"),
        (lambda first, _: first.unlink(), "is gone; it has the scores of run"),
    ],
    ids=["exchanged", "changed", "deleted"],
)
def test_scores_are_those_that_were_written(
    change: Callable[[Path, Path], None], said: str, tmp_path: Path
) -> None:
    """Of records without a digest, which were written before there was one: see above."""
    runs = [record(0, metric="auroc"), record(1, metric="auroc")]
    (tmp_path / "scores").mkdir()
    paths = [tmp_path / "scores" / f"{run.run_id}.npy" for run in runs]
    for number, path in enumerate(paths):
        np.save(path, np.full((4, 10), number, np.float32))
    runs = [replace(run, scores=sha256_of(path)) for run, path in zip(runs, paths, strict=True)]
    make_store(tmp_path, runs)
    store = ResultStore(tmp_path / "results.h5")
    assert [store.scores(run.run_id)[0, 0] for run in runs] == [0, 1]
    assert verify(store.path) == []
    change(*paths)
    with pytest.raises(UserError, match=said):
        store.scores(runs[0].run_id)
    found = verify(store.path)
    assert found
    assert found[0].where == f"scores/{paths[0].name}"
    assert {finding.repair for finding in found} == {"scores"}


def test_a_copy_of_a_store_goes_without_scores_and_a_study_does_not(tmp_path: Path) -> None:
    """A release holds none: they are of any size. But those of a study do not vanish in silence."""
    run = record(0, metric="auroc")
    (tmp_path / "scores").mkdir()
    path = tmp_path / "scores" / f"{run.run_id}.npy"
    np.save(path, np.zeros((4, 10), np.float32))
    make_store(tmp_path, [replace(run, scores=sha256_of(path))])
    store = ResultStore(tmp_path / "results.h5")
    released = export(store, tmp_path / "release").folder
    copy = import_bundle(released, tmp_path / "elsewhere" / "copy.h5")
    for one in (ResultStore(released / "results.h5"), copy):
        assert verify(one.path) == []
        assert one.runs(["error_low"])["error_low"].isna().all()
        with pytest.raises(UserError, match="no scores were kept"):
            one.scores(run.run_id)
    shutil.rmtree(path.parent)
    (gone,) = verify(store.path, in_study=True)
    assert (gone.where, gone.what) == ("scores", "is gone; it has those of 1 run")


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1", "quadratic_kappa"])
def test_other_intervals_are_of_resampled_images(tmp_path: Path, metric: Metric) -> None:
    """Where predictions and true classes are stored."""
    one, diverged = record(0, metric=metric), record(9, metric=metric, status="diverged")
    diverged = replace(diverged, predictions=np.empty(0, np.uint16))
    make_store(tmp_path, [one, diverged])
    truth = np.random.default_rng(5).integers(0, 10, len(one.predictions))
    gather(tmp_path, truths={one.dataset: truth})
    table = ResultStore(tmp_path / "results.h5").runs(["status", "error_low", "error_high"])
    ends = table.set_index("status")
    expected = error_interval(metric, truth, one.predictions, 10)
    assert tuple(ends.loc["completed"]) == pytest.approx(expected)
    assert ends.loc["diverged"].isna().all()


def test_accuracy_class_by_class_is_that_of_a_plain_loop(tmp_path: Path) -> None:
    draw, images = np.random.default_rng(5), len(record(0).predictions)
    truth = draw.integers(0, 3, images)
    guesses = [np.where(draw.random(images) < 0.6, truth, 3).astype(np.uint16) for _ in range(2)]
    first, second = record(0, predictions=guesses[0]), record(9, predictions=guesses[1])
    make_store(tmp_path, [first, second])
    gather(tmp_path, truths={first.dataset: truth})
    table = ResultStore(tmp_path / "results.h5").classes()
    expected = [
        (one.run_id, str(number), len(of), 100 * sum(of) / len(of))
        for one in (first, second)
        for number in range(3)
        if (of := [g == number for g, t in zip(one.predictions, truth, strict=True) if t == number])
    ]
    found = table[["run_id", "class", "images", "accuracy"]].itertuples(index=False, name=None)
    assert sorted(found) == [pytest.approx(row) for row in sorted(expected)]


def test_a_store_says_what_it_holds(store: ResultStore) -> None:
    assert repr(store).startswith(f"<ResultStore {store.path}: {len(store.runs())} runs of ")
    shown = store._repr_html_()
    assert all(name in shown for name in store.datasets()["dataset"])
