"""Sampling: reproducible by anyone, with the documented distribution, or a clear refusal."""

import hashlib
import subprocess
import sys

import numpy as np
import plain_sampler
import pytest
from scipy import stats

from anynet_study.design_space import Architecture, DesignSpace, sampling
from anynet_study.design_space.distribution import random_words
from anynet_study.errors import UserError

PAPER_BAND = (360e6, 400e6)
TOY = DesignSpace.anynetx(
    "cifar", depths=[1, 4], widths=[8, 64], group_widths=[1, 2, 4, 8], stem_width=16
)
#: A space of sixteen networks: each stage's group width is free.
TINY = DesignSpace.anynetx(depths=[1, 1], widths=[8, 8], bottleneck_ratios=[1], group_widths=[4, 8])


def test_the_paper_s_population_never_changes() -> None:
    population = DesignSpace.anynetx().sample(500, flops=PAPER_BAND, seed=0)
    first = "\n".join(population.ids[:10]).encode()
    assert hashlib.sha256(first).hexdigest() == (
        "237ad6ce1debf3eca8b2f3baaad42f6186a8255340f74705f853fa6bb0f6e21f"
    )
    everything = "\n".join(population.ids).encode()
    assert hashlib.sha256(everything).hexdigest() == (
        "d41ecdcc0be5136f59b0a3087b9a61f206039092558743e7c94235767cb04d03"
    )
    assert all(360e6 <= flops <= 400e6 for flops in population.table["flops"].to_pylist())
    record = population.sampling
    assert (record["candidates"], record["in_band"], record["duplicates"]) == (22533, 500, 0)


@pytest.mark.parametrize(
    ("space", "count", "band", "resolution", "classes"),
    [
        (DesignSpace.anynetx(), 20, PAPER_BAND, 224, 1000),
        (DesignSpace.anynetx("cifar"), 20, (1e8, 2e8), 32, 10),
        (TOY, 100, (0.6e6, 0.9e6), 9, 7),
        (TINY, 12, (0, 1e12), 33, 2),
    ],
)
def test_equal_to_a_plain_loop_over_candidates(
    space: DesignSpace, count: int, band: tuple[float, float], resolution: int, classes: int
) -> None:
    population = space.sample(count, band, resolution, classes, seed=0)
    kept, examined, in_band = plain_sampler.sample(space, count, band, resolution, classes)
    assert list(population) == kept
    record = population.sampling
    assert (record["candidates"], record["in_band"]) == (examined, in_band)
    assert record["duplicates"] == in_band - count


@pytest.mark.parametrize("chunk", [1, 7, 1000, 1 << 16])
def test_nothing_depends_on_how_many_candidates_are_looked_at_together(chunk: int) -> None:
    request = sampling.request(TOY, 60, (0.6e6, 0.9e6), 9, 7, seed=3)
    whole = sampling.sample(request)
    chunked = sampling.sample(request, chunk)
    assert chunked.table.equals(whole.table, check_metadata=True)


@pytest.mark.parametrize("chunk", [1, 1000, 1 << 16])
def test_nor_does_when_the_search_is_given_up(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "WINDOW", 3 * 1024)
    request = sampling.request(TINY, 17, None, 9, 7, seed=3)
    with pytest.raises(UserError, match=r"found 16 of 17 .*: 6,144 of 6,144 candidates"):
        sampling.sample(request, chunk)


def test_both_ends_of_the_band_are_in_it() -> None:
    flops = TOY.sample(1, (0.6e6, 0.9e6), 9, 7).table["flops"][0].as_py()
    exactly = TOY.sample(1, (flops, flops), 9, 7)
    assert exactly.table["flops"].to_pylist() == [flops]
    assert sampling.request(TOY, 1, (1.5, 3.5), 9, 7, 0).flops == (2, 3)


def test_a_smaller_sample_is_a_prefix_of_a_larger_one() -> None:
    smaller, larger = (TOY.sample(n, (0.6e6, 0.9e6), 9, 7, seed=1) for n in (40, 200))
    assert larger.table.slice(0, 40).equals(smaller.table)


