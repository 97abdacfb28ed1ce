"""What the report says of how a population was drawn."""

import json

from anynet_study.report.summary import describe_sampling

SPACE = {
    "base": "anynetx",
    "depths": [[1, 4], [1, 16], [1, 8]],
    "widths": [8, 1024],
    "bottleneck_ratios": [1, 2],
    "shared": [],
    "block": "bottleneck",
    "se_ratio": 0.25,
}
DRAWN = {
    "flops": [360_000_000, 400_000_000],
    "parameters": [1_000_000, 2_500_000],
    "resolution": 224,
    "classes": 1000,
    "seed": 7,
    "candidates": 1000,
    "in_space": 800,
    "in_band": 20,
    "duplicates": 2,
    "acceptance": 0.025,
    "acceptance_interval": [0.016, 0.038],
    "strata": {"of": "depth", "edges": [10.0, 20.0]},
    "derived": [{"step": "filter", "condition": "d1 > 2", "left": 12}],
}


def test_spaces_bands_strata_and_steps() -> None:
    facts = describe_sampling(json.dumps({"space": SPACE, **DRAWN}))
    assert facts["depths"] == "1 to 4; 1 to 16; 1 to 8"
    assert (facts["widths"], facts["bottleneck ratios"]) == ("8 to 1024", "1, 2")
    assert facts["band"] == "360 to 400 million multiply-adds and 1 to 2.5 million parameters"
    assert facts["acceptance"].startswith("20 of 800 candidates lay in the band: 2.50%")
    assert facts["strata"] == "equally many of depth below 10, 10 to below 20, from 20"
    assert facts["then"] == "filter (12 left)"
    assert "shared" not in facts


def test_older_and_missing_records() -> None:
    older = {key: value for key, value in DRAWN.items() if key not in ("in_space", "strata")}
    assert describe_sampling(json.dumps(older))["acceptance"].startswith("20 of 1,000 candidates")
    assert describe_sampling(json.dumps({"resolution": 32, "classes": 10})) == {
        "counted at": "32 px, 10 classes"
    }
    assert describe_sampling("") == {}
