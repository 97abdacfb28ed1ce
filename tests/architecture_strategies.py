"""Random architectures for property tests."""

from hypothesis import strategies as st

from anynet_study.design_space import Architecture

BLOCKS = ("bottleneck", "basic", "vanilla")


@st.composite
def architectures(
    draw: st.DrawFn,
    most_depth: int = 3,
    most_groups: int = 4,
    most_stages: int = 8,
    blocks: tuple[str, ...] = BLOCKS,
) -> Architecture:
    """Any legal architecture with narrow stages; odd widths, ratios and strides included."""
    strides = draw(_strides(most_stages))
    stages = len(strides)

    def each(values: st.SearchStrategy[int]) -> tuple[int, ...]:
        return tuple(draw(st.lists(values, min_size=stages, max_size=stages)))

    block = draw(st.sampled_from(blocks))
    ratios, group_widths, groups = (
        (1,) * stages,
        each(st.sampled_from([1, 2, 3, 5, 8])),
        each(st.integers(1, most_groups)),
    )
    se_ratio = 0.0
    if block == "bottleneck":
        ratios = each(st.sampled_from([1, 2, 3, 4]))
        se_ratio = draw(st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.5, 1.0]))
    widths = tuple(b * g * n for b, g, n in zip(ratios, group_widths, groups, strict=True))
    return Architecture(
        depths=each(st.integers(1, most_depth)),
        widths=widths,
        bottleneck_ratios=ratios,
        group_widths=group_widths if block == "bottleneck" else widths,
        strides=strides,
        stem=draw(st.sampled_from(["imagenet", "simple", "cifar"])),
        # The first stage's width makes its shortcut the identity where its stride is 1.
        stem_width=draw(st.sampled_from([1, 16, widths[0]])),
        block=block,
        se_ratio=se_ratio,
    )


def _strides(most_stages: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Four stages as often as all other numbers of them, as real spaces have."""
    usual = st.sampled_from([(1, 2, 2, 2), (2, 2, 2, 2), (1, 1, 1, 1), (1, 2, 1, 3)])
    any_number = st.lists(st.integers(1, 3), min_size=1, max_size=most_stages).map(tuple)
    return (usual | any_number) if most_stages >= 4 else any_number
