"""Architectures: identity, and what is refused."""

import json
from typing import Any

import numpy as np
import pytest
from architecture_strategies import architectures
from hypothesis import given, settings

from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture

SMALL = Architecture((1, 2, 1, 1), (8, 16, 32, 64), (1, 2, 4, 4), (8, 4, 2, 1), stem="cifar")


@given(architectures(), architectures())
@settings(derandomize=True, deadline=None)
def test_the_id_tells_networks_apart_and_survives_json(a: Architecture, b: Architecture) -> None:
    again = Architecture.from_dict(json.loads(json.dumps(a.to_dict())))
    assert again == a
    assert again.id == a.id
    assert (a == b) == (a.id == b.id)


def test_fields_that_came_later_are_written_only_where_they_are_not_the_default() -> None:
    """So that no id, and no run, changes its name."""
    values = SMALL.to_dict()
    assert set(values) == {
        *("depths", "widths", "bottleneck_ratios", "group_widths"),
        *("strides", "stem", "stem_width"),
    }
    squeezed = Architecture.from_dict({**values, "se_ratio": 0.25})
    assert squeezed.to_dict() == {**values, "se_ratio": 0.25}
    wide = (8, 16, 32, 64)
    basic = Architecture((1, 2, 1, 1), wide, stem="cifar", block="basic")
    assert basic.to_dict()["block"] == "basic"
    whole = Architecture((1, 2, 1, 1), wide, stem="cifar")
    assert len({SMALL.id, squeezed.id, basic.id, whole.id}) == 4
    assert Architecture.from_dict({**values, "block": "bottleneck", "se_ratio": 0}).id == SMALL.id


@pytest.mark.parametrize("left_out", [None, (), []])
def test_one_group_and_no_bottleneck_where_they_are_left_out(left_out: Any) -> None:
    a = Architecture((1, 2), (8, 16), left_out, left_out, (1, 2))
    assert (a.bottleneck_ratios, a.group_widths) == ((1, 1), (8, 16))
    assert a == Architecture((1, 2), (8, 16), (1, 1), (8, 16), (1, 2))
    halved = Architecture((1, 2), (8, 16), (2, 4), left_out, (1, 2))
    assert halved.group_widths == halved.bottleneck_widths == (4, 4)
    assert halved.groups == (1, 1)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"depths": [1, 2, 0, 1]}, "depths: 0 is not a whole number from 1 to 128"),
        ({"depths": [1, 2, 1]}, r"depths: \[1, 2, 1\] has 3 values, not 4"),
        ({"depths": 3}, "depths: 3 is not a list of 4 whole numbers"),
        ({"widths": [8, 16, 30, 64]}, "stage 3: width 30 is not divisible by bottleneck ratio 4"),
        ({"group_widths": [8, 3, 2, 1]}, r"stage 2: bottleneck width 8 .* by group width 3"),
        ({"bottleneck_ratios": 0}, "bottleneck_ratios: 0 is not a list of 4"),
        ({"bottleneck_ratios": np.ones(4, int)}, "bottleneck_ratios: array.* is not a list of 4"),
        ({"group_widths": ""}, "group_widths: '' is not a list of 4"),
        ({"group_widths": [8, 4, 2]}, r"group_widths: \[8, 4, 2\] has 3 values, not 4"),
        ({"strides": [1] * 9}, "strides: 9 stages .* are more than 8"),
        ({"strides": [1, 2, 0, 2]}, "strides: 0 is not a whole number from 1 to 2,048"),
        ({"block": "plain"}, "block: 'plain' is unknown.*; legal: bottleneck, basic, vanilla"),
        ({"block": "basic"}, "stage 2: basic blocks have neither bottleneck nor groups"),
        ({"se_ratio": -0.25}, "se_ratio: -0.25 is not a number from 0 to 1"),
        ({"se_ratio": 0.25, "block": "basic"}, "se_ratio: squeeze-and-excitation is for bott"),
        ({"stem": "imagnet"}, r"'imagnet' is unknown \(did you mean 'imagenet'\?\); legal: imag"),
        ({"stem_width": 0}, "stem_width: 0 is not"),
        ({"width": [8]}, r"key 'width' is unknown \(did you mean 'widths'\?\); legal: depths"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(
    change: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint) as refused:
        Architecture.from_dict({**SMALL.to_dict(), **change})
    assert "\n" not in str(refused.value)


def test_missing_keys_and_other_values_are_refused() -> None:
    with pytest.raises(UserError, match="missing depths, widths"):
        Architecture.from_dict({"bottleneck_ratios": [1] * 4})
    with pytest.raises(UserError, match="missing widths"):
        Architecture.from_dict({"depths": [1] * 4})
    with pytest.raises(UserError, match="None is not a mapping"):
        Architecture.from_dict(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("resolution", "classes"), [(0, 10), (4097, 10), (32, 0), (32.0, 10)])
def test_impossible_images_and_class_counts_are_refused(resolution: int, classes: int) -> None:
    with pytest.raises(UserError, match="is not a whole number from 1"):
        SMALL.flops(resolution, classes)
