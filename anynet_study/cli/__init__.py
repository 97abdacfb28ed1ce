"""The command line: `main` turns bad input into one line and an exit code."""

import sys

from anynet_study.errors import UserError, WorkFailedError


def main() -> None:
    """Run the command line; exit 0 done, 1 work failed, 2 bad input, 130 interrupted."""
    from anynet_study.cli.app import app

    try:
        app()
    except UserError as error:
        _stop(f"error: {error}", 2)
    except WorkFailedError as error:
        _stop(f"failed: {error}", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _stop(f"error: {where}{error.strerror or error}", 1)
    except KeyboardInterrupt:
        _stop("interrupted: finished work is kept; run the same command again to go on", 130)


def _stop(line: str, code: int) -> None:
    print(line, file=sys.stderr)
    sys.exit(code)
