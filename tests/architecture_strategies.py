"""Random architectures for property tests."""

from hypothesis import strategies as st

from anynet_study.design_space import Architecture


@st.composite
def architectures(draw: st.DrawFn, most_depth: int = 3, most_groups: int = 4) -> Architecture:
    """Any legal architecture with narrow stages; odd widths, ratios and strides included."""

    def four(values: st.SearchStrategy[int]) -> tuple[int, ...]:
        return tuple(draw(st.lists(values, min_size=4, max_size=4)))

    ratios = four(st.sampled_from([1, 2, 3, 4]))
    group_widths = four(st.sampled_from([1, 2, 3, 5, 8]))
    groups = four(st.integers(1, most_groups))
    widths = tuple(b * g * n for b, g, n in zip(ratios, group_widths, groups, strict=True))
    return Architecture(
        depths=four(st.integers(1, most_depth)),
        widths=widths,
        bottleneck_ratios=ratios,
        group_widths=group_widths,
        strides=draw(st.sampled_from([(1, 2, 2, 2), (2, 2, 2, 2), (1, 1, 1, 1), (1, 2, 1, 3)])),
        stem=draw(st.sampled_from(["imagenet", "cifar"])),
        # The first stage's width makes its shortcut the identity where its stride is 1.
        stem_width=draw(st.sampled_from([1, 16, widths[0]])),
    )
