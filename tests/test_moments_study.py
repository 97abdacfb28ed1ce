"""Evaluations of other networks of a run than its last, and runs that start from a file."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from scripted_study import PACKED
from tiny_study import TINY, Type

from anynet_study.data import load_dataset

FIRST = (
    TINY.replace("  digits-2: {base: digits, classes: 2, per_class: 20}\n", "")
    .replace("count: 4", "count: 2")
    .replace("recipes: {basic: {epochs: 1,", "recipes:\n  basic: {epochs: 3,")
    .replace("flip: false}}", "flip: false}")
    + """
  probe: {epochs: 1, batch_size: 16, pretrained: digits, trained: head}
  tuned: {epochs: 2, batch_size: 16, after: probe}
launch: {keep: weights}
evaluations:
  wise: {interpolate: [0, 1]}
"""
)
#: With a network between, epochs of the source, and runs from a file.
SECOND = (
    FIRST.replace("[0, 1]", "[0, 0.5, 1]").replace(
        "launch:", "  filed: {datasets: [blobs], epochs: 1, weights: '{architecture}.pt'}\nlaunch:"
    )
    + "  own: {transform: identity, every: 1, datasets: [digits]}\n"
)


class Order:
    """Pickled, it has whoever reads it write a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("obeyed"),)


def asked(type_: Type, statement: str) -> list[dict[str, Any]]:
    told = type_("query", "tiny", "--sql", statement, "--json")
    assert told.code == 0, told.err
    return json.loads(told.out)


@pytest.mark.slow
def test_networks_between_start_and_end_and_after_each_epoch(
    type_: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First of final weights; then more of them, and of epochs, whose weights nobody has kept."""
    (tmp_path / "tiny.yaml").write_text(FIRST)
    assert type_("run", "tiny.yaml").code == 0
    before = asked(type_, "select run_id, architecture, recipe, dataset from runs order by run_id")
    weights = tmp_path / "studies/tiny/weights"
    files = {it["run_id"]: (weights / f"{it['run_id']}.pt").read_bytes() for it in before}
    times = {run_id: (weights / f"{run_id}.pt").stat().st_mtime_ns for run_id in files}
    sources = {it["architecture"]: it["run_id"] for it in before if it["dataset"] == "digits"}
    one, other = sources
    (tmp_path / f"{one}.pt").write_bytes(files[sources[one]])
    torch.save({"weights": Order()}, tmp_path / f"{other}.pt")
    (tmp_path / "tiny.yaml").write_text(SECOND)
    # Of each architecture: of the source 3 epochs, of probe, tuned and filed 3 shares.
    assert "of which 24 further evaluations" in type_("run", "tiny.yaml", "--dry-run").out
    type_("run", "tiny.yaml")

    runs = {row["run_id"]: row for row in asked(type_, "select * from runs")}
    filed = {row["architecture"]: row for row in runs.values() if row["recipe"] == "filed"}
    assert filed[one]["status"] == "completed"
    assert "no weights that torch reads: " in filed[other]["message"]
    assert not Path("obeyed").exists()
    # Only the sources were trained again.
    changed = {of for of in times if (weights / f"{of}.pt").stat().st_mtime_ns != times[of]}
    assert changed == set(sources.values())
    rows = asked(type_, "select * from evaluations")
    counts = Counter(row["evaluation"] for row in rows)
    shares = dict.fromkeys(("wise@0", "wise@0.5", "wise@1"), 5)
    assert counts == {**shares, "own": 2, "own@1": 2, "own@2": 2}
    curves = asked(type_, "select run_id, epoch, test_top1, test_loss from curves")
    after = {(row["run_id"], row["epoch"]): row for row in curves}
    ended = {(row["architecture"], row["recipe"]): row for row in runs.values()}
    for row in rows:
        run = runs[row["run_id"]]
        if row["interpolate"] is None:
            of_epoch = after[row["run_id"], row["epoch"] or 3]
            assert row["top1"] == pytest.approx(of_epoch["test_top1"])
            assert row["loss"] == pytest.approx(of_epoch["test_loss"], rel=1e-5)
        elif row["interpolate"] == 1:
            assert row["error"] == run["error"]
        elif row["interpolate"] == 0 and run["recipe"] == "tuned":
            assert row["error"] == ended[run["architecture"], "probe"]["error"]
    assert len({(row["run_id"], row["loss"]) for row in rows if row["epoch"] is None}) == 17

    (tmp_path / f"{one}.pt").unlink()
    (tmp_path / f"{other}.pt").unlink()
    monkeypatch.setenv("ANYNET_DATA", "elsewhere")
    assert json.loads(type_("status", "tiny", "--json").out)["missing"] == 0
    assert type_("collect", "tiny").code == 0
    assert not Path("elsewhere").exists()
    (tmp_path / "studies/tiny/weights.json").write_text("[1]")
    assert "weights.json: none that launch writes" in type_("status", "tiny").line


def test_a_file_of_weights_that_cannot_be_read_is_one_line(
    type_: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYNET_DATA", PACKED)
    for name in ("digits", "blobs"):
        load_dataset(name)
    (tmp_path / "tiny.yaml").write_text(TINY.replace("basic: {", "basic: {weights: w.pt, "))
    assert f"{tmp_path}/w.pt: No such file" in type_("run", "tiny.yaml", "--dry-run").line
    os.mkfifo("w.pt")
    for command in ("run", "launch"):
        told = type_(command, "tiny.yaml")
        assert (told.code, f"{tmp_path}/w.pt: no regular file" in told.line) == (2, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("after: probe", "after: probe, weights: x"), "after and weights: a run starts from one"),
        (("[0, 0.5, 1]", "[0, 2]"), "less than or equal to 1"),
        (("[0, 0.5, 1]", "[1, 1]"), "interpolate: each share once"),
        (("[0, 0.5, 1]}", "[1], every: 2}"), "interpolate and every: only final weights"),
        (("epochs: 3", "epochs: 3, patience: 1"), "evaluations.own.every: with patience"),
    ],
)
def test_mistakes_are_one_line(
    type_: Type, tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    (tmp_path / "tiny.yaml").write_text(SECOND.replace(*change))
    told = type_("run", "tiny.yaml", "--dry-run")
    assert told.code == 2
    assert said in told.line


def test_what_starts_nowhere_has_nothing_to_interpolate(type_: Type, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY + "evaluations: {wise: {interpolate: [0, 1]}}\n")
    told = type_("run", "tiny.yaml", "--dry-run")
    assert told.code == 2
    assert "interpolate: no recipe starts from other weights" in told.line
