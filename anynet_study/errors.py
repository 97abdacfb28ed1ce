"""The two ways a command ends badly, each with its exit code."""


class UserError(Exception):
    """Bad input: one clear line saying what, where and what is legal (exit code 2)."""


class WorkFailedError(Exception):
    """The input was fine, but some of the work failed (exit code 1)."""
