"""What is said of how a population was drawn."""

from anynet_study.design_space import origin

SPACE = {"base": "anynetx", "depths": [[1, 4], [1, 16]], "shared": [], "se_ratio": 0.25}
DRAWN = {
    "space": SPACE,
    **{"flops": [360_000_000, 400_000_000], "parameters": [1_000_000, 2_500_000]},
    **{"resolution": 224, "classes": 1000, "seed": 7, "candidates": 1000, "in_space": 800},
    **{"in_band": 20, "duplicates": 2, "acceptance": 0.025, "acceptance_interval": [0.016, 0.038]},
    "strata": {"of": "depth", "edges": [10.0, 20.0]},
    "in_band_by_stratum": [5, 8, 7],
    "derived": [{"step": "filter", "condition": "d1 > 2", "left": 12}],
}


def test_spaces_bands_strata_and_steps() -> None:
    assert origin(DRAWN) == {
        "space": "anynetx with depths [[1, 4], [1, 16]], se_ratio 0.25",
        "bands": "360 to 400 million FLOPs and 1 to 2.5 million parameters",
        "candidates": "1,000, 800 in the space, 20 in the bands",
        "acceptance": "2.500% (95% interval 1.600% to 3.800%)",
        "duplicates": "2 removed",
        "strata": "of depth, edges 10, 20; candidates: 5, 8, 7",
        "counted at": "224 px, 1,000 classes",
        "seed": "7",
        "then": "filter condition d1 > 2: 12 left",
    }


def test_other_and_missing_records() -> None:
    older = {key: value for key, value in DRAWN.items() if key != "in_space"}
    assert origin(older)["candidates"] == "1,000, 20 in the bands"
    assert origin({"resolution": 32, "classes": 10}) == {"counted at": "32 px, 10 classes"}
    assert origin({}) == {}
