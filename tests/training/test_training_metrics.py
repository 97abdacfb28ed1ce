"""The error of a run on each metric, by both engines, against scikit-learn."""

import pytest
import torch
from sklearn import metrics as theirs
from training_runs import same, spec

from anynet_study.data import DatasetView
from anynet_study.errors import UserError
from anynet_study.metrics import chance_error
from anynet_study.training import Recipe, fast
from anynet_study.training.augment import Preprocessor
from anynet_study.training.checkpoint import Checkpoint
from anynet_study.training.cuda.together import train_together
from anynet_study.training.engine import make_trainer, steps, train
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.options import EXACT, Engine

CPU = torch.device("cpu")
OF_CLASSES = {
    "balanced_accuracy": theirs.balanced_accuracy_score,
    "macro_f1": lambda truth, guesses: theirs.f1_score(truth, guesses, average="macro"),
    "quadratic_kappa": lambda truth, guesses: theirs.cohen_kappa_score(
        truth, guesses, weights="quadratic", labels=range(6)
    ),
}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several batches in a test pass, the last one filled up."""
    monkeypatch.setattr(fast.even_batches, "__defaults__", (50,))


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("metric", OF_CLASSES)
def test_errors_are_those_of_the_predictions(
    view: DatasetView, metric: str, engine: Engine
) -> None:
    run = spec(view, metric=metric)
    outcome = train(run, view, CPU, engine=engine)
    value = OF_CLASSES[metric](view.test_labels, outcome.predictions)
    assert 0 < value < 1
    assert outcome.error == pytest.approx(100 * (1 - value))
    assert outcome.curves["test_error"][-1] == outcome.error
    assert len(outcome.curves["test_error"]) == run.recipe.epochs


def test_auroc_is_that_of_the_network_s_probabilities(view: DatasetView) -> None:
    run = spec(view, metric="auroc", epochs=8)
    trainer = make_trainer(run, view, DeviceImages(CPU), options=EXACT)
    (ended,) = train_together(
        [lambda: steps(trainer, run, view, Checkpoint(None, run.run_id, "fast"))], CPU
    )
    images = torch.tensor(view.images("test")[view.test_index])
    with torch.no_grad():
        trainer.model.eval()
        logits = trainer.model(Preprocessor(run.recipe, view.mean, view.std, CPU).test(images))
    value = theirs.roc_auc_score(view.test_labels, logits.double().softmax(1), multi_class="ovr")
    assert ended.result.error == pytest.approx(100 * (1 - value), abs=1e-3)
    assert ended.result.error < 40
    assert same(ended.result, train(run, view, CPU, engine="reference"))


@pytest.mark.parametrize("metric", [*OF_CLASSES, "auroc"])
def test_a_diverged_run_counts_as_guessing(view: DatasetView, metric: str) -> None:
    outcome = train(spec(view, lr=1e30, metric=metric), view, CPU)
    assert outcome.status == "diverged"
    assert outcome.error == chance_error(view.test_labels, 6, metric)


def test_each_metric_is_a_run_of_its_own(view: DatasetView) -> None:
    metrics = ["top1", "top5", *OF_CLASSES, "auroc"]
    assert len({spec(view, metric=metric).run_id for metric in metrics}) == len(metrics)


def test_the_metric_that_is_usual_for_a_dataset_is_the_default() -> None:
    assert Recipe().resolved(32, 5, usual="quadratic_kappa").metric == "quadratic_kappa"
    assert Recipe(metric="top1").resolved(32, 5, usual="quadratic_kappa").metric == "top1"
    assert Recipe().resolved(32, 28, multi_label=True).metric == "macro_f1"
    assert Recipe().resolved(32, 100).metric == "top5"


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"metric": "quadratic_kappa"}, "metric quadratic_kappa needs one class an image, .*auroc"),
        ({"label_smoothing": 0.1}, "label_smoothing needs one class an image"),
    ],
)
def test_what_needs_one_class_an_image(keys: dict[str, object], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        Recipe(**keys).resolved(32, 28, multi_label=True)  # type: ignore[arg-type]
