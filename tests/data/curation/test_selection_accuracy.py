"""Networks do better on the images that more annotators take for their class (paper 2, Table 2)."""

import numpy as np
import pandas as pd
import pytest
import yaml
from command import in_this_process, train
from scipy.stats import t as student_t
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from anynet_study.data import load_dataset
from anynet_study.engine.study_networks import open_extractor
from anynet_study.store import ResultStore

pytestmark = [pytest.mark.slow, pytest.mark.shared_data]

#: From the easiest test set to the hardest.
STRATEGIES = ("top", "threshold", "matched")
ANNOTATORS = 10
SWEEP = {
    "name": "annotated",
    "population": {
        "space": {"base": "anynetx", "depths": [1, 4], "widths": [16, 160]},
        "count": 4,
        "flops": [1.0e6, 1.5e6],
        "resolution": 32,
        "classes": 10,
    },
    "source": "cifar10",
    "datasets": {
        "cifar10": {},
        # A study has a target.
        "few": {"base": "cifar10", "classes": 2, "per_class": 10, "role": "target"},
        **{strategy: {"test_set_of": "cifar10"} for strategy in STRATEGIES},
    },
    "recipes": {
        "basic": {"epochs": 2, "batch_size": 32, "lr": 0.05, "warmup_epochs": 1, "crop": "pad"}
    },
}


def chances(dataset) -> np.ndarray:
    """(test images,) the chance that an annotator takes each for its class, from 0 to 1.

    The better a plain classifier of colours and coarse shapes knows the image, no network, the
    higher; by rank, so that the mean is 0.7, as in the paper.
    """
    features = open_extractor("frequencies")
    train, test = (features(np.asarray(dataset.images(split))) for split in ("train", "test"))
    scaler = StandardScaler().fit(train)
    plain = LogisticRegression(C=0.01, max_iter=200)
    plain.fit(scaler.transform(train), dataset.labels("train"))
    truth = dataset.labels("test")
    sure = plain.predict_proba(scaler.transform(test))[np.arange(len(truth)), truth]
    return np.sqrt((sure.argsort().argsort() + 0.5) / len(sure))


def test_accuracy_falls_from_top_to_threshold_to_matched(tmp_path, shared_data, monkeypatch):
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    source = shared_data / "cifar10-images.tar.gz"
    in_this_process(tmp_path, "data", "add", "cifar10", "--from", source, "--limit-per-class", 600)
    dataset = load_dataset("cifar10")
    annotated = pd.read_csv(dataset.folder / "split.csv", dtype=str).query("split == 'test'")
    taken = np.random.default_rng(0).binomial(ANNOTATORS, chances(dataset))
    annotated = annotated[["image", "class"]].assign(frequency=taken / ANNOTATORS)
    original = annotated.groupby("class").head(100)
    original.to_csv(tmp_path / "original.csv", index=False)
    annotated.drop(original.index).to_csv(tmp_path / "candidates.csv", index=False)
    for strategy in STRATEGIES:
        in_this_process(
            *(tmp_path, "data", "sample", "candidates.csv", "--strategy", strategy),
            *("--per-class", 120, "--like", "original.csv", "--from", "cifar10", "--add", strategy),
        )
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(SWEEP))
    train(tmp_path, "sweep.yaml")
    errors = ResultStore(tmp_path / "studies/annotated/results.h5").evaluation_errors("cifar10")
    for easier, harder in (("top", "threshold"), ("threshold", "matched")):
        gains = errors[harder] - errors[easier]
        reach = student_t.ppf(0.975, len(gains) - 1) * gains.sem()
        assert gains.mean() - reach > 0, errors
    # Matched stands for all test images, of which the original are a part drawn by chance.
    assert abs((errors["matched"] - errors["test"]).mean()) < 3, errors
