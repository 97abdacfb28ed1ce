"""Real images, as they are downloaded, straight from their archives."""

from pathlib import Path

import numpy as np
import pytest

from anynet_study.data import Variant, add_dataset, make_view

pytestmark = pytest.mark.shared_data


@pytest.mark.slow
def test_cifar10_in_part(data_home: Path, shared_data: Path):
    dataset = add_dataset("cifar10", shared_data / "cifar10-images.tar.gz", limit_per_class=40)
    assert dataset.size == 32
    assert dataset.classes[:3] == ("airplane", "automobile", "bird")
    assert set(dataset.counts("train").per_class + dataset.counts("test").per_class) == {40}
    assert dataset.meta.layout == "split/class/image"
    assert dataset.meta.quarantined == ()
    mean, std = dataset.statistics()
    np.testing.assert_allclose(mean, [0.491, 0.482, 0.447], atol=0.03)
    np.testing.assert_allclose(std, [0.247, 0.243, 0.262], atol=0.03)
    assert [path.name for path in data_home.iterdir()] == ["cifar10"]
    view = make_view(dataset, Variant(base="cifar10", classes=2))
    assert len(view.train_index) == len(view.test_index) == 80


@pytest.mark.slow
def test_sign_language_digits(data_home: Path, shared_data: Path):
    dataset = add_dataset("signs", shared_data / "sign-language-digits.tar.gz", size=32)
    assert dataset.classes == tuple("0123456789")
    assert dataset.counts("train").images + dataset.counts("test").images == 2062
    assert dataset.counts("test").images == pytest.approx(0.2 * 2062, abs=5)
    assert dataset.meta.holdout is not None
    dataset.verify()
