"""Design spaces by name, as the spec that declares each: data, nothing else."""

from typing import Any

#: Simple stem and stride 2 everywhere, as in Radosavovic et al. 2020 ("Designing network design
#: spaces", section 3.2 and Table 1 for AnyNetX, 3.3 for RegNet).
_RADOSAVOVIC = {"stem": "simple", "stem_width": 32, "strides": [2, 2, 2, 2]}
_SHARED_RATIO = {"shared": ["bottleneck_ratios"]}
_SHARED_BOTH = {"shared": ["bottleneck_ratios", "group_widths"]}

#: `family` says which parameters a space has: those of `AnyNet` or of `RegNet`.
SPACES: dict[str, dict[str, Any]] = {
    # Paper 1, section 4.1: the defaults.
    "anynetx": {"family": "anynet"},
    # Its ancestors, one constraint after the other.
    "anynetxa": {"family": "anynet", **_RADOSAVOVIC},
    "anynetxb": {"family": "anynet", **_RADOSAVOVIC, **_SHARED_RATIO},
    "anynetxc": {"family": "anynet", **_RADOSAVOVIC, **_SHARED_BOTH},
    "anynetxd": {
        "family": "anynet",
        **_RADOSAVOVIC,
        **_SHARED_BOTH,
        "non_decreasing": ["widths"],
    },
    "anynetxe": {
        "family": "anynet",
        **_RADOSAVOVIC,
        **_SHARED_BOTH,
        "non_decreasing": ["widths", "depths"],
    },
    "regnetx": {"family": "regnet", **_RADOSAVOVIC},
    "regnety": {"family": "regnet", **_RADOSAVOVIC, "se_ratio": 0.25},
}
