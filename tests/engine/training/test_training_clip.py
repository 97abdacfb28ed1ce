"""Learning from pairs of images and texts: the loss, zero-shot tests, what is refused."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from training_runs import CPU, ENGINES, same, spec, stopped

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.engine.training import (
    InterruptedRunError,
    Recipe,
    check_names,
    new_network,
    train,
)
from anynet_study.engine.training.texts import Texts, numbered
from anynet_study.engine.training.zero_shot import TextTable, ZeroShot

TEMPLATES = ("a photo of a {}", "the digit {}, drawn by hand")


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def head_of(view: DatasetView) -> tuple[ZeroShot, Texts]:
    run = spec(view, loss="clip", templates=TEMPLATES, embedding=5)
    head = new_network(run, view).head
    assert isinstance(head, ZeroShot)
    return head, Texts.of(view, run.recipe)


def test_zero_shot_and_loss_are_those_of_the_formula(view: DatasetView) -> None:
    head, texts = head_of(view)
    vectors = head.texts.vectors.detach().numpy()
    features = np.random.default_rng(0).normal(size=(4, head.project.shape[1]))
    images = unit(features @ head.project.detach().numpy().T)

    def described(sentence: str) -> np.ndarray:
        words = sentence.lower().replace(",", "").split()
        # Of the 12 texts each word of a template is in half, `a` too, and that of a class in two.
        weights = np.array([np.log(6 if word.isdigit() else 2) for word in words])
        return unit(weights @ vectors[[1 + texts.vocabulary.index(word) for word in words]])

    both = [[described(one.replace("{}", name)) for one in TEMPLATES] for name in view.classes]
    classes = unit(np.array(both).mean(axis=1))
    expected = images @ classes.T / 0.07
    logits = head(torch.from_numpy(features).float())
    np.testing.assert_allclose(logits.detach(), expected, rtol=1e-3, atol=1e-4)
    sentences = [f"the digit {name} drawn by hand" for name in view.classes[:4]]
    similar = images @ np.array(list(map(described, sentences))).T / 0.07

    def entropy(rows: np.ndarray) -> float:
        return float(np.mean(np.log(np.exp(rows).sum(axis=1)) - np.diag(rows)))

    loss = head.loss(torch.from_numpy(numbered(sentences, texts.vocabulary)))
    assert loss.item() == pytest.approx((entropy(similar) + entropy(similar.T)) / 2, rel=1e-4)


def test_each_image_is_trained_with_texts_of_its_class(view: DatasetView) -> None:
    run = spec(view, loss="clip", templates=TEMPLATES)
    texts, table = Texts.of(view, run.recipe), TextTable(run, view)
    order = torch.arange(180).view(5, 36)
    drawn = table.epoch(0, order)
    sentences = {
        " ".join(texts.vocabulary[word - 1] for word in words if word)
        for words in drawn.flatten(0, 1).tolist()
    }
    labels = torch.from_numpy(view.train_labels)
    for place, words in enumerate(drawn.flatten(0, 1).tolist()):
        assert words in texts.prompts[labels[place]].tolist()
    assert len(sentences) == 12, "both templates of all six classes are drawn"
    assert torch.equal(drawn, table.epoch(0, order))
    assert not torch.equal(drawn, table.epoch(1, order))
    # Which text an image has does not depend on the batch that it is in, but on the place alone.
    assert not torch.equal(drawn, TextTable(dataclasses.replace(run, seed=1), view).epoch(0, order))


def test_images_are_trained_with_their_own_captions(view: DatasetView, monkeypatch) -> None:
    captions = [["first of it", "second"], ["??"], *[[]] * 178]
    monkeypatch.setattr(DatasetView, "captions", lambda _: captions)
    run = spec(view, loss="clip", texts="captions", templates=TEMPLATES)
    texts, table = Texts.of(view, run.recipe), TextTable(run, view)
    order = torch.arange(180).view(5, 36)
    drawn: list[set[str]] = [set() for _ in range(180)]
    for epoch in range(9):
        for found, words in zip(
            drawn, table.epoch(epoch, order).flatten(0, 1).tolist(), strict=True
        ):
            found.add(" ".join(texts.vocabulary[word - 1] for word in words if word))
    assert drawn[0] == {"first of it", "second"}
    for place in (1, 179):
        name = view.classes[view.train_labels[place]]
        assert drawn[place] == {f"a photo of a {name}", f"the digit {name} drawn by hand"}
    assert texts.prompts.shape[:2] == (6, 2), "tests are by the templates alone"


def test_words_that_are_not_known_say_nothing() -> None:
    words = numbered(["A_photo of: a CAT", "dog", "??"], ["a", "cat", "photo"])
    assert words.tolist() == [[1, 3, 0, 1, 2], [0] * 5, [0] * 5]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_it_learns_and_goes_on_where_it_was_stopped(
    view: DatasetView, tmp_path: Path, engine
) -> None:
    run = spec(view, loss="clip", batch_size=16, epochs=12 if engine == "fast" else 1)
    whole = train(run, view, CPU, engine=engine)
    path = tmp_path / "run.pt"
    with pytest.raises(InterruptedRunError):
        stopped(run, view, path, after=3, engine=engine)
    assert same(whole, train(run, view, CPU, checkpoint=path, engine=engine))
    if engine == "fast":
        assert whole.error < 40, "chance is 83%"
        assert whole.curves["train_loss"][-1] < 0.9 * whole.curves["train_loss"][0]


def test_keys_of_pairs_mean_nothing_to_a_classifier(view: DatasetView) -> None:
    plain = spec(view)
    assert spec(view, templates=TEMPLATES, embedding=8).run_id == plain.run_id
    assert "loss" not in plain.recipe.model_dump()
    pairs = {spec(view, loss="clip", **keys).run_id for keys in ({}, {"embedding": 8})}
    assert len({plain.run_id, *pairs}) == 3
    assert spec(view, texts="captions").run_id == plain.run_id


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"templates": ["a photo"]}, "'a photo': {} must stand once, in the place of the class"),
        ({"loss": "clip", "label_smoothing": 0.1}, "label_smoothing: with loss clip"),
        ({"loss": "clip", "augment": ["mixup"]}, "augment: mixup and cutmix: with loss clip"),
        ({"loss": "contrastive"}, "'cross_entropy', 'clip' or 'l1'"),
    ],
)
def test_recipes_that_are_refused(keys, reason) -> None:
    with pytest.raises(ValidationError, match=reason):
        Recipe(**keys)


def test_classes_that_texts_do_not_describe() -> None:
    with pytest.raises(UserError, match="loss clip needs one class an image, here are several"):
        Recipe(loss="clip").resolved(8, 3, multi_label=True)
    with pytest.raises(UserError, match="classes 'Sea lion' and 'lion_sea' have the same words"):
        check_names(["Sea lion", "cat", "lion_sea"])
    with pytest.raises(UserError, match=r"the name of class '\?' has no words"):
        check_names(["a", "?"])
