"""What is wrong with the evaluations of a store is found."""

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from evaluation_factory import evaluation, write_evaluations
from honest import honest, honest_study

from anynet_study.store.verify import verify, verify_journals


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study in which nothing is wrong."""
    folder, runs = tmp_path_factory.mktemp("verified"), [honest(number) for number in range(6)]
    some = [
        evaluation(number, name, run_id=runs[number].run_id)
        for number in range(4)
        for name in ("blur", "fog")
    ]
    write_evaluations(folder / "journals" / "x.evaluations.arrow", some)
    honest_study(folder, runs)
    return folder / "results.h5"


def set_at(path: str, place: object, value: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[f"evaluations/{path}"][place] = value

    return change


def remove(path: str) -> Callable[[h5py.File], None]:
    return lambda file: file.__delitem__(path)


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (set_at("run", 3, 17), "run", "beyond the 6 runs"),
        (set_at("evaluation_id", 3, 17), "evaluation_id", "beyond the"),
        (set_at("host", 3, -1), "host", "beyond the 1 labels"),
        (set_at("top5", 3, 100.5), "top5", "cannot be so of 1 ("),
        (set_at("images", 3, 0), "images", "cannot be so"),
        (set_at("planned", 3, 2), "planned", "cannot be so"),
        (set_at("predicted", 3, 5), "predicted", "cannot be so"),
        (set_at("predicted", 3, 0), "predictions/digits", "other numbers of predictions"),
        (set_at("run", slice(0, 2), 5), "", "not ordered by run, evaluation"),
        (set_at("evaluation", 0, 1), "", "not ordered"),
        (set_at("predictions/digits/blur/row", 0, 7), "predictions", "does not ascend"),
        (set_at("predictions/digits/blur/row", 0, 0), "predictions", "another dataset"),
        (remove("evaluations/predictions/digits/blur"), "predictions", "lacks 2 (blur of"),
        (remove("evaluations/top1"), "top1", "is missing"),
        (remove("evaluations"), "", "is missing"),
        (remove("labels/identity"), "", "is missing"),
        (set_at("top1", 3, 50.0), "", ""),
        (set_at("started", 3, 50.0), "", ""),
        (set_at("identity", 3, 0), "evaluation_id", "not the hash of the identity"),
        (set_at("predictions/digits/blur/classes", (0, 0), 11), "", ""),
    ],
)
def test_what_is_changed_is_found(
    verified: Path, tmp_path: Path, change: Callable[[h5py.File], None], where: str, what: str
) -> None:
    store = Path(shutil.copy(verified, tmp_path))
    with h5py.File(store, "r+") as file:
        change(file)
    found = verify(store)
    mine = [f for f in found if f.where.startswith(f"/evaluations/{where}".rstrip("/"))]
    mine += [f for f in found if f.where == "/labels/identity"]
    if what:
        assert [f for f in mine if what in f.what], found
    else:  # whatever a store can be made to say, it is not what the journals say
        assert found == []
        (one,) = verify_journals(verified.parent / "journals", store)
        assert "is not what the journals say of 1 (" in one.what


def test_store_and_journals_that_agree_and_that_do_not(verified: Path, tmp_path: Path) -> None:
    assert verify(verified) == verify_journals(verified.parent / "journals", verified) == []
    shutil.copytree(verified.parent, tmp_path, dirs_exist_ok=True)
    journals = tmp_path / "journals"
    late = evaluation(4, run_id=honest(4).run_id)
    write_evaluations(journals / "y.evaluations.arrow", [late])
    (found,) = verify_journals(journals, tmp_path / "results.h5")
    assert (
        f"lacks evaluations of the journals: 1 ({late.run_id} {late.evaluation_id})" in found.what
    )
    (journals / "x.evaluations.arrow").unlink()
    lost = verify_journals(journals, tmp_path / "results.h5")[-1]
    assert ("in no journal: 8 (" in lost.what, lost.repair) == (True, "keep")
