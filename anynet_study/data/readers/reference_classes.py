"""The classes of a dataset that test sets refer to by number."""

from anynet_study.data.packed.meta import read_meta
from anynet_study.data.packed.root import dataset_folder
from anynet_study.data.source.source import Source
from anynet_study.errors import UserError

DEFAULT = "imagenet"


def reference_classes(source: Source, layout: str) -> tuple[str, ...]:
    """The classes, in order, of the packed dataset that `--classes-of` names; imagenet by default.

    UserError where it is not there.
    """
    name = source.choices.classes_of or DEFAULT
    path = dataset_folder(name) / "meta.json"
    if not path.is_file():
        raise UserError(
            f"{layout} numbers its classes as ImageNet does, and there is no dataset {name!r}: "
            f"add ImageNet first, or say with --classes-of which dataset it is"
        )
    return read_meta(path).classes
