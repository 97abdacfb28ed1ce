"""The engines give results no further apart than those of two seeds."""

import dataclasses

import numpy as np
import pytest
import torch
from training_runs import spec

from anynet_study.data import DatasetView
from anynet_study.design_space import DesignSpace
from anynet_study.training.engine import Outcome, train
from anynet_study.training.options import Engine

CPU = torch.device("cpu")
Runs = dict[tuple[Engine, int], list[Outcome]]


@pytest.fixture(scope="module")
def runs(view: DatasetView) -> Runs:
    """Three networks, by engine and seed."""
    torch.set_num_threads(1)
    space = DesignSpace.anynetx(
        depths=(1, 2), widths=(8, 32), group_widths=(4, 8), stem="cifar", stem_width=8
    )
    networks = space.sample(3, flops=(0.1e6, 0.4e6), resolution=8, classes=6, seed=0)

    def outcome(network: int, engine: Engine, seed: int) -> Outcome:
        # Gentle and short: longer or faster training amplifies any rounding to what seeds differ,
        # and then one of two equal numbers would be asked to be the smaller.
        plain = spec(view, epochs=6, lr=0.02)
        run = dataclasses.replace(plain, architecture=networks[network], seed=seed)
        return train(run, view, CPU, engine=engine)

    return {
        (engine, seed): [outcome(network, engine, seed) for network in range(len(networks))]
        for engine in ("reference", "fast")
        for seed in (0, 1)
    }


def final(runs: list[Outcome], name: str) -> np.ndarray:
    return np.array([run.curves[name][-1] for run in runs])


@pytest.mark.parametrize("name", ["train_loss", "test_loss", "test_top1"])
def test_engines_differ_no_more_than_seeds(runs: Runs, name: str) -> None:
    values = {key: final(outcomes, name) for key, outcomes in runs.items()}
    engines = [abs(values["fast", seed] - values["reference", seed]) for seed in (0, 1)]
    seeds = [abs(values[engine, 0] - values[engine, 1]) for engine in ("fast", "reference")]
    assert np.mean(engines) <= np.mean(seeds)


def test_what_is_compared_was_trained(runs: Runs) -> None:
    for outcomes in runs.values():
        first = [run.curves["train_loss"][0] for run in outcomes]
        assert np.mean(final(outcomes, "train_loss")) < np.mean(first)
        assert len(set(final(outcomes, "test_loss"))) == len(outcomes)
