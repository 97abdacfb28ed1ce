"""Further evaluations: of which images, under which numbers, with which errors, by which id."""

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from pydantic import ValidationError
from torch import Tensor
from training_runs import CPU, NETWORK

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView, PackedDataset, Variant, add_dataset, load_dataset
from anynet_study.data import make_view as cut
from anynet_study.engine.models import build
from anynet_study.engine.training import (
    EvaluationSpec,
    evaluate,
    evaluation_sets,
    make_evaluation_set,
)
from anynet_study.engine.training.together import finish
from anynet_study.engine.training.trainer import PassResult
from anynet_study.engine.training.transforms import transformed


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> PackedDataset:
    """Three classes of the digits, in an order of their own, and one that is no digit."""
    folder = tmp_path_factory.mktemp("shifted")
    for number, (name, images) in enumerate({"7": 3, "10": 2, "3": 4, "0": 1}.items()):
        for split in ("train", "test"):
            place = folder / split / name
            place.mkdir(parents=True)
            for image in range(images):
                Image.new("RGB", (8, 8), (50 * number, 9 * image, len(split))).save(
                    place / f"{image}.png"
                )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(tmp_path_factory.getbasetemp() / "evaluation"))
        add_dataset("larger", folder, size=12, workers=1)
        return add_dataset("shifted", folder, size=8, workers=1)


@pytest.fixture(autouse=True)
def home(shifted: PackedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(shifted.folder.parent))


def view(**variant: Any) -> DatasetView:
    base = variant.setdefault("base", "digits")
    return cut(load_dataset(base), Variant(**variant))


def chosen(spec: EvaluationSpec, trained: DatasetView) -> list[str]:
    return np.array(trained.classes)[make_evaluation_set(spec, trained).allowed].tolist()


def test_classes_of_groups_are_found_in_another_test_set() -> None:
    trained = view(groups={"low": ["0", "1", "2"], "odd": ["3", "7"], "rest": ["5"]})
    made = make_evaluation_set(EvaluationSpec(test_set="shifted"), trained)
    names = np.array(made.dataset.classes)[made.dataset.labels("test")[made.index]]
    assert sorted(names) == ["0", "3", "3", "3", "3", "7", "7", "7"]
    assert [trained.classes[label] for label in made.labels] == [
        "low" if name == "0" else "odd" for name in names
    ]
    assert chosen(EvaluationSpec(test_set="shifted"), trained) == ["low", "odd"]


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"test_set": "shifted"}, "shift"),
        ({"test_set": "shifted", "transform": "blur", "every": 2}, "shift"),
        ({"transform": "blur"}, "transform"),
        ({"classes": 5}, "label set"),
        ({"classes": 5, "test_set": "shifted"}, "label set"),
        ({"shots": 2, "test_set": "shifted"}, "few-shot"),
        ({"part": "validation"}, "validation"),
        ({"interpolate": [0.5]}, "own images"),
        ({"transform": "blur", "kind": "shift"}, "shift"),
    ],
)
def test_what_is_asked_says_its_kind_unless_that_is_declared(asked: Any, kind: str) -> None:
    assert EvaluationSpec(**asked).counts_as == kind


def test_its_kind_is_no_part_of_what_determines_it() -> None:
    plain, declared = (EvaluationSpec(transform="blur", kind=k) for k in (None, "shift"))
    sets = [make_evaluation_set(spec, view()) for spec in (plain, declared)]
    assert sets[0].evaluation_id == sets[1].evaluation_id


def test_validation_images_are_of_no_other_kind() -> None:
    with pytest.raises(ValueError, match="part: validation can be nothing else"):
        EvaluationSpec(part="validation", kind="shift")


def test_without_another_test_set_it_is_the_run_s_own() -> None:
    trained = view(classes=6)
    made = make_evaluation_set(EvaluationSpec(transform="blur"), trained)
    assert np.array_equal(made.index, trained.test_index)
    assert np.array_equal(made.labels, trained.test_labels)
    assert made.allowed.all()
    assert made.left_out == trained.dataset.counts("test").images - len(trained.test_index)


