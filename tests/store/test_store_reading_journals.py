"""What a folder of journals holds, as a table of records and their arrays."""

from pathlib import Path

import pyarrow as pa
import pytest
from store_factory import failed, make_store, record

from anynet_study.store import JournalWriter, ResultStore, read_journal, read_journals
from anynet_study.store.frames import encode
from anynet_study.store.records import RUN


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
