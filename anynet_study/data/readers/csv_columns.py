"""Which columns of somebody's table say what: as chosen, or guessed by their names."""

from collections.abc import Sequence
from dataclasses import dataclass

from anynet_study.data.choices import Choices

#: Names, in lower case, the surest first.
IMAGE = (
    "image_path",
    "img_path",
    "file_path",
    "filepath",
    "path",
    "file_name",
    "filename",
    "file",
    "image_id",
    "image_name",
    "image",
    "img",
    "id_code",
    "id",
    "name",
)
LABEL = (
    "label",
    "class",
    "class_name",
    "category",
    "target",
    "diagnosis",
    "dx",
    "species",
    "labels",
)
GROUP = ("group", "group_id", "patient_id", "patient", "lesion_id", "subject_id", "subject")
SPLIT = ("split", "subset", "set", "partition")


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table of images; None: it has no such column."""

    image: str
    label: str
    group: str | None
    split: str | None

    def names(self) -> tuple[str, ...]:
        """Those that there are; one may be called nothing."""
        names = (self.image, self.label, self.group, self.split)
        return tuple(name for name in names if name is not None)

    def words(self) -> str:
        """For the user."""
        told = [f"images in column {self.image!r}", f"classes in {self.label!r}"]
        told += [f"groups in {self.group!r}"] if self.group else []
        told += [f"splits in {self.split!r}"] if self.split else []
        return ", ".join(told)


def guess_columns(header: Sequence[str], choices: Choices) -> TableColumns | None:
    """The columns of a table with this `header`; None where those needed cannot be told.

    Of two columns one of which holds the images, the other holds the labels. A chosen column
    must be there.
    """
    image = _one(header, choices.image_column, IMAGE)
    label = _one(header, choices.label_column, LABEL)
    group = _one(header, choices.group_column, GROUP)
    if group is None and choices.group_column is not None:
        return None
    if label is None and choices.label_column is None and len(header) == 2 and image is not None:
        label = next(name for name in header if name != image)
    if image is None or label is None or image == label:
        return None
    return TableColumns(image, label, group, _one(header, None, SPLIT))


def _one(header: Sequence[str], chosen: str | None, names: tuple[str, ...]) -> str | None:
    if chosen is not None:
        return chosen if chosen in header else None
    by_name = {name.strip().lower(): name for name in reversed(header)}
    return next((by_name[name] for name in names if name in by_name), None)
