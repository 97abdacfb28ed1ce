"""What takes far more memory than its file is large is refused before it takes it."""

import resource
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anynet_study.cli.rows import Format, print_rows, save_rows
from anynet_study.core.errors import UserError
from anynet_study.core.files import within_memory
from anynet_study.core.sheets import read_sheet
from anynet_study.core.sql import engine, fetch
from anynet_study.design_space import Population

MIB = 1 << 20
UNLIMITED = resource.getrlimit(resource.RLIMIT_AS)


def test_the_limit_is_on_what_comes_on_top_and_only_inside() -> None:
    held = bytes(300 * MIB)
    with within_memory("x", 100 * MIB):
        small = bytes(50 * MIB)
    with (
        pytest.raises(UserError, match=r"^here: takes more than 0\.0977 GiB of memory$"),
        within_memory("here", 100 * MIB),
    ):
        bytes(150 * MIB)
    assert resource.getrlimit(resource.RLIMIT_AS) == UNLIMITED
    assert len(held) > len(small) == len(bytes(150 * MIB)) / 3


def test_threads_do_not_take_each_other_s_limit() -> None:
    """Else one would put back, as what was before, what the other had set."""
    inside, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with within_memory("first"):
            inside.set()
            go_on.wait(10)

    def second() -> None:
        with within_memory("second"):
            pass

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    inside.wait(10)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join()
    assert resource.getrlimit(resource.RLIMIT_AS) == UNLIMITED


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    """100 kB: a text of 1 MB that each of 2,000 rows refers to."""
    text = pa.array(["x" * 1_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2_000, np.int32)), text)
    models = [f"m{number}" for number in range(2_000)]
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"model": models, "note": column}), path)
    assert path.stat().st_size < MIB
    return path


def test_a_dictionary_of_one_long_text(dictionary: Path) -> None:
    with pytest.raises(UserError, match=r"table\.parquet: takes more than 0\.75 GiB of memory$"):
        read_sheet(dictionary)


def test_in_the_place_of_a_population(dictionary: Path) -> None:
    with pytest.raises(UserError, match=r"table\.parquet"):
        Population.read(dictionary)


@pytest.mark.slow
def test_functions_whose_memory_the_database_does_not_count() -> None:
    with engine() as connection, pytest.raises(UserError, match=r"^sql: more than 1GiB needed"):
        fetch(connection, "select histogram(range) from range(50000000)")


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_answers_that_a_format_cannot_hold(form: Format, tmp_path: Path) -> None:
    with engine() as connection:
        rows = fetch(connection, "select * from test_all_types()")
    legal = rf"^not to be written as {form} \(.+\); cast it in SQL"
    with pytest.raises(UserError, match=legal):
        save_rows(rows, form, tmp_path / "rows")
    assert list(tmp_path.iterdir()) == []
    if form != "parquet":  # which is not for the terminal
        with pytest.raises(UserError, match=legal):
            print_rows(rows, form)
