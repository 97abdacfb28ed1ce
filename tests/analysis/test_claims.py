"""A sentence is as sure as its evidence, or it is not said; and each kind has been measured."""

import math
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from anynet_study.analysis.analyses import ANALYSES
from anynet_study.analysis.claims import (
    BestSet,
    Claim,
    CorrectedP,
    Evidence,
    Fact,
    Interval,
    Kind,
    sentences,
    sources,
)
from anynet_study.analysis.worlds import said_of

sys.path.insert(0, str(Path(__file__).parents[2]))
measuring = import_module("benchmarks.sentences")
sys.path.pop(0)
NAN = math.nan
ALL = sources("architectures", "images", "trainings", "targets", "choice")
HOLDS = Kind(
    name="holds",
    speaks=sources("architectures", "images"),
    smallest=0.3,
    subject="the ranking on {about}",
    what="targets",
    words={
        "yes": "{subject} holds on {names}",
        "opposite": "{subject} is reversed on {names}",
        "no": "{subject} does not hold on {any_of}",
        "undecided": "it is undecided whether {subject} holds on {any_of}",
    },
)


def claim(name: str, evidence: Evidence, kind: Kind = HOLDS, **more: Any) -> Claim:
    return Claim(kind, name, evidence, about="x", **more)


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        (Interval(0.3, 0.9, ALL), "yes"),
        (Interval(0.29, 0.9, ALL), "undecided"),
        (Interval(-0.29, 0.29, ALL), "no"),
        (Interval(-0.9, 0.29, ALL), "no"),
        (Interval(-0.9, -0.3, ALL), "opposite"),
        (Interval(NAN, NAN, ALL), "unknown"),
        (CorrectedP(0.05, 0.2, ALL), "yes"),
        (CorrectedP(0.05, -0.2, ALL), "opposite"),
        (CorrectedP(0.051, 0.2, ALL), "undecided"),
        (CorrectedP(NAN, 0.2, ALL), "unknown"),
        (BestSet(("a",), 3, ALL), "yes"),
        (BestSet(("a", "b"), 3, ALL), "undecided"),
        (BestSet(("a",), 1, ALL), "unknown"),
    ],
)
def test_the_evidence_answers(evidence: Evidence, answer: str) -> None:
    assert claim("t", evidence).answer == answer


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (0.81, "a number alone"),
        (Interval(0.4, 0.9, sources("architectures")), "does not carry the error of images"),
        (Interval(0.4, 0.9, ALL, together=6), "of 7 questions, the evidence holds together for 6"),
        (CorrectedP(0.01, 1.0, ALL), "of 7 questions, the evidence holds together for 1"),
    ],
)
def test_what_is_surer_than_its_evidence_is_no_claim(evidence: Any, reason: str) -> None:
    with pytest.raises((TypeError, ValueError), match=reason):
        claim("t", evidence, asked=7)


@pytest.mark.parametrize("word", ["most accurate", "at least 3", "the hardest class", "the best"])
def test_an_extreme_among_several_needs_an_allowance_for_the_choice(word: str) -> None:
    with pytest.raises(ValueError, match="one that was chosen"):
        Kind(name="extreme", speaks=sources("images"), words={"yes": f"{word} on {{names}}"})
    Kind(name="extreme", speaks=sources("images", "choice"), words={"yes": f"{word}"})
    Kind(name="none", speaks=sources("images"), words={"yes": "closest in count; most of them"})


def test_a_source_of_error_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="legal"):
        Kind(name="odd", speaks=frozenset({"weather"}), words={})  # type: ignore[arg-type]


def test_an_estimate_is_no_fact() -> None:
    assert str(Fact("{runs} runs of {name}", {"runs": 2_000, "name": "x"})) == "2,000 runs of x"
    with pytest.raises(TypeError, match=r"error: 0.5 is an estimate"):
        Fact("{error}", {"error": 0.5})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="is an estimate"):
        claim("t", Interval(0.4, 0.9, ALL), told={"share": 0.5})


def test_claims_with_one_answer_share_a_sentence() -> None:
    ends = {"a": (0.4, 0.9), "b": (0.3, 0.4), "c": (-0.9, -0.4), "d": (0.0, 0.5)}
    said = [claim(name, Interval(*it, ALL, 4), asked=4) for name, it in ends.items()]
    assert sentences(said, [HOLDS]) == [
        "The ranking on x holds on a and b. It is reversed on c. It is undecided whether it holds "
        "on d."
    ]
    assert sentences(said[:2], [HOLDS]) == ["The ranking on x holds on both targets."]
    undecided = [claim(name, Interval(0, 0.2, ALL)) for name in "abc"]
    assert sentences(undecided, [HOLDS]) == [
        "The ranking on x does not hold on any of the 3 targets."
    ]
    many = [claim(f"t{number}", Interval(0.4, 0.9, ALL)) for number in range(8)]
    assert sentences([*many, *said[3:]], [HOLDS])[0].startswith(
        "The ranking on x holds on 8 of 9 targets."
    )


def test_numbers_and_names_of_a_claim_are_its_own_sentence() -> None:
    words = {"estimate": "{about} has {interval} on {names}, of {count} runs"}
    size = Kind(name="size", speaks=sources("images"), smallest=None, words=words)
    said = [
        Claim(size, name, Interval(0.2, 0.4, ALL, 2, 0.3), "x", 2, {"count": 1_500})
        for name in "ab"
    ]
    assert sentences(said, [size]) == [
        "X has 0.30 [0.20, 0.40] on a, of 1,500 runs.",
        "X has 0.30 [0.20, 0.40] on b, of 1,500 runs.",
    ]
    unknown = Claim(size, "a", Interval(NAN, NAN, ALL))
    assert (unknown.answer, sentences([unknown], [size])) == ("unknown", [])


def test_what_no_world_measures_is_not_said() -> None:
    with pytest.raises(ValueError, match="holds: no world measures how often it is wrong"):
        sentences([claim("t", Interval(0.4, 0.9, ALL))], [])


SAID = [(name, kind) for name, analysis in ANALYSES.items() for kind in analysis.says]


@pytest.mark.parametrize(("name", "kind"), SAID, ids=lambda it: getattr(it, "name", it))
def test_every_kind_of_sentence_has_worlds(name: str, kind: Kind) -> None:
    worlds = ANALYSES[name].says[kind]
    assert {"threshold"} <= {world.role for world in worlds}
    assert "false" in {world.role for world in worlds} or kind.smallest is None
    world = worlds[-1]
    told = said_of(ANALYSES, name, kind, world, world.over[0], 0)
    assert told.claims  # it measures this kind


def test_an_analysis_that_speaks_says_what_it_says() -> None:
    for name, analysis in ANALYSES.items():
        assert analysis.say or not analysis.says, name
    assert [name for name, it in ANALYSES.items() if it.say and not it.says] == ["tuning"]  # facts


def test_the_committed_table_has_every_world_there_is_and_no_row_is_outside() -> None:
    table, known = measuring.read_table(), {tuple(row.keys.values()) for row in measuring.rows()}
    there = set(table[measuring.KEYS].itertuples(index=False, name=None))
    assert there == known, "python -m benchmarks.sentences --missing"
    assert table[[measuring.outside(row) for _, row in table.iterrows()]].empty
