"""`anynet-study power`: the power of a sweep, before anything is trained."""

import json
import re

import pytest
from tiny_study import TINY, Type

from anynet_study import Sweep
from anynet_study.cli.power import plan_of
from anynet_study.engine.sweep import parse_yaml


def test_a_sweep_says_what_its_power_depends_on() -> None:
    content = parse_yaml(TINY)
    plan = plan_of(Sweep.model_validate(content), 20, 0.9)
    assert (plan.n, plan.targets, plan.proxies, plan.level) == (20, 1, 2, 0.9)
    assert (plan.runs, plan.replicates, plan.shifts) == (1, 0, 1)
    sketch = {"test_set": "letters"}
    evaluations = {"a": sketch, "b": sketch, "c": sketch | {"datasets": ["blobs"]}}
    more = Sweep.model_validate(content | {"evaluations": evaluations})
    assert plan_of(more, 20, 0.9).shifts == 2
    for replicates, expected in (
        ({"count": 3}, (3, 40)),
        ({"count": 3, "architectures": 2}, (1, 4)),  # most have one run
        ({"count": 3, "architectures": ["a", "b", "c"]}, (1, 6)),
        ({"count": 3, "datasets": ["digits"]}, (1, 0)),  # the target's noise is not known
    ):
        plan = plan_of(Sweep.model_validate(content | {"replicates": replicates}), 20, 0.95)
        assert (plan.runs, plan.replicates) == expected


@pytest.mark.slow
def test_the_command_prints_shares_of_each_verdict(tmp_path, type_: Type) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    command = ("power", "tiny.yaml", "--architectures", "14,30", "--icc", "0.8", "--studies", 20)
    out = type_(*command, "--json").out
    told = json.loads(out)
    assert "NaN" not in out  # which is no JSON
    assert [(row["question"], row["n"], row["rho"]) for row in told] == [
        (question, n, rho)
        for n in (14, 30)
        for question, rhos in (
            ("carries over", (0, 0.5, 0.7, 0.9)),
            ("is the best", (0.5, 0.7, 0.9)),
            ("is raised", (0.5, 0.7, 0.9)),
        )
        for rho in rhos
    ]
    done = type_(*command)
    assert "Does the ranking carry over to a target (rho at least 0.3)? 1 target" in done.out
    assert f"{100 * told[-1]['undecided']:.0f}%" in done.out.splitlines()[-5]
    assert "Is the best of 2 proxies told to be the best for a target?" in done.out
    assert "of 20 simulated studies or more" in done.out
    assert "not asked: order holds (needs replicates), is robust (needs --images)" in done.out
    done = type_(*command, "replicates.count=2", "--images", "1000,500", "--ahead", 0.6)
    assert "Does a target keep the order of the architectures that are told apart?" in done.out
    assert "Is a model told to be robust (by 1 point)? All models and 1 further test" in done.out
    assert "not asked" not in done.out
    assert not (tmp_path / "studies").exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--icc", "0,1", "--icc: '0,1'; legal: numbers above 0, such as 0.6,0.8"),
        ("--rho", "high", "--rho: 'high'; legal: numbers above -1, such as 0.5,0.7"),
        ("--architectures", "3", "n: 3 architectures; 4 are needed"),
        ("--images", "9", "--images: '9'; legal: two numbers, such as 10000,2000"),
        ("--ahead", "0", "ahead: above 0, at most 1"),
        ("--level", "2", "level: 2.0 is not between 0 and 1"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, type_: Type, option: str, value: str, message: str):
    (tmp_path / "tiny.yaml").write_text(TINY)
    done = type_("power", "tiny.yaml", option, value)
    assert done.code == 2
    assert message in done.line


def test_a_small_study_is_told_beforehand_what_it_can_answer(type_: Type) -> None:
    told = type_("init", "mine", "--datasets", "digits,blobs", "--count", 30)
    (line,) = [it for it in told.out.splitlines() if it.startswith("note: with 30")]
    found = re.search(r"with 30 architectures, (\d+), (\d+) and (\d+) of (\d+) simulated", line)
    assert found, line
    *counts, verdicts = map(int, found.groups())
    asked = (
        "power",
        "sweeps/mine.yaml",
        "replicates.count=1",
        "--icc",
        0.8,
        "--rho",
        "0.5,0.7,0.9",
    )
    table = json.loads(type_(*asked, "--studies", verdicts, "--json").out)
    yes = [row["yes"] for row in table if row["question"] == "carries over"]
    assert [count / verdicts for count in counts] == pytest.approx(yes)  # of one target
    assert counts == sorted(counts)
    assert counts[0] < 0.8 * verdicts
    assert (
        "note: with" not in type_("init", "big", "--datasets", "digits,blobs", "--count", 300).out
    )
