"""What a folder of journals holds, as a table of records and their arrays."""

import tempfile
from functools import partial
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from store_factory import failed, make_store, record, write_journal

from anynet_study.metrics import CURVES
from anynet_study.store import JournalWriter, ResultStore, RunRecord, read_journal, read_journals
from anynet_study.store.frames import encode
from anynet_study.store.records import RUN, storable
from anynet_study.store.run_arrays import RunArrays

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


@given(st.lists(runs(), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.slow
def test_the_table_and_the_arrays_are_those_of_the_records(records: list[RunRecord]) -> None:
    with tempfile.TemporaryDirectory() as name, RunArrays(Path(name) / "x.h5") as arrays:
        # Hypothesis repeats runs; a journal is written once.
        write_journal(Path(name) / "x.arrow", records)
        table = read_journals(Path(name), arrays=arrays)
        for column in ("message", "host", "device", "recipe"):
            told = [storable(getattr(one, column)) for one in records]
            assert table[column].to_pylist() == told
        for column in ("replicate", "seconds", "started", "error"):
            numbers = [getattr(one, column) for one in records]
            np.testing.assert_equal(table[column].to_pylist(), numbers)
        order = np.arange(len(records))[::-1]
        specs = b"".join(storable(one.spec).encode() for one in records[::-1])
        assert arrays.read("spec", order).tobytes() == specs
        for column in CURVES:
            curves = b"".join(one.curves[column].tobytes() for one in records[::-1])
            assert arrays.read(column, order).tobytes() == curves
        classes = b"".join(one.predictions.tobytes() for one in records[::-1])
        assert arrays.read("predictions", order).tobytes() == classes
        lengths = [len(one.predictions) for one in records[::-1]]
        assert arrays.lengths("predictions", order).tolist() == lengths


def test_reading_goes_on_where_it_ended(tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "a.arrow") as journal:
        journal.append(record(0))
        first = read_journals(tmp_path)
        assert len(read_journals(tmp_path, after={"a.arrow": first["end"][-1].as_py()})) == 0
        journal.append(record(1))
        more = read_journals(tmp_path, after={"a.arrow": first["end"][-1].as_py()})
    assert more["run_id"].to_pylist() == [record(1).run_id]
    both = read_journals([tmp_path / "a.arrow"])
    assert both["run_id"].to_pylist() == [record(0).run_id, record(1).run_id]


def row(**changes: object) -> pa.RecordBatch:
    values = RUN.to_batch(record(1)).to_pydict()
    return pa.record_batch(pa.table(values | changes, RUN.schema).to_batches()[0])


BAD = {
    "status": row(status=["done"]),
    "metric": row(metric=["top2"]),
    "failure_kind": row(failure_kind=["oom"]),
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
            else RUN.to_batch(record(1))[name]
            for name in RUN.schema.names
        ],
        schema=RUN.schema,
    ),
    "2 rows": pa.Table.from_batches([row(), row()]).combine_chunks().to_batches()[0],
    "a value is missing": pa.record_batch(
        [
            pa.array([None], pa.float64()) if name == "error" else RUN.to_batch(record(1))[name]
            for name in RUN.schema.names
        ],
        schema=RUN.schema,
    ),
}


@pytest.mark.parametrize("reason", BAD)
def test_a_whole_record_that_is_no_run_is_reported_and_costs_no_other(
    tmp_path: Path, reason: str
) -> None:
    messages = [RUN.to_batch(record(0)), BAD[reason], RUN.to_batch(failed(2))]
    data = b"".join(encode(batch, RUN.version) for batch in messages)
    (tmp_path / "journals").mkdir()
    path = tmp_path / "journals" / "x.arrow"
    path.write_bytes(RUN.schema.serialize().to_pybytes() + data)
    out, report = make_store(tmp_path)
    assert report.runs == 2
    assert "is not a run" in report.problems[0]
    assert reason in report.problems[0]
    assert len(ResultStore(out).runs()) == len(read_journal(path).records) == 2


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_what_arrow_writes_otherwise_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    with monkeypatch.context() as patched:
        odd = partial(pa.ipc.new_stream, options=pa.ipc.IpcWriteOptions(compression=codec))
        patched.setattr(pa.ipc, "new_stream", odd)
        message = encode(RUN.to_batch(record(1)), RUN.version)
    usual = encode(RUN.to_batch(record(2)), RUN.version)
    header = RUN.schema.serialize().to_pybytes()
    (tmp_path / "x.arrow").write_bytes(header + message + usual)
    problems: dict[str, str] = {}
    table = read_journals(tmp_path, problems=problems)
    assert problems == {}
    assert table["error"].to_pylist() == [record(1).error, record(2).error]
