"""A study that chooses by validation images: priced, run, queried; and what is refused."""

import json
from pathlib import Path

import pytest
from tiny_study import TINY, Type

SWEEP = (
    TINY.replace("  digits: {per_class: 20}", "  digits: {per_class: 20, validation: 1/4}")
    .replace(
        "recipes: {basic: {epochs: 1,",
        """evaluations: {validation: {part: validation}}
recipes:
  basic: {datasets: [digits-2, blobs], epochs: 1, batch_size: 16, crop: none, flip: false}
  chosen: {datasets: [digits], epochs: 4, select: best, patience: 1,""",
    )
    .replace("flip: false}}", "flip: false}")
)


@pytest.mark.slow
def test_from_price_to_query(type_: Type, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(SWEEP)
    priced = type_("run", "tiny.yaml", "--dry-run")
    assert "12 runs" in priced.out
    assert type_("run", "tiny.yaml").code == 0
    asked = "select run_id, evaluation, top1, images from evaluations"
    rows = json.loads(type_("query", "tiny", "--sql", asked, "--json").out)
    assert len(rows) == 4
    assert {row["evaluation"] for row in rows} == {"validation"}
    asked = "select message from runs where recipe = 'chosen'"
    for row in json.loads(type_("query", "tiny", "--sql", asked, "--json").out):
        assert row["message"].startswith("lowest validation error after epoch ")


@pytest.mark.parametrize("verb", [["run"], ["run", "--dry-run"]])
def test_what_needs_validation_images_says_so(type_: Type, tmp_path: Path, verb: list[str]) -> None:
    without = SWEEP.replace("evaluations: {validation: {part: validation}}", "")
    (tmp_path / "tiny.yaml").write_text(without.replace(", validation: 1/4", ""))
    told = type_(*verb, "tiny.yaml")
    assert told.code == 2
    assert "dataset digits: select: best: there are no validation images" in told.err
