"""Declaring a space: what a sweep file may say."""

from typing import Any

import pytest

from anynet_study.design_space import DesignSpace
from anynet_study.errors import UserError


def test_the_name_alone_is_the_paper_s_space() -> None:
    space = DesignSpace.from_spec("anynetx")
    assert space == DesignSpace() == DesignSpace.anynetx() == DesignSpace.from_spec({})
    assert (space.depths, space.widths, space.width_divisor) == ((1, 16), (8, 1024), 8)
    assert space.bottleneck_ratios == (1, 2, 4)
    assert space.group_widths == (1, 2, 4, 8, 16, 32)
    assert (space.stem, space.strides) == ("imagenet", (1, 2, 2, 2))


def test_a_mapping_changes_it_and_round_trips() -> None:
    spec = {
        "base": "anynetx",
        "depths": [1, 4],
        "widths": [8, 64],
        "group_widths": [8, 1, 2],
        "stem": "cifar",
        "stem_width": 16,
    }
    space = DesignSpace.from_spec(spec)
    assert space.group_widths == (1, 2, 8)  # a set: in increasing order, however it was written
    assert space == DesignSpace.anynetx(
        "cifar", depths=(1, 4), widths=(8, 64), group_widths=(1, 2, 8), stem_width=16
    )
    assert DesignSpace.from_spec(space.to_spec()) == space


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("anynet", r"base: 'anynet' is unknown \(did you mean 'anynetx'\?\); legal: anynetx"),
        (3, "3 is neither a name nor a mapping"),
        ({"base": "regnet"}, "base: 'regnet' is unknown"),
        (
            {"depth": [1, 4]},
            r"key 'depth' is unknown \(did you mean 'depths'\?\); legal: base, dep",
        ),
        ({"depths": [1, 2, 3]}, r"depths \(lowest, highest\): \[1, 2, 3\] has 3 values, not 2"),
        ({"depths": [4, 1]}, "depths: the lowest, 4, is above the highest, 1"),
        ({"depths": [0, 4]}, "0 is not a whole number from 1 to 128"),
        ({"widths": [8, 100]}, "widths: 100 is not a multiple of width_divisor 8"),
        ({"widths": [8, 8192]}, "8192 is not a whole number from 1 to 4,096"),
        ({"bottleneck_ratios": [1, 3]}, "width_divisor: 8 is not a multiple of ratio 3"),
        ({"bottleneck_ratios": []}, r"\[\] is not a list of one or more whole numbers"),
        ({"group_widths": [1, 2, 2]}, r"group_widths: \[1, 2, 2\] names a value twice"),
        ({"stem": "cifar10"}, r"stem: 'cifar10' is unknown \(did you mean 'cifar'\?\)"),
        ({"strides": [1, 2]}, r"strides: \[1, 2\] has 2 values, not 4"),
    ],
)
def test_mistakes_are_named_with_what_is_legal(spec: Any, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as refused:
        DesignSpace.from_spec(spec)
    assert "\n" not in str(refused.value)
