"""Running a function as a script of its own, for `analysis/`."""

import sys
from collections.abc import Callable

import typer

from anynet_study.errors import UserError


def script(function: Callable[..., None]) -> None:
    """Run `function` with arguments from the command line; bad input is one line, exit code 2."""
    try:
        typer.run(function)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
