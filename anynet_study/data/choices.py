"""How a source is to be read where it can be read in several ways."""

from dataclasses import dataclass, fields

from anynet_study.errors import UserError


@dataclass(frozen=True)
class Choices:
    """What the user chose, each an option of `data add`; None: the layout's own default."""

    #: Key of the layout, where more than one fits.
    layout: str | None = None
    #: Which labels, where there are several: those of CIFAR-100 are fine or coarse.
    labels: str | None = None
    #: Which of several test sets: of CCT-20 cis_test or trans_test, of CIFAR-10.1 v4 or v6.
    test_part: str | None = None
    #: Height and width in pixels of what is cut out around annotated points.
    patch_size: int | None = None
    #: The packed dataset in whose order a test set numbers its classes.
    classes_of: str | None = None
    #: Of a table of images: its file, and its columns.
    table: str | None = None
    image_column: str | None = None
    label_column: str | None = None
    group_column: str | None = None

    def chosen(self) -> dict[str, str]:
        """What was chosen, by option name, as text."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: str(value) for name, value in values if value is not None}

    def require_known(self, layout: str, known: tuple[str, ...]) -> None:
        """UserError for a choice that means nothing to `layout`, which knows `known` only."""
        for name in self.chosen():
            if name != "layout" and name not in known:
                option = f"--{name.replace('_', '-')}"
                legal = ", ".join(f"--{other.replace('_', '-')}" for other in known) or "none"
                raise UserError(f"{option} means nothing to layout {layout!r}; legal: {legal}")


#: Nothing chosen.
DEFAULTS = Choices()