def test_classes_are_matched_by_name(shifted: PackedDataset) -> None:
    trained = view(classes=["3", "7", "5", "0"])
    made = make_evaluation_set(EvaluationSpec(test_set="shifted"), trained)
    by_hand = [
        (row, trained.classes.index(shifted.classes[label]))
        for row, label in enumerate(shifted.labels("test"))
        if shifted.classes[label] in trained.classes
    ]
    assert list(zip(made.index.tolist(), made.labels.tolist(), strict=True)) == by_hand
    assert len(by_hand) == 3 + 4 + 1
    assert made.left_out == 2
    assert chosen(EvaluationSpec(test_set="shifted"), trained) == ["0", "3", "7"]


def test_drawn_classes_are_nested_and_those_of_a_variant() -> None:
    trained = view()
    drawn = [chosen(EvaluationSpec(classes=count), trained) for count in range(2, 11)]
    assert [len(names) for names in drawn] == list(range(2, 11))
    assert all(set(few) < set(more) for few, more in pairwise(drawn))
    assert drawn[2] == list(view(classes=4).classes)
    assert drawn[2] != chosen(EvaluationSpec(classes=4, class_seed=1), trained)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"test_set": "gratings"}, "at least 2 of its classes .*trained on were 0, 1, 2"),
        ({"test_set": "larger"}, "have 12 pixels, those trained on 8; .* --size 8"),
        ({"test_set": "missing"}, "no dataset 'missing'"),
        ({"classes": 11}, "11 classes: 10 of 'digits' were trained on"),
        ({"classes": ["3", "x"]}, "class 'x': .*there are 0, 1, 2"),
        ({"test_set": "shifted", "classes": [3, 5]}, "class '5': .*there are 0, 3, 7"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        make_evaluation_set(EvaluationSpec(**keys), view())
    assert "\n" not in str(error.value)


def test_an_evaluation_is_made_for_the_datasets_it_fits() -> None:
    views = {"all": view(), "few": view(classes=["1", "2"]), "bars": view(base="gratings")}
    made = evaluation_sets(EvaluationSpec(test_set="shifted"), views)
    assert list(made.sets) == ["all"]
    assert list(made.skipped) == ["few", "bars"]
    assert list(evaluation_sets(EvaluationSpec(transform="invert"), views).sets) == list(views)
    with pytest.raises(UserError, match="at least 2 of its classes"):
        evaluation_sets(EvaluationSpec(test_set="shifted", datasets=("all", "few")), views)
    with pytest.raises(UserError, match=r"no dataset fits .*; all: .*99 classes"):
        evaluation_sets(EvaluationSpec(classes=99), views)
    with pytest.raises(UserError, match="no dataset 'missing'"):
        evaluation_sets(EvaluationSpec(test_set="missing"), views)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "at least one of: test_set, transform, classes"),
        ({"transform": "fog"}, "'posterise'"),
        ({"classes": ["3", "3"]}, "listed twice"),
        ({"classes": 1}, "greater than or equal to 2"),
        ({"transform": "blur", "severity": 3}, "Extra inputs"),
    ],
)
def test_a_specification_without_sense_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        EvaluationSpec(**keys)


def test_the_identity_is_what_determines_the_result() -> None:
    def identify(trained: DatasetView | None = None, **keys: Any) -> str:
        return make_evaluation_set(EvaluationSpec(**keys), trained or view()).evaluation_id

    blurred = identify(transform="blur")
    equal = [
        identify(transform="blur", test_set="digits"),
        identify(transform="blur", classes=10, class_seed=5),
        identify(transform="blur", datasets=["digits"]),
        identify(view(per_class=20), transform="blur"),
    ]
    others = [
        identify(transform="identity"),
        identify(transform="invert"),
        identify(transform="blur", classes=5),
        identify(transform="blur", classes=5, class_seed=1),
        identify(transform="blur", test_set="shifted"),
        identify(view(classes=4), transform="blur"),
    ]
    assert set(equal) == {blurred}
    assert len({blurred, *others}) == len(others) + 1
    assert identify(classes=5) == identify(classes=5, transform="identity")
    names = chosen(EvaluationSpec(classes=5), view())
    assert identify(classes=5) == identify(classes=names[::-1])


def test_an_image_s_draws_stay_its_own_with_fewer_classes() -> None:
    whole = make_evaluation_set(EvaluationSpec(transform="affine"), view())
    part = make_evaluation_set(EvaluationSpec(transform="affine", classes=3), view())
    assert np.array_equal(part.draws(), whole.draws()[part.index])
    assert len(np.unique(whole.draws())) == whole.draws().size
    other = make_evaluation_set(EvaluationSpec(transform="rotation"), view())
    assert not np.any(other.draws() == whole.draws())


