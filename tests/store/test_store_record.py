import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_factory import failed, record

from anynet_study.store.records import CURVES, RUN, RunRecord


def same(a: RunRecord, b: RunRecord) -> bool:
    return bool(RUN.to_batch(a).serialize().equals(RUN.to_batch(b).serialize()))


def test_a_record_survives_arrow_bit_for_bit() -> None:
    curve = np.array([0.1, np.nan, np.inf, 1e-45], np.float32)
    original = record(7, curves=dict.fromkeys(CURVES, curve), message="tab\tand \n line")
    back = RUN.from_batch(RUN.to_batch(original))
    assert same(original, back)
    assert back.curves["train_loss"].tobytes() == curve.tobytes()
    assert back.predictions.dtype == np.uint16
    assert (back.predictions == original.predictions).all()


def test_a_curve_that_was_not_recorded_reads_as_nan() -> None:
    back = RUN.from_batch(
        RUN.to_batch(record(curves={"test_top1": np.array([3.0, 2.0], np.float32)}))
    )
    assert back.epochs == 2
    assert np.isnan(back.curves["train_loss"]).all()
    assert back.curves["train_loss"].shape == (2,)


def test_predictions_of_any_integer_type_are_kept() -> None:
    back = RUN.from_batch(RUN.to_batch(record(predictions=np.array([0, 65534], np.int64)[::-1])))
    assert back.predictions.tolist() == [65534, 0]


@given(st.text(st.characters(codec=None)))
def test_any_message_can_be_stored(message: str) -> None:
    kept = RUN.from_batch(RUN.to_batch(failed(1, "code", message=message))).message
    assert "\0" not in kept
    kept.encode("utf-8")
    if message.isprintable():
        assert kept == message


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": ""},
        {"status": "failed", "failure_kind": ""},
        {"status": "failed", "failure_kind": "oom", "error": 3.0},
        {"error": float("nan")},
        {"curves": {"loss": np.zeros(3)}},
        {"predictions": np.array([-1])},
    ],
)
def test_what_no_run_can_have_given_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        record(**changes)
