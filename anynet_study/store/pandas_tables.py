"""Arrow tables of results for pandas."""

import pandas as pd
import pyarrow as pa


def to_pandas(table: pa.Table, whole: bool = False) -> pd.DataFrame:
    """Coded text as text, a missing number as NaN; `whole`: whole numbers as Int64 where needed."""
    for number, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            texts = table.column(number).cast(pa.large_string())
            table = table.set_column(number, field.name, texts)
    # Starting threads takes a millisecond.
    frame = table.to_pandas(use_threads=len(table) > 100_000)
    if whole:
        integers = [field.name for field in table.schema if pa.types.is_integer(field.type)]
        made_floats = frame.select_dtypes("float").columns.intersection(integers)
        frame = frame.astype(dict.fromkeys(made_floats, "Int64"))
    return frame
