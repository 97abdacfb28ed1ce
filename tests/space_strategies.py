"""Random declarations of design spaces for property tests: legal ones, and ones with mistakes."""

from typing import Any

from hypothesis import strategies as st

PARAMETERS = ["depths", "widths", "bottleneck_ratios", "group_widths"]
KINDS = st.sampled_from(["log_uniform", "uniform"])
RULES = st.sampled_from(["ceil", "nearest"])


@st.composite
def frames(draw: st.DrawFn, blocks: tuple[str, ...]) -> dict[str, Any]:
    """The keys that describe what all networks of a space share."""
    block = draw(st.sampled_from(blocks))
    frame = {
        "stem": draw(st.sampled_from(["imagenet", "simple", "cifar"])),
        "stem_width": draw(st.integers(1, 40)),
        "strides": draw(st.lists(st.integers(1, 3), min_size=1, max_size=8)),
        "block": block,
    }
    if block == "bottleneck":
        frame["se_ratio"] = draw(st.sampled_from([0, 0, 0.1, 0.25, 1]))
    return frame


@st.composite
def anynets(draw: st.DrawFn) -> dict[str, Any]:
    """A legal space of the family anynet."""
    spec = draw(frames(("bottleneck", "basic", "vanilla")))
    stages = len(spec["strides"])
    spec["base"] = draw(st.sampled_from(["anynetx", "anynetxa"]))
    ratios = draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=3, unique=True))
    divisor = spec["width_divisor"] = 24 * draw(st.integers(1, 3))
    spec["shared"] = draw(st.lists(st.sampled_from(PARAMETERS), max_size=3))
    for name, step, most in (("depths", 1, 12), ("widths", divisor, 9)):
        count = stages if draw(st.booleans()) and name not in spec["shared"] else 1
        lows = draw(st.lists(st.integers(1, most), min_size=count, max_size=count))
        more = draw(st.lists(st.integers(0, most), min_size=count, max_size=count))
        ranges = [[step * low, step * (low + m)] for low, m in zip(lows, more, strict=True)]
        spec[name] = ranges if count > 1 else ranges[0]
    if spec["block"] == "bottleneck":
        spec["bottleneck_ratios"] = ratios
        groups = st.lists(st.integers(1, 70), min_size=1, max_size=4, unique=True)
        spec["group_widths"] = draw(groups)
        spec["compatible"] = draw(st.sampled_from(["adjust", "redraw"]))
    spec["depth_distribution"], spec["width_distribution"] = draw(KINDS), draw(KINDS)
    spec["quantization"] = draw(RULES)
    spec["non_decreasing"] = draw(st.lists(st.sampled_from(PARAMETERS), max_size=2))
    return spec


@st.composite
def regnets(draw: st.DrawFn) -> dict[str, Any]:
    """A legal space of the family regnet."""
    spec = draw(frames(("bottleneck",)))
    stages = len(spec["strides"])
    low, more = draw(st.integers(stages, 40)), draw(st.integers(0, 40))
    w0, wider = draw(st.integers(1, 16)), draw(st.integers(0, 16))
    wa, steeper = draw(st.integers(1, 900)), draw(st.integers(0, 900))
    wm, larger = draw(st.integers(110, 350)), draw(st.integers(0, 50))
    return {
        **spec,
        "base": draw(st.sampled_from(["regnetx", "regnety"])),
        "depth": [low, low + more],
        "initial_width": [8 * w0, 8 * (w0 + wider)],
        "slope": [wa / 10, (wa + steeper) / 10],
        "width_multiplier": [wm / 100, (wm + larger) / 100],
        "bottleneck_ratios": draw(st.sampled_from([[1], [1, 2, 4], [8]])),
        "group_widths": draw(st.sampled_from([[1, 2, 4, 8, 16, 32], [5], [3, 48]])),
        "distribution": draw(KINDS),
        "depth_distribution": draw(KINDS),
        "quantization": draw(RULES),
    }


def legal_specs() -> st.SearchStrategy[dict[str, Any]]:
    """A legal space of any family, though perhaps with constraints that nothing obeys."""
    return anynets() | regnets()


NONSENSE: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(-1, 20), max_size=4),
    st.lists(st.lists(st.integers(0, 20), max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from([*PARAMETERS, "bottleneck", "cifar", "anynetx", [None], [[]], [["widths"]]]),
)


@st.composite
def any_specs(draw: st.DrawFn) -> Any:
    """A space of which some keys have other values, legal or not; or something else."""
    spec = dict(draw(legal_specs()))
    keys = st.sampled_from([*spec, "se_ratio", "depth", "shared", "unknown"])
    for key in draw(st.lists(keys, min_size=1, max_size=2)):
        spec[key] = draw(NONSENSE)
    return draw(st.sampled_from([spec, spec, spec, draw(NONSENSE)]))
