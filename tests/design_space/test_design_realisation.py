"""How widths and group widths are made to fit together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.design_space import Architecture, DesignSpace
from anynet_study.design_space.networks import Networks, one_network

ROWS = st.lists(
    st.tuples(
        st.integers(1, 128).map(lambda n: 8 * n),
        st.sampled_from([1, 2, 4, 8]),
        st.one_of(st.sampled_from([1, 2, 4, 8, 16, 32]), st.integers(1, 100)),
    ),
    min_size=4,
    max_size=4,
)


def realise(rows: list[tuple[int, int, int]]) -> Networks:
    w, b, g = zip(*rows, strict=True)
    return one_network([(1, 1, 1, 1), w, b, g], "cifar", 16, (1, 2, 2, 2)).realised()


@given(ROWS)
@settings(derandomize=True, deadline=None)
def test_what_is_realised_can_be_built_and_is_near_what_was_drawn(
    rows: list[tuple[int, int, int]],
) -> None:
    networks = realise(rows)
    d, w, b, g = (tuple(stage) for stage in networks.rows().reshape(4, 4).tolist())
    Architecture(d, w, b, g)
    assert b == tuple(ratio for _, ratio, _ in rows)
    for (width, ratio, group_width), realised, realised_group in zip(rows, w, g, strict=True):
        assert realised_group == min(group_width, width // ratio)
        assert realised // ratio % realised_group == 0
        assert abs(realised - width) <= realised_group * ratio / 2


@given(ROWS)
@settings(derandomize=True, deadline=None)
def test_realising_again_changes_nothing(rows: list[tuple[int, int, int]]) -> None:
    once = realise(rows)
    assert np.array_equal(once.realised().rows(), once.rows())


@pytest.mark.parametrize(
    ("drawn", "realised"),
    [
        ((8, 4, 32), (8, 2)),  # the group is as wide as the bottleneck, no wider
        ((24, 1, 16), (32, 16)),  # 1.5 groups: the even number
        ((40, 1, 16), (32, 16)),  # 2.5 groups: the even number
        ((40, 4, 8), (32, 8)),  # a bottleneck of 10 becomes 8, the ratio stays 4
        ((24, 4, 4), (32, 4)),
    ],
)
def test_cases_by_hand(drawn: tuple[int, int, int], realised: tuple[int, int]) -> None:
    networks = realise([drawn] * 4)
    assert (networks.widths[0, 0], networks.group_widths[0, 0]) == realised


def test_the_paper_s_widths_stay_multiples_of_eight_up_to_1024() -> None:
    space = DesignSpace.anynetx()
    grid = np.array(np.meshgrid(range(8, 1025, 8), [1, 2, 4], space.group_widths)).reshape(3, -1)
    w, b, g = (np.repeat(values[:, None], 4, axis=1) for values in grid)
    widths = Networks(np.ones_like(w), w, b, g, "cifar", 16, (1, 2, 2, 2)).realised().widths
    assert not (widths % 8).any()
    assert (widths.min(), widths.max()) == (8, 1024)
