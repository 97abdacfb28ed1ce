"""What a space contains: all that it draws, and nothing that it cannot draw."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.design_space import Architecture, DesignSpace, reference
from anynet_study.design_space.space import SPACES

SMALL_REGNET = {"depth": [4, 12], "initial_width": [8, 48], "slope": [8, 16]}
VARIED: list[dict[str, Any]] = [
    *({"base": name} for name in SPACES if name.startswith("anynet")),
    {"block": "basic", "stem": "cifar", "strides": [1, 2], "depths": [[1, 2], [2, 9]]},
    {"block": "vanilla", "shared": ["widths"], "non_decreasing": ["depths"]},
    {"shared": ["widths", "group_widths"], "widths": [8, 96]},
    {"base": "regnetx", **SMALL_REGNET},
    {"base": "regnety", **SMALL_REGNET},
]


@pytest.mark.parametrize("spec", VARIED, ids=str)
def test_a_space_contains_what_it_draws(spec: dict[str, Any]) -> None:
    space = DesignSpace.from_spec(spec)
    words = np.random.Philox(key=7).random_raw(space.words * 3000).reshape(space.words, -1) >> 32
    networks, legal = space.draw(words.astype(np.int64))
    places = np.arange(3000) if legal is None else np.flatnonzero(legal)
    assert len(places) > 3
    for row in networks.select(places[:20]).rows().reshape(-1, 4, space.skeleton.stages).tolist():
        drawn = Architecture(*map(tuple, row), **vars(space.skeleton))
        assert space.contains(drawn)


TINY = {
    "strides": [1, 2],
    "stem": "cifar",
    "depths": [1, 2],
    "widths": [8, 24],
    "bottleneck_ratios": [1, 2],
    "group_widths": [2, 6, 8],
}
DRAWN = ("widths", "bottleneck_ratios", "group_widths")
CONSTRAINTS = [
    {},
    {"shared": ["bottleneck_ratios"]},
    {"shared": ["group_widths"]},
    {"shared": ["widths", "group_widths"]},
    {"shared": ["depths"], "non_decreasing": ["widths"]},
]


def all_drawn(space: DesignSpace) -> set[tuple[tuple[int, ...], ...]]:
    """Widths, ratios and group widths of all networks of depth 1, by drawing in plain loops."""
    stage = list(itertools.product((8, 16, 24), (1, 2), (2, 6, 8)))
    found = set()
    for both in itertools.product(stage, repeat=2):
        columns = dict(zip(DRAWN, zip(*both, strict=True), strict=True))
        if any(len(set(columns.get(name, ()))) > 1 for name in space.stages.shared):
            continue
        realised = []
        for w, b, g in both:
            group = min(g, w // b)
            realised.append((max(group, round(w / b / group) * group) * b, b, group))
        widths = [w for w, _, _ in realised]
        if "widths" not in space.stages.non_decreasing or widths == sorted(widths):
            found.add(tuple(zip(*realised, strict=True)))
    return found


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=str)
def test_a_space_contains_nothing_else(constraints: dict[str, Any]) -> None:
    space = DesignSpace.from_spec({**TINY, **constraints})
    drawn = all_drawn(space)
    candidates = itertools.product(range(2, 31), (1, 2), (1, 2, 4, 6, 8, 12))
    stages = [(w, b, g) for w, b, g in candidates if w % b == 0 and w // b % g == 0]
    chosen = np.random.Generator(np.random.Philox(key=1)).integers(len(stages), size=(1500, 2))
    kinds = [tuple(zip(stages[i], stages[j], strict=True)) for i, j in chosen.tolist()]
    for kind in {*kinds, *drawn}:
        architecture = Architecture((1, 1), *kind, (1, 2), "cifar")
        assert space.contains(architecture) == (kind in drawn), kind


@given(
    st.sampled_from(["depths", "stem", "stem_width", "strides", "block", "se_ratio", "widths"]),
)
@settings(derandomize=True, deadline=None)
def test_what_leaves_the_frame_or_the_ranges_is_not_contained(changed: str) -> None:
    inside = {"depths": (1, 16, 2, 3), "widths": (8, 16, 1024, 8), "group_widths": (1, 2, 4, 8)}
    other: dict[str, Any] = {
        "depths": (1, 17, 2, 3),
        "widths": (8, 16, 1032, 8),
        "stem": "simple",
        "stem_width": 24,
        "strides": (2, 2, 2, 2),
        "block": "basic",
        "se_ratio": 0.5,
    }
    space = DesignSpace.anynetx()
    assert space.contains(Architecture(**inside))
    values = {**inside, changed: other[changed]}
    if changed == "block":
        del values["group_widths"]
    assert not space.contains(Architecture(**values))


def test_reference_networks_are_members() -> None:
    wide = {"stem_width": 64, "depths": [1, 36], "widths": [8, 2048]}
    assert DesignSpace.anynetx(**wide, block="basic").contains(reference("resnet34"))
    assert not DesignSpace.anynetx(**wide).contains(reference("resnet50"))
    whole = DesignSpace.anynetx(**wide, group_widths=[1, 2, 4, 8, 16, 32, 1024])
    for name in ("resnet50", "resnet152", "resnext50_32x4d", "wide_resnet101_2"):
        assert whole.contains(reference(name))
    cifar = {"stem": "cifar", "stem_width": 16, "strides": [1, 2, 2], "block": "vanilla"}
    assert DesignSpace.from_spec(cifar).contains(reference("plain56"))


@pytest.mark.parametrize("name", ["regnetx_200mf", "regnetx_4.0gf", "regnety_1.6gf"])
def test_published_regnets_are_members(name: str) -> None:
    group_width = reference(name).group_widths[-1]
    base = name.split("_")[0]
    assert DesignSpace.from_spec({"base": base, "group_widths": [group_width]}).contains(
        reference(name)
    )
    assert not DesignSpace.from_spec({"base": base, "group_widths": [1]}).contains(reference(name))
