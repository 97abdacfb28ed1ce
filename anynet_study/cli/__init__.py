"""The command line: `main` turns bad input into one line and an exit code."""

import os
import sys

from anynet_study.core.errors import UserError, WorkFailedError, printable


def main() -> None:
    """Run the command line; exit 0 done, 1 work failed, 2 bad input, 130 interrupted."""
    _prepare_streams()
    try:
        _run()
    except UserError as error:
        _stop(f"error: {error}", 2)
    except WorkFailedError as error:
        _stop(f"failed: {error}", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        is_file = isinstance(error, FileExistsError)  # as mkdir puts it
        reason = "is a file where a folder belongs" if is_file else error.strerror or error
        _stop(f"error: {where}{reason}", 1)
    except RecursionError:  # of JSON or YAML in somebody else's file
        _stop("error: a text in what was given is nested too deeply", 2)
    except KeyboardInterrupt:
        _stop("interrupted: finished work is kept; run the same command again to continue", 130)


def _run() -> None:
    """Run typer's app, undoing what typer and rich make of Ctrl-C and of a reader that left."""
    if sys.argv[1:2] == ["query"]:
        # It reads once: Arrow's own pool, by which collect is quicker, keeps what is free again.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        from anynet_study.cli.app import app

        app(prog_name="anynet-study")
    except SystemExit as ended:
        if ended.code == 130:
            raise KeyboardInterrupt from None
        if not isinstance(ended.__context__, BrokenPipeError):
            sys.stdout.flush()
            raise
    except BrokenPipeError:
        pass
    # The reader (head, less) has seen enough; what is still buffered must not fail at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _prepare_streams() -> None:
    """Replace standard streams that are closed; print what an encoding lacks as escapes."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # or the next file opened would get its number
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _stop(line: str, code: int) -> None:
    print(printable(" ".join(line.splitlines())), file=sys.stderr)
    sys.exit(code)