def test_seeds_give_different_samples() -> None:
    samples = [TOY.sample(40, (0.6e6, 0.9e6), 9, 7, seed=seed).ids for seed in (0, 1, 2**64 - 1)]
    assert len({*samples[0], *samples[1], *samples[2]}) > 110


def test_unconditioned_draws_have_the_documented_marginals() -> None:
    space = DesignSpace.anynetx()
    n = 200_000
    drawn = space.drawn(random_words(np.random.Philox(key=11), n, 16))
    d, w = np.arange(1, 17), np.arange(8, 1025, 8)
    documented = [
        (drawn.depths, d, np.log((d + 0.5) / (d - 0.5))),
        (drawn.widths, w, np.log((w + 4) / (w - 4))),
        (drawn.bottleneck_ratios, np.array([1, 2, 4]), np.ones(3)),
        (drawn.group_widths, 2 ** np.arange(6), np.ones(6)),
    ]
    for values, support, mass in documented:
        for stage in range(4):
            index = np.searchsorted(support, values[:, stage])
            assert np.array_equal(support[index], values[:, stage])
            seen = np.bincount(index, minlength=len(support))
            assert stats.chisquare(seen, n * mass / mass.sum()).pvalue > 1e-3


def test_the_sixteen_parameters_are_drawn_independently() -> None:
    drawn = DesignSpace.anynetx().drawn(random_words(np.random.Philox(key=12), 100_000, 16))
    rho = stats.spearmanr(drawn.rows()).statistic
    assert np.abs(rho[np.triu_indices(16, 1)]).max() < 0.015


def test_the_record_says_all_that_another_machine_needs() -> None:
    population = TOY.sample(50, (0.6e6, 0.9e6), 9, 7, seed=5)
    record = population.sampling
    again = DesignSpace.from_spec(record["space"]).sample(
        record["count"], record["flops"], record["resolution"], record["classes"], record["seed"]
    )
    assert again.table.equals(population.table, check_metadata=True)
    assert record["acceptance"] == record["in_band"] / record["candidates"]
    interval = stats.binomtest(record["in_band"], record["candidates"]).proportion_ci(
        method="wilson"
    )
    assert record["acceptance_interval"] == pytest.approx([interval.low, interval.high], rel=1e-12)


def test_without_a_band_every_candidate_is_in_it() -> None:
    record = TOY.sample(30).sampling
    assert (record["flops"], record["acceptance"]) == (None, 1)


def test_an_impossible_band_says_what_is_reachable() -> None:
    with pytest.raises(UserError) as refused:
        DesignSpace.anynetx().sample(500, flops=(1e3, 2e3))
    message = str(refused.value)
    assert "with 1000 to 2000 FLOPs: 0 of 1,048,576 candidates are in the band" in message
    assert "at resolution 224 and 1000 classes this space reaches 6.05e+07 to" in message
    assert "\n" not in message


def test_a_space_with_too_few_networks_says_how_many_it_found() -> None:
    with pytest.raises(UserError, match=r"found 16 of 17 different architectures"):
        TINY.sample(17, flops=(0, 1e12))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"count": 0}, "count: 0 is not a whole number"),
        ({"count": 5, "seed": -1}, "seed: -1 is not a whole number"),
        ({"count": 5, "flops": (2, 1)}, "the band 2 to 1 is not 0 <= lowest <= highest"),
        ({"count": 5, "flops": (0, float("nan"))}, "the band 0 to nan is not"),
        ({"count": 5, "flops": 4e8}, "flops: 400000000.0 is not a band"),
        ({"count": 5, "resolution": 0}, "resolution: 0 is not"),
        ({"count": 5, "classes": 2.5}, "classes: 2.5 is not"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        TOY.sample(**arguments)  # type: ignore[arg-type]


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


def test_every_sampled_architecture_is_legal_and_different() -> None:
    population = TOY.sample(300, seed=2)
    assert len(set(population.ids)) == len(set(population)) == 300
    assert all(isinstance(one, Architecture) for one in population)
