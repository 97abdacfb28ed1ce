"""Populations as JSON files: a list of published networks' names and of architectures' fields."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.populations.cells import groups_of
from anynet_study.design_space.populations.chosen import Chosen
from anynet_study.design_space.reference import reference
from anynet_study.errors import UserError
from anynet_study.files import write_text


def write_json(architectures: Iterable[Architecture], path: Path) -> None:
    """Write a list, one architecture a line, atomically."""
    lines = [json.dumps(architecture.to_dict()) for architecture in architectures]
    write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")


def read_json(path: Path) -> Chosen:
    """Read a list of `Architecture.to_dict` mappings and names. Raises UserError."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such population file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a readable JSON file ({error})") from None
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{path}: not a list of architectures")
    return from_entries(entries, lambda row: f"{path}: entry {row + 1}")


def from_entries(entries: Sequence[Any], name_of: Callable[[int], str]) -> Chosen:
    """Return the networks of names and mappings; UserErrors begin with the `name_of` an entry."""
    architectures = []
    for row, entry in enumerate(entries):
        try:
            named = isinstance(entry, str)
            architectures.append(reference(entry) if named else Architecture.from_dict(entry))
        except UserError as error:
            raise UserError(f"{name_of(row)}: {error}") from None
    return Chosen(groups_of(architectures), name_of)
