"""Runs that begin where another ended: with its weights, its head, or its whole state."""

import dataclasses
import hashlib
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F
from training_runs import CPU, EXACT, finished, spec

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.engine.training import (
    Checkpoint,
    DeviceImages,
    interpolated,
    load_weights_file,
    make_trainer,
)
from anynet_study.engine.training.network import initial_network

#: Nothing is drawn but the order of the images, and the rate stays: runs differ in length alone.
STILL = {"crop": "none", "flip": False, "schedule": "constant", "lr": 0.0005}


@pytest.mark.slow
def test_what_goes_on_is_a_plain_loop_that_was_not_ended(view: DatasetView, tmp_path: Path) -> None:
    """Two epochs, then four in all: torch's own loop over four, from the same first weights."""
    short = spec(view, epochs=2, **STILL)
    trainer = make_trainer(short, view, DeviceImages(CPU), options=EXACT)
    plain = initial_network(short, view)
    ended = finished(trainer, short, view)
    end = Checkpoint(tmp_path / "end.pt", short.run_id, "fast")
    end.save(trainer.state(), ended.curves, 2, 0)

    longer = spec(view, epochs=4, **STILL)
    longer = dataclasses.replace(longer, pretrained=short, inherits="state")
    further = make_trainer(longer, view, DeviceImages(CPU), options=EXACT)
    own = Checkpoint(tmp_path / "own.pt", longer.run_id, "fast")
    own.before = tmp_path / "end.pt"
    outcome = finished(further, longer, view, own)
    assert outcome.curves["train_loss"][:2] == ended.curves["train_loss"]
    assert len(outcome.curves["train_loss"]) == 4

    decay = short.recipe.weight_decay
    update = torch.optim.SGD(plain.parameters(), 0.0005, momentum=0.9, weight_decay=decay)
    pixels = torch.tensor(view.images("train")[view.train_index]).permute(0, 3, 1, 2)
    mean, std = (torch.tensor(of).view(1, 3, 1, 1) for of in (view.mean, view.std))
    images, labels = ((pixels / 255 - mean) / std).float(), torch.tensor(view.train_labels)
    for epoch in range(4):
        order = torch.randperm(
            180, generator=torch.Generator().manual_seed(short.order_seed(epoch))
        )
        for rows in order[:160].split(32):
            update.zero_grad()
            F.cross_entropy(plain.train()(images[rows]), labels[rows]).backward()
            update.step()
    expected = plain.state_dict()
    for name, value in further.model.state_dict().items():
        torch.testing.assert_close(value, expected[name], rtol=1e-3, atol=1e-4)


def test_the_end_of_another_engine_is_refused(view: DatasetView, tmp_path: Path) -> None:
    short, longer = spec(view, epochs=1, **STILL), spec(view, epochs=2, **STILL)
    trainer = make_trainer(short, view, DeviceImages(CPU))
    end = Checkpoint(tmp_path / "end.pt", short.run_id, "reference")
    end.save(trainer.state(), {}, 1, 0)
    longer = dataclasses.replace(longer, pretrained=short, inherits="state")
    own = Checkpoint(tmp_path / "own.pt", longer.run_id, "fast")
    own.before = tmp_path / "end.pt"
    with pytest.raises(UserError, match="trained by the engine reference"):
        finished(make_trainer(longer, view, DeviceImages(CPU)), longer, view, own)


def test_weights_are_taken_over_with_the_head_or_without(view: DatasetView) -> None:
    source = spec(view)
    weights = initial_network(source, view).state_dict()
    for inherits, with_head in (("body", False), ("weights", True)):
        run = dataclasses.replace(spec(view, lr=0.01), pretrained=source, inherits=inherits)
        taken = initial_network(run, view, weights).state_dict()
        for name, value in weights.items():
            same = torch.equal(value, taken[name])
            assert same == (with_head or not name.startswith("head.")) or name == "head.bias"
    runs = [
        dataclasses.replace(spec(view), pretrained=source, inherits=inherits)
        for inherits in ("body", "weights", "state")
    ]
    assert len({run.run_id for run in runs}) == 3
    assert runs[0].run_id == dataclasses.replace(spec(view), pretrained=source).run_id


def test_a_file_of_weights_is_what_was_planned(view: DatasetView, tmp_path: Path) -> None:
    """Its content is part of the run; files of others may have the weights under a key."""
    weights = initial_network(spec(view), view).state_dict()
    path = tmp_path / "w.pt"
    for content in (weights, {"state_dict": weights}, {"model": weights, "epoch": 3}):
        torch.save(content, path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        run = dataclasses.replace(spec(view), inherits="file", weights=digest)
        taken = initial_network(run, view, load_weights_file(path, digest))
        for name, value in taken.state_dict().items():
            assert torch.equal(value, weights[name]) == (name != "head.weight")
        other = dataclasses.replace(run, weights="0" * 64)
        assert len({run.run_id, other.run_id, spec(view).run_id}) == 3
        with pytest.raises(UserError, match="was changed after this run was planned"):
            load_weights_file(path, "0" * 64)
    for bad, said in ((b"hello", "no weights that torch reads"), (None, "no tensors by name")):
        torch.save([1], path) if bad is None else path.write_bytes(bad)
        with pytest.raises(UserError, match=said):
            load_weights_file(path, hashlib.sha256(path.read_bytes()).hexdigest())


def test_weights_of_another_network_are_refused(view: DatasetView) -> None:
    run = dataclasses.replace(spec(view), inherits="file", weights="0" * 64)
    weights = initial_network(spec(view), view).state_dict()
    first = next(iter(weights))
    for wrong, said in (
        ({**weights, first: torch.zeros(3)}, f"{first} has the shape .3,., this network's"),
        ({name: weights[name] for name in weights if name != first}, f"{first} is missing"),
    ):
        with pytest.raises(UserError, match=said):
            initial_network(run, view, wrong)
    initial_network(run, view, {**weights, "head.weight": torch.zeros(1)})


def test_both_ends_of_an_interpolation_are_exact(view: DatasetView) -> None:
    start = initial_network(spec(view), view).state_dict()
    network = initial_network(dataclasses.replace(spec(view), seed=1), view)
    end = {name: value.clone() for name, value in network.state_dict().items()}
    for share, expected in ((0.0, start), (1.0, end), (0.25, None)):
        with interpolated(network, start, share):
            for name, value in network.state_dict().items():
                if expected is not None:
                    assert torch.equal(value, expected[name])
                elif value.is_floating_point():
                    torch.testing.assert_close(value, 0.75 * start[name] + 0.25 * end[name])
        assert all(torch.equal(value, end[name]) for name, value in network.state_dict().items())
