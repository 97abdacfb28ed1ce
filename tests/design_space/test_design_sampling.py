"""Sampling: equal to a plain loop over candidates, and recorded so that anyone can repeat it."""

import subprocess
import sys
from typing import Any

import plain_sampler
import pytest
from sampling_cases import CASES, TOY, bounds
from scipy import stats

from anynet_study.core.errors import UserError
from anynet_study.design_space import DesignSpace, sampling


@pytest.mark.parametrize("name", CASES)
def test_equal_to_a_plain_loop_over_candidates(name: str) -> None:
    spec, count, bands, resolution, classes = CASES[name]
    space = DesignSpace.from_spec(spec)
    request = sampling.request(space, count, bounds(bands), resolution, classes, seed=0)
    population = sampling.sample(request)
    numbers = plain_sampler.words(seed=0)
    plain = plain_sampler.sample(space, count, bands, resolution, classes, numbers)
    assert list(population) == plain.kept
    record = population.sampling
    counts = record["candidates"], record["in_space"], record["in_band"]
    assert counts == (plain.candidates, plain.in_space, plain.in_band)
    assert record["duplicates"] == plain.in_band - count
    costs = [plain_sampler.complexity(a, resolution, classes) for a in plain.kept]
    columns = (population.table[one].to_pylist() for one in ("flops", "parameters", "activations"))
    assert list(zip(*columns, strict=True)) == costs


@pytest.mark.parametrize("measure", ["flops", "parameters", "activations"])
def test_both_ends_of_the_band_are_in_it(measure: str) -> None:
    cost = TOY.sample(1, resolution=9, classes=7).table[measure][0].as_py()
    for ends in ((cost, cost), (cost - 0.5, cost + 0.5), (cost, cost + 1), (cost - 1, cost)):
        band: Any = {measure: ends}
        found = TOY.sample(1, resolution=9, classes=7, **band).table[measure].to_pylist()
        assert ends[0] <= found[0] <= ends[1]
    assert sampling.request(TOY, 1, bounds({"flops": (1.5, 3.5)}), 9, 7, 0).bands.limits[
        "flops"
    ] == (2, 3)


def test_a_smaller_sample_is_a_prefix_of_a_larger_one() -> None:
    smaller, larger = (TOY.sample(n, (0.6e6, 0.9e6), 9, 7, seed=1) for n in (40, 200))
    assert larger.table.slice(0, 40).equals(smaller.table)


def test_the_record_tells_how_many_candidates_were_in_the_band() -> None:
    record = TOY.sample(30, (0.6e6, 0.9e6), 9, 7).sampling
    assert record["acceptance"] == record["in_band"] / record["in_space"]
    interval = stats.binomtest(record["in_band"], record["in_space"]).proportion_ci(method="wilson")
    assert record["acceptance_interval"] == pytest.approx([interval.low, interval.high], rel=1e-12)
    record = TOY.sample(30).sampling
    assert record["acceptance"] == 1
    assert not {"flops", "parameters", "activations"} & set(record)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"count": 0}, "count: 0 is not a whole number"),
        ({"count": 5, "seed": -1}, "seed: -1 is not a whole number"),
        ({"count": 5, "flops": (2, 1)}, r"flops: \(2, 1\): legal: \[lowest, highest\] multiply-a"),
        ({"count": 5, "flops": 4e8}, r"flops: 400000000.0: legal: \[lowest, highest\]"),
        ({"count": 5, "flops": "12"}, "flops: '12': legal: "),
        ({"count": 5, "activations": (0, 2**53)}, r"activations: .*: legal: .* below 2\^53"),
        ({"count": 5, "activations": (1.2, 1.8)}, "activations: there is no whole number in"),
        ({"count": 5, "resolution": 0}, "resolution: 0 is not"),
        ({"count": 5, "classes": 2.5}, "classes: 2.5 is not"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as refused:
        TOY.sample(**arguments)
    assert "\n" not in str(refused.value)


def test_sampling_and_files_need_neither_torch_nor_pandas() -> None:
    script = (
        "import sys, tempfile; from anynet_study import DesignSpace, Population\n"
        "with tempfile.NamedTemporaryFile(suffix='.parquet') as file:\n"
        "    DesignSpace.anynetx().sample(5, flops=(360e6, 400e6)).write(file.name)\n"
        "    Population.read(file.name)\n"
        "print({'torch', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
