"""The two ways a command ends badly, each with its exit code; and a reason in one line."""


class UserError(Exception):
    """Bad input: one clear line saying what, where and what is legal (exit code 2)."""


class WorkFailedError(Exception):
    """The input was fine, but some of the work failed (exit code 1)."""


def first_line(error: BaseException) -> str:
    """The first line of what an error of a library says, or else what it is called."""
    return str(error).partition("\n")[0] or type(error).__name__
