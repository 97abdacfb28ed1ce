"""The terminal on which sentences with names and numbers are printed."""

from typing import Any

from rich.console import Console

from anynet_study.cli.tables import harmless


class Terminal(Console):
    """rich's, but plain: names, which may be anybody's, give it no orders; with an ASCII minus."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, **options)

    def print(self, text: Any = "", **how: Any) -> None:  # type: ignore[override]
        """Print a text, or what rich itself made, such as a table."""
        plain = harmless(text).replace("−", "-") if isinstance(text, str) else text
        super().print(plain, **how)
