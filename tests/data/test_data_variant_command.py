"""`data info --variant`: what a view holds, for people and programs."""

import json

import pytest
from typer.testing import CliRunner

from anynet_study.cli.data import data_app, parse_variant
from anynet_study.data import Variant, load_dataset, make_view
from anynet_study.errors import UserError

RUNNER = CliRunner()


def info(*arguments: str) -> str:
    result = RUNNER.invoke(data_app, ["info", "digits", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_classes_and_counts_are_those_of_the_view(data_home):
    said = json.loads(info("--variant", "classes=5,class_seed=1,fraction=0.5", "--json"))
    view = make_view(
        load_dataset("digits"), Variant(base="digits", classes=5, class_seed=1, fraction=0.5)
    )
    assert [row["class"] for row in said["classes"]] == list(view.classes)
    assert sum(row["train"] for row in said["classes"]) == said["train_images"]
    assert said["train_images"] == len(view.train_index)
    assert said["identity"] == view.identity
    assert said["variant"] == {"base": "digits", "classes": 5, "class_seed": 1, "fraction": 0.5}


def test_groups_are_shown_with_their_members_and_noise_with_its_count(data_home):
    shown = info("--variant", "groups={low: [2, 0], high: [8, 9]},label_noise=0.5")
    assert "variant of digits: 2 classes, " in shown
    assert "labels changed on purpose: " in shown
    (low,) = (line for line in shown.splitlines() if line.strip().startswith("low"))
    assert "0, 2" in low
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("classes=5", {"classes": 5}),
        ("fraction=1/8,label_noise=1/5", {"fraction": 0.125, "label_noise": 0.2}),
        ("classes=[0, 7] , balanced=true", {"classes": ("0", "7"), "balanced": True}),
        (
            "groups={a: [0], b: [1, 2]},per_class=3",
            {"groups": {"a": ["0"], "b": ["1", "2"]}, "per_class": 3},
        ),
    ],
)
def test_values_are_those_of_a_sweep(text, fields):
    assert parse_variant("digits", text) == Variant(base="digits", **fields)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("clases=5", "unknown key `clases`; did you mean `classes`"),
        ("classes", "write it as key.path=value"),
        ("groups={a: [0]}", "legal: superclasses, or 2 groups or more .*such as"),
        ("base=blobs", "`base`: that is digits here"),
        ("classes=1", "greater than or equal to 2"),
        ("", "write it as key.path=value"),
        ("classes=[0", "not valid YAML"),
    ],
)
def test_what_cannot_be_read_is_one_line(text, reason):
    with pytest.raises(UserError, match=reason) as caught:
        parse_variant("digits", text)
    assert str(caught.value).startswith("--variant: ")
    assert "\n" not in str(caught.value)
