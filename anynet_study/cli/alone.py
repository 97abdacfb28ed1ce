"""One command at a time works at a study."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anynet_study.errors import UserError

if TYPE_CHECKING:
    from anynet_study.study_folder import StudyFolder


@contextmanager
def alone(study: "StudyFolder") -> Iterator[None]:
    """Refuse to begin where another process is at the same study; a courtesy, not for safety."""
    from filelock import FileLock, Timeout

    study.folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(study.folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise UserError(
            f"{study.folder}: another process is running this study; wait for it or stop it"
        ) from None
