"""Declaring a space: what a sweep file may say."""

from typing import Any

import pytest

from anynet_study.core.errors import UserError
from anynet_study.design_space import DesignSpace
from anynet_study.design_space.anynet import AnyNet
from anynet_study.design_space.space import SPACES


@pytest.mark.parametrize("name", SPACES)
def test_every_named_space_is_its_own_spec_written_out(name: str) -> None:
    space = DesignSpace.from_spec(name)
    assert DesignSpace.from_spec(space.to_spec()) == space
    assert DesignSpace.from_spec({"base": name}) == space


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
    # A set: in increasing order, however it was written.
    assert isinstance(space.stages, AnyNet)
    assert space.stages.group_widths == (1, 2, 8)
    assert space == DesignSpace.anynetx(
        "cifar", depths=(1, 4), widths=(8, 64), group_widths=(1, 2, 8), stem_width=16
    )
    assert DesignSpace.from_spec(space.to_spec()) == space
    assert space.to_spec()["depths"] == [1, 4]


def test_one_range_for_all_stages_is_the_same_as_equal_ones_for_each() -> None:
    one, each, nested = (
        DesignSpace.from_spec({"depths": depths}) for depths in ([2, 5], [[2, 5]] * 4, [[2, 5]])
    )
    assert one == each == nested


def test_a_space_of_any_number_of_stages_and_kind_of_block() -> None:
    spec = {
        "block": "basic",
        "stem": "simple",
        "strides": [1, 2],
        "depths": [[1, 2], [3, 9]],
        "widths": [[16, 16], [24, 80]],
        "width_distribution": "uniform",
        "non_decreasing": ["widths", "depths", "widths"],
    }
    space = DesignSpace.from_spec(spec)
    assert isinstance(space.stages, AnyNet)
    assert space.stages.depths == ((1, 2), (3, 9))
    assert (space.stages.bottleneck_ratios, space.stages.group_widths) == ((), ())
    assert space.stages.non_decreasing == ("depths", "widths")
    assert DesignSpace.from_spec(space.to_spec()) == space
    assert all(a.block == "basic" and len(a.depths) == 2 for a in space.sample(5))


def test_constraints_of_a_base_can_be_lifted() -> None:
    lifted = DesignSpace.from_spec({"base": "anynetxe", "shared": [], "non_decreasing": []})
    assert lifted == DesignSpace.from_spec("anynetxa")
    assert DesignSpace.from_spec({"base": "regnety", "se_ratio": 0}) == DesignSpace.from_spec(
        "regnetx"
    )


REGNET = {"base": "regnetx"}
MISTAKES: list[tuple[Any, str]] = [
    ("anynet", r"base: 'anynet' is unknown \(did you mean 'anynetx'\?\); legal: anynetx, anyn"),
    (3, "3 is neither a name nor a mapping"),
    ({"base": "regnet"}, r"base: 'regnet' is unknown \(did you mean 'regnet[xy]'\?\)"),
    ({"depth": [1, 4]}, r"key 'depth' is unknown \(did you mean 'depths'\?\); legal: base, dep"),
    # Ranges
    ({"depths": [1, 2, 3]}, r"depths \(lowest, highest\): \[1, 2, 3\] has 3 values, not 2"),
    ({"depths": [4, 1]}, "depths: the lowest, 4, is above the highest, 1"),
    ({"depths": [0, 4]}, "0 is not a whole number from 1 to 128"),
    ({"depths": "1-4"}, r"depths \(lowest, highest\): '1-4' is not a list of 2"),
    ({"depths": [[1, 2], [1, 2]]}, "depths: 2 ranges for 4 stages; give one, or 4"),
    ({"depths": [[1, 2], 3, 4, 5]}, r"depths \(lowest, highest\): 3 is not a list of 2"),
    ({"widths": [8, 100]}, "widths: 100 is not a multiple of width_divisor 8"),
    ({"widths": [[8, 16], [8, 16], [8, 12], [8, 16]]}, "widths: 12 is not a multiple of width_d"),
    ({"width_divisor": 0}, "width_divisor: 0 is not a whole number from 1 to 4,096"),
    # Sets
    ({"bottleneck_ratios": [1, 3]}, "width_divisor: 8 is not a multiple of ratio 3"),
    ({"group_widths": [1, 2, 2]}, r"group_widths: \[1, 2, 2\] names a value twice"),
    # Distributions and constraints
    (
        {"depth_distribution": "normal"},
        "depth_distribution: 'normal' is unknown.*; legal: log_uniform, uniform",
    ),
    (
        {"width_distribution": "loguniform"},
        r"'loguniform' is unknown \(did you mean 'log_uniform'\?\)",
    ),
    ({"shared": "depths"}, "shared: 'depths' is not a list of depths, widths, bottleneck_ratios"),
    ({"shared": ["width"]}, r"shared: 'width' is unknown \(did you mean 'widths'\?\); legal: dep"),
    (
        {"shared": ["depths"], "depths": [[1, 2], [1, 2], [1, 3], [1, 2]]},
        "shared: depths differ in their range from stage to stage",
    ),
    ({"non_decreasing": ["strides"]}, "non_decreasing: 'strides' is unknown"),
    ({"compatible": "again"}, "space: compatible: 'again'"),
    # Skeletons: the rest in test_design_architecture
    ({"stem_width": 8193}, "stem_width: 8193 is not a whole number from 1 to 8,192"),
    ({"se_ratio": float("nan")}, "se_ratio: nan is not a number from 0 to 1"),
    ({"block": "vanilla", "group_widths": [8]}, "group_widths: vanilla blocks have none; leave"),
    # RegNets
    ({**REGNET, "block": "basic"}, "block: RegNets are made of bottleneck blocks, not basic"),
    ({**REGNET, "strides": [2] * 5, "depth": [4, 9]}, "depth: 4 is not a whole number from 5"),
    ({**REGNET, "initial_width": [8, 20]}, "initial_width: 20 is not a multiple of 8"),
    ({**REGNET, "slope": 8}, "slope: 8 is not a list of lowest and highest"),
    ({**REGNET, "slope": [0, 8]}, "slope: 0 is not a number from 0.1 to 8192"),
    ({**REGNET, "slope": [8, 9.25]}, "slope: 9.25 is not a multiple of 0.1"),
    ({**REGNET, "slope": [9, 8]}, "slope: the lowest, 9, is above the highest, 8"),
    ({**REGNET, "width_multiplier": [1.0, 2]}, "width_multiplier: 1.0 is not a number from 1.1"),
    ({**REGNET, "width_multiplier": [1.5, 1.5005]}, "1.5005 is not a multiple of 0.001"),
    ({**REGNET, "quantization": "floor"}, "quantization: 'floor' is unknown; legal: ceil, nearest"),
    (
        {**REGNET, "bottleneck_ratios": [3]},
        "multiples of 8, which is not one of ratio 3",
    ),
    ({**REGNET, "distribution": "log"}, r"distribution: 'log' is unknown.*legal: log_uniform"),
]


@pytest.mark.parametrize(("spec", "complaint"), MISTAKES)
def test_mistakes_are_named_with_what_is_legal(spec: Any, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as refused:
        DesignSpace.from_spec(spec)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("space")
