"""SQL over a store's tables: what it gives, and that it can do nothing else."""

import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_factory import failed, make_store, record

from anynet_study.core import sql as module
from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore, run_sql

RUNS = [*(record(number) for number in range(1, 18)), failed(0)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    return ResultStore(make_store(tmp_path_factory.mktemp("store"), RUNS)[0])


@pytest.mark.parametrize(
    "statement",
    [
        "select dataset, count(*), avg(error) from runs group by dataset order by dataset",
        "select r.run_id, d.classes, d1 from runs r join datasets d using (dataset) order by 1",
        "select run_id, max(test_top1) from curves group by run_id order by run_id",
        "select a.d1, sum(c.epoch) from curves c, architectures a "
        "where a.architecture = c.architecture group by a.d1 order by a.d1",
        "select architecture, digits from errors where digits is not null order by 2",
        "select count(*), count(error), sum(replicate) from runs",
        "with best as (select dataset, min(error) e from runs group by dataset) "
        "select r.run_id from runs r, best b where r.dataset = b.dataset and r.error = b.e "
        "order by 1",
        "select status, error from runs where error is null or error > 99 order by run_id",
    ],
)
def test_the_answers_are_those_of_another_database(store: ResultStore, statement: str) -> None:
    """SQLite, given the whole tables."""
    with sqlite3.connect(":memory:") as other:
        for table in ("runs", "architectures", "datasets", "curves", "errors"):
            columns = store.columns(table) if table == "runs" else None  # type: ignore[arg-type]
            rows = store.table(table, columns).to_pandas()  # type: ignore[arg-type]
            rows.to_sql(table, other, index=False)
        expected = other.execute(statement).fetchall()
    found = run_sql(store, statement)
    assert len(expected) > 0
    assert [len(row) for row in expected] == [found.num_columns] * len(expected)
    for mine, theirs in zip(found.to_pylist(), expected, strict=True):
        assert list(mine.values()) == [
            pytest.approx(value, rel=1e-15) if isinstance(value, float) else value
            for value in theirs
        ]
    other.close()


@pytest.mark.parametrize(
    "statement",
    [
        "from runs",
        "select r from runs r",
        "select * exclude (error) from runs",
        "select a.* from runs a natural join runs b",
        "select count(*) from runs a natural join (select * from runs) b",
        "select runs, error from runs",
        "select r, error as r from runs r",
        "select #1 from runs",
        "select a, c from runs x(a, b, c)",
        "select columns('e.*') from runs",
        "summarize runs",
    ],
)
def test_what_names_no_columns_means_all(store: ResultStore, statement: str) -> None:
    whole = store.table("runs", store.columns("runs"))
    with module.engine() as connection:
        connection.register("runs", whole)
        expected = module.fetch(connection, statement)
    assert run_sql(store, statement).equals(expected)


def test_sums_of_whole_numbers_are_whole(store: ResultStore) -> None:
    found = run_sql(
        store, "select sum(replicate) a, sum(flops) * (10::hugeint ** 20)::hugeint b from runs"
    )
    assert found.schema.types == [pa.int64(), pa.float64()]
    assert found["a"][0].as_py() == sum(run.replicate for run in RUNS)


REFUSED = {
    "delete from runs": "only SELECT is legal",
    "create table x as select 1": "only SELECT is legal",
    "copy (select 1) to 'stolen.csv'": "only SELECT is legal",
    "attach 'stolen.db'": "only SELECT is legal",
    "pragma database_list": "only SELECT is legal",
    "explain analyze select 1": "only SELECT is legal",
    "call enable_logging()": "only SELECT is legal",
    "select 1; select 2": "2 statements; legal is one SELECT",
    "select 1; copy (select 1) to 'stolen.csv'": "only SELECT is legal",
    "": "0 statements",
    "-- nothing": "0 statements",
    "selec 1": 'syntax error at or near "selec"',
    "select eror from runs": 'column "eror" not found in FROM clause! Candidate bindings: "error"',
    "select 1 from nothing": "no table 'nothing'; there are: runs, architectures, datasets, ",
    "select ?": "parameter",
    "select avg(dataset) from runs": "avg",
    "select * from 'secret.csv'": "disabled by configuration",
    "select * from read_csv('secret.csv')": "disabled by configuration",
    "select * from enable_logging(storage := 'file')": "locked",
    "select * from secret": "no table 'secret'; there are: runs, ",
    "select list(range) from range(1000000000)": "more than .* needed: select less",
}


@pytest.mark.parametrize(("statement", "reason"), REFUSED.items())
def test_anything_but_a_select_over_the_tables_is_refused_in_one_line(
    store: ResultStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    statement: str,
    reason: str,
) -> None:
    # Less memory than there is, which takes seconds to fill.
    monkeypatch.setattr(module, "_SETTINGS", module._SETTINGS | {"memory_limit": "64MiB"})
    secret = pa.table({"x": [1]})  # a variable is no table
    (tmp_path / "secret.csv").write_text("x\n1\n")
    monkeypatch.chdir(tmp_path)
    before = store.path.read_bytes()
    with pytest.raises(UserError, match=reason) as raised:
        run_sql(store, statement)
    assert str(raised.value).startswith("sql: ")
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert store.path.read_bytes() == before
    del secret


PIECES = [
    *("select", "from", "where", "group by", "order by", "limit", "as", "join", "using", "*"),
    *("runs", "errors", "curves", "datasets", "error", "dataset", "digits", "d1", "run_id", "x"),
    *("(", ")", ",", ";", "=", "1", "'a'", "'x.csv'", "count(*)", "avg", "read_csv", "copy", "to"),
    *("union", "all", "with", "natural", "pivot", "on", "--", "$1", "?", "null", "."),
]


@given(
    st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join),
        st.lists(st.sampled_from(PIECES), max_size=8).map(
            lambda parts: " ".join(["select", *parts])
        ),
        st.text(max_size=40),
    )
)
@settings(max_examples=80, deadline=None, derandomize=True)
@pytest.mark.slow
def test_any_text_is_a_select_or_one_line(store: ResultStore, text: str) -> None:
    complaint = "sql: "
    try:
        assert isinstance(run_sql(store, text), pa.Table)
    except UserError as error:
        complaint = str(error)
    assert complaint.startswith("sql: ")
    assert len(complaint.splitlines()) == 1
