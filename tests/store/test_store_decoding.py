"""Records decoded many at once are what Arrow makes of each."""

from functools import partial
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from anynet_study.store.decoding import Columns, OddFrameError
from anynet_study.store.sound import records_of
from hypothesis import HealthCheck, given, settings
from store_factory import failed, make_store, record

from anynet_study.store import ResultStore, RunRecord, read_journal
from anynet_study.store.frames import Frame, encode
from anynet_study.store.records import CURVES, RECORD_VERSION, RUN, SCHEMA, to_batch

TEXT = st.text(max_size=20)
CURVE = st.integers(0, 5)


@st.composite
def runs(draw: st.DrawFn) -> RunRecord:
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    epochs, images = draw(CURVE), draw(st.integers(0, 9))
    curves = {name: generator.normal(size=epochs).astype(np.float32) for name in CURVES}
    texts = {name: draw(TEXT) for name in ("message", "host", "device", "recipe", "spec")}
    numbers = {name: draw(st.floats()) for name in ("seconds", "started")}
    classes = generator.integers(0, 9, images).astype(np.uint16)
    replicate = draw(st.integers(-(2**31), 2**31 - 1))
    error = draw(st.floats(0, 100))
    arrays = {"curves": curves, "predictions": classes}
    return record(3, **texts, **numbers, **arrays, replicate=replicate, error=error)


def frame(message: bytes) -> Frame:
    return Frame(0, len(message), message, 0, RECORD_VERSION)


@given(st.lists(runs(), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_columns_are_those_of_arrow(records: list[RunRecord]) -> None:
    batches = [to_batch(one) for one in records]
    columns = Columns(RUN, [encode(batch, RECORD_VERSION) for batch in batches])
    table = pa.Table.from_batches(batches).combine_chunks()
    for field in SCHEMA:
        column = table[field.name].combine_chunks()
        if pa.types.is_string(field.type):
            assert columns.texts(field.name).equals(column)
        elif pa.types.is_list(field.type):
            assert columns.lengths(field.name).tolist() == column.value_lengths().to_pylist()
            assert columns.values(field.name).tobytes() == column.flatten().to_numpy().tobytes()
        else:
            mine = np.ascontiguousarray(columns.numbers(field.name))
            assert mine.tobytes() == column.to_numpy().tobytes()


def row(**changes: object) -> pa.RecordBatch:
    values = to_batch(record(1)).to_pydict()
    return pa.record_batch(pa.table(values | changes, SCHEMA).to_batches()[0])


BAD = {
    "status": row(status=["done"]),
    "metric": row(metric=["top2"]),
    "failure kind": row(failure_kind=["oom"]),
    "illegal engine": row(engine=["steam"]),
    "error": row(error=[101.0]),
    "illegal run_id": row(run_id=["../x"]),
    "one length": row(train_loss=[[1.0]]),
    "predictions must be": row(predictions=[[1, 65535]]),
    "needs a run_id": row(dataset=[""]),
    "UTF8": pa.record_batch(
        [
            pa.Array.from_buffers(
                pa.string(),
                1,
                [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")],
            )
            if name == "host"
            else to_batch(record(1))[name]
            for name in SCHEMA.names
        ],
        schema=SCHEMA,
    ),
    "2 rows": pa.Table.from_batches([row(), row()]).combine_chunks().to_batches()[0],
    "a value is missing": pa.record_batch(
        [
            pa.array([None], pa.float64()) if name == "error" else to_batch(record(1))[name]
            for name in SCHEMA.names
        ],
        schema=SCHEMA,
    ),
}


@pytest.mark.parametrize("reason", BAD)
def test_a_whole_record_that_is_no_run_is_reported_and_costs_no_other(
    tmp_path: Path, reason: str
) -> None:
    messages = [to_batch(record(0)), BAD[reason], to_batch(failed(2))]
    data = b"".join(encode(batch, RECORD_VERSION) for batch in messages)
    (tmp_path / "journals").mkdir()
    path = tmp_path / "journals" / "x.arrow"
    path.write_bytes(SCHEMA.serialize().to_pybytes() + data)
    out, report = make_store(tmp_path)
    assert report.runs == 2
    assert "is not a run" in report.problems[0]
    assert reason in report.problems[0]
    assert len(ResultStore(out).runs()) == len(read_journal(path).records) == 2


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_what_arrow_writes_otherwise_is_read(monkeypatch: pytest.MonkeyPatch, codec: str) -> None:
    with monkeypatch.context() as patched:
        usual = partial(pa.ipc.new_stream, options=pa.ipc.IpcWriteOptions(compression=codec))
        patched.setattr(pa.ipc, "new_stream", usual)
        odd = frame(encode(to_batch(record(1)), RECORD_VERSION))
    with pytest.raises(OddFrameError):
        Columns(RUN, [odd.message])
    problems: list[str] = []
    usual = frame(encode(to_batch(record(2)), RECORD_VERSION))
    frames, columns = records_of(RUN, [odd, usual], problems)
    assert problems == []
    assert columns.numbers("error").tolist() == [record(1).error, record(2).error]
    assert len(frames) == 2
