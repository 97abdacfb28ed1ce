"""Small tables of `anynet-study data` on the terminal."""


def print_table(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Print rows in as many columns as fit, long texts folded; numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=box.SIMPLE_HEAD, pad_edge=False, show_header=bool(header))
    for column, values in zip(table.columns, zip(*rows, strict=True), strict=False):
        if any(isinstance(value, int) for value in values):
            column.justify = "right"
        column.overflow = "fold"
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    Console(markup=False, highlight=False).print(table)