# Errors and predictions, against counting them by hand.


class Centred:
    """The bytes, about -1..1."""

    def test(self, images: Tensor) -> Tensor:
        return (images.float() / 127.5 - 1.0).permute(0, 3, 1, 2)


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    """Untrained, but of opinions that vary: its batch norms have seen images."""
    generator = torch.Generator().manual_seed(1)
    network = build(NETWORK, 10, generator=generator)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
        for _ in range(20):
            network.train()(torch.randn(64, 3, 8, 8, generator=generator))
    return network


def result(model: torch.nn.Module, batch: int = 100, **keys: Any) -> PassResult:
    chosen = make_evaluation_set(EvaluationSpec(**keys), view())
    return finish(evaluate(model, Centred(), chosen, CPU, batch))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "keys",
    [
        {"test_set": "digits"},
        {"transform": "perspective"},
        {"classes": 7, "class_seed": 2, "transform": "colour_jitter"},
    ],
)
def test_errors_equal_counting_by_hand(model: torch.nn.Module, keys: dict[str, Any]) -> None:
    found, trained = result(model, **keys), view()
    tested = make_evaluation_set(EvaluationSpec(**keys), trained)
    legal = np.flatnonzero(tested.allowed)
    pixels = torch.from_numpy(trained.images("test")[tested.index])
    pixels = transformed(pixels, tested.draws(), tested.transform)
    with torch.no_grad():
        logits = model.eval()(Centred().test(pixels)).double().numpy()
    losses, first, fifth = [], [], []
    for scores, label in zip(logits, tested.labels, strict=True):
        ranked = sorted(legal, key=lambda number: -scores[number])
        losses.append(np.log(np.exp(scores[legal]).sum()) - scores[label])
        first.append(ranked[0])
        fifth.append(label not in ranked[:5])
    assert found.predictions.dtype == np.uint16
    assert np.array_equal(found.predictions, first)
    assert len(set(first)) > 1
    assert found.images == len(tested.labels)
    assert found.loss == pytest.approx(np.mean(losses), rel=1e-5)
    assert found.top1 == pytest.approx(100 * np.mean(np.array(first) != tested.labels))
    assert found.top5 == pytest.approx(100 * np.mean(fifth))


def test_an_evaluation_repeats_to_the_bit_and_changes_nothing(model: torch.nn.Module) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first = result(model.train(), transform="affine", classes=6)
    second = result(model.train(), transform="affine", classes=6)
    assert dataclasses.astuple(first)[:5] == dataclasses.astuple(second)[:5]
    assert np.array_equal(first.predictions, second.predictions)
    other = result(model, transform="affine", classes=6, batch=37)
    assert np.array_equal(first.predictions, other.predictions)
    assert first.loss == pytest.approx(other.loss, rel=1e-5)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.parametrize("keys", [{}, {"test_set": "digits", "classes": 4}])
def test_few_shots_are_the_nearest_means_of_features(
    model: torch.nn.Module, keys: dict[str, Any]
) -> None:
    few, more = (make_evaluation_set(EvaluationSpec(shots=n, **keys), view()) for n in (2, 5))
    assert few.shots is not None
    assert more.shots is not None
    assert set(few.shots[0]) < set(more.shots[0])
    assert few.evaluation_id != more.evaluation_id
    rows, labels = few.shots
    assert np.bincount(labels, minlength=10)[few.allowed].tolist() == [2] * int(few.allowed.sum())
    data = view().dataset
    np.testing.assert_array_equal(data.labels("train")[rows], labels)

    def features(images: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            inputs = Centred().test(torch.from_numpy(images))
            found = model.eval().pool(model.stages(model.stem(inputs))).numpy()
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    known = features(data.images("train")[rows])
    legal = np.flatnonzero(few.allowed)
    means = np.array([known[labels == number].mean(axis=0) for number in legal])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    nearest = legal[(features(data.images("test")[few.index]) @ means.T).argmax(axis=1)]
    found = finish(evaluate(model, Centred(), few, CPU, 100))  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.predictions, nearest)
    assert found.top1 == pytest.approx(100 * float(np.mean(nearest != few.labels)))


def test_more_shots_than_there_are_images() -> None:
    with pytest.raises(UserError, match="shots: 1000, but class '0' of 'digits' has "):
        make_evaluation_set(EvaluationSpec(shots=1000), view())
