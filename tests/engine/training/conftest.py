"""What tests of training share."""

import pytest
import torch

from anynet_study.data import DatasetView, Variant, load_dataset, make_view


@pytest.fixture(scope="session")
def view(tmp_path_factory: pytest.TempPathFactory) -> DatasetView:
    """180 images of six handwritten digits to train on, 8 x 8 pixels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(tmp_path_factory.mktemp("data")))
        return make_view(load_dataset("digits"), Variant(base="digits", classes=6, per_class=30))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
