"""How widths and group widths are made to fit together."""

import numpy as np
import plain_sampler
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.design_space import Architecture, DesignSpace
from anynet_study.design_space.anynet import MAX_DRAWN_WIDTH
from anynet_study.design_space.networks import MAX_WIDTH, Networks, Skeleton, compatible

ROWS = st.lists(
    st.tuples(
        st.integers(1, 128).map(lambda n: 8 * n),
        st.sampled_from([1, 2, 4, 8]),
        st.one_of(st.sampled_from([1, 2, 4, 8, 16, 32]), st.integers(1, 100)),
    ),
    min_size=4,
    max_size=4,
)


def make_compatible(rows: list[tuple[int, int, int]]) -> Networks:
    w, b, g = np.array(rows, dtype=np.float64).T[:, :, None]
    return compatible(np.ones_like(w), w, b, g, Skeleton("cifar", 16))


@given(ROWS)
@settings(derandomize=True, deadline=None)
def test_what_is_made_compatible_can_be_built_and_is_near_what_was_drawn(
    rows: list[tuple[int, int, int]],
) -> None:
    networks = make_compatible(rows)
    d, w, b, g = (tuple(stage) for stage in networks.rows().reshape(4, 4).tolist())
    Architecture(d, w, b, g)
    assert b == tuple(ratio for _, ratio, _ in rows)
    for (width, ratio, group_width), built, built_group in zip(rows, w, g, strict=True):
        assert (built, built_group) == plain_sampler.make_compatible(width, ratio, group_width)
        assert built_group == min(group_width, width // ratio)
        assert built // ratio % built_group == 0
        assert abs(built - width) <= built_group * ratio / 2


@pytest.mark.parametrize(
    ("drawn", "built"),
    [
        ((8, 4, 32), (8, 2)),  # the group is as wide as the bottleneck, no wider
        ((24, 1, 16), (32, 16)),  # 1.5 groups: the even number
        ((40, 1, 16), (32, 16)),  # 2.5 groups: the even number
        ((40, 4, 8), (32, 8)),  # a bottleneck of 10 becomes 8, the ratio stays 4
        ((24, 4, 4), (32, 4)),
    ],
)
def test_cases_by_hand(drawn: tuple[int, int, int], built: tuple[int, int]) -> None:
    networks = make_compatible([drawn] * 4)
    assert (networks.widths[0, 0], networks.group_widths[0, 0]) == built


def test_the_paper_s_widths_stay_multiples_of_eight_up_to_1024() -> None:
    space = DesignSpace.anynetx().stages
    grid = np.meshgrid(range(8, 1025, 8), space.bottleneck_ratios, space.group_widths)
    w, b, g = (values.reshape(1, -1).astype(np.float64) for values in grid)
    widths = compatible(np.ones_like(w), w, b, g, Skeleton(strides=(1,))).widths
    assert not (widths % 8).any()
    assert (widths.min(), widths.max()) == (8, 1024)


def test_no_width_is_wider_than_an_architecture_may_be() -> None:
    """All group widths of the widest bottlenecks: the drawn width grows by a third at most."""
    v = float(MAX_DRAWN_WIDTH)
    g = np.arange(1, MAX_DRAWN_WIDTH + 1, dtype=np.float64)[None]
    widths = compatible(
        np.ones_like(g), np.full_like(g, v), np.ones_like(g), g, Skeleton(strides=(1,))
    ).widths
    assert v * 1.3 < widths.max() <= v * 4 / 3 < MAX_WIDTH
