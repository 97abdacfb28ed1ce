"""Training on images that are decoded as they are read: the same as on their pixels."""

from pathlib import Path

import numpy as np
import pytest
import torch
from miniatures import write_miniature
from tiny_study import TINY, typing_in
from training_runs import same, spec

from anynet_study.data import DatasetView, Variant, add_dataset, make_view
from anynet_study.store import ResultStore
from anynet_study.training.engine import train
from anynet_study.training.feeds import DeviceImages, ResidentFeed, StreamedFeed

CPU = torch.device("cpu")


@pytest.fixture
def views(data_home: Path, tmp_path: Path) -> tuple[DatasetView, DatasetView]:
    """Raw and JPEG, of files that are kept as they are."""
    source = write_miniature("natural", tmp_path)
    datasets = (add_dataset(store, source, size=24, store=store) for store in ("raw", "jpeg"))
    raw, jpeg = (make_view(dataset, Variant(base=dataset.name)) for dataset in datasets)
    return raw, jpeg


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_results_are_equal_bit_for_bit(views, engine):
    raw, jpeg = views
    run = spec(raw, epochs=2, batch_size=16)
    assert same(train(run, jpeg, CPU, engine=engine), train(run, raw, CPU, engine=engine))


def test_they_are_decoded_once_where_they_fit(views):
    """A budget on a CPU is as a GPU's memory: whole splits lie there."""
    raw, jpeg = views
    rows = torch.arange(10)[None]
    for source, kind in (
        (DeviceImages(CPU), StreamedFeed),
        (DeviceImages(CPU, 1 << 30), ResidentFeed),
    ):
        feed = source.feed(jpeg, "train", 1, 10)
        assert isinstance(feed, kind)
        feed.begin(rows)
        feed.advance(0)
        pixels, places = feed.batch(torch.tensor([0]))
        np.testing.assert_array_equal(pixels[places], raw.images("train")[:10])


@pytest.mark.slow
def test_a_study_from_the_command_line(tmp_path, monkeypatch, capsys):
    """Add, train, evaluate further: nobody knows how the images are stored."""
    type_ = typing_in(tmp_path, monkeypatch, capsys)
    source = write_miniature("natural", tmp_path / "from")
    told = type_("data", "add", "jpeg", "--from", source, "--size", 8, "--store", "jpeg")
    assert told.code == 0, told.err
    assert type_("data", "info", "jpeg", "--verify").code == 0
    sweep = TINY.replace("classes: 10", "classes: 6").replace("source: digits", "source: jpeg")
    start, end = sweep.index("datasets:"), sweep.index("recipes:")
    datasets = "datasets: {jpeg: {}, jpeg-3: {base: jpeg, classes: 3, role: target}}\n"
    more = "evaluations: {turned: {transform: rotation}}\n"
    Path("tiny.yaml").write_text(sweep[:start] + datasets + more + sweep[end:])
    told = type_("run", "tiny.yaml", "population.count=2")
    assert told.code == 0, told.err
    errors = ResultStore(Path("studies/tiny/results.h5")).errors()
    assert list(errors.columns) == ["jpeg", "jpeg-3"]
    assert errors.notna().all(axis=None)
