"""The networks that `anynet-study complexity` is asked for: by name, in files, in populations."""

import difflib
from pathlib import Path
from typing import Any, NamedTuple

from anynet_study.design_space import Architecture, Population, reference
from anynet_study.design_space.reference import (
    IMAGENET,
    NAMES,
    canonical,
    is_reference,
    published_at,
)
from anynet_study.errors import UserError

POPULATIONS = (".parquet", ".csv")
ARCHITECTURES = (".yaml", ".yml", ".json")


class Network(NamedTuple):
    """A network, and the image side and number of classes at which its costs are counted."""

    name: str
    architecture: Architecture
    resolution: int
    classes: int


def network_of(
    source: str, architecture_id: str, resolution: int | None, classes: int | None
) -> Network:
    """Find a network; without resolution or classes, it is counted where it was published.

    Raises UserError for what is neither a name nor a file, and for what is in no file.
    """
    published = published_at(source) if is_reference(source) else IMAGENET
    name, architecture = _found(source, architecture_id)
    return Network(
        name,
        architecture,
        published[0] if resolution is None else resolution,
        published[1] if classes is None else classes,
    )


def population_of(source: str, resolution: int | None, classes: int | None) -> Population:
    """Read a population, counted elsewhere where asked. Raises UserError."""
    population = Population.read(_population_file(source) or source)
    place = (
        population.resolution if resolution is None else resolution,
        population.classes if classes is None else classes,
    )
    there = place == (population.resolution, population.classes)
    return population if there else population.at(*place)


def is_population(source: str) -> bool:
    """Whether the name is that of a population's file or of a study, which has one."""
    return _population_file(source) is not None


def _found(source: str, architecture_id: str) -> tuple[str, Architecture]:
    path, population = Path(source), _population_file(source)
    if population is not None:
        if not architecture_id:
            raise UserError(f"{source}: give a population alone, or choose of it with --id")
        return architecture_id, Population.read(population).find(architecture_id)
    if _is_inline(source):
        architecture = Architecture.from_dict(_parsed(source))
        return architecture.id, architecture
    if is_reference(source):
        return canonical(source), reference(source)
    if path.suffix in ARCHITECTURES or path.exists():
        return source, Architecture.from_dict(_parsed(_text(path)))
    near = difflib.get_close_matches(source.lower(), NAMES, n=2)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    raise UserError(f"{source}: neither a file nor a reference network{hint}; --list shows these")


def _population_file(source: str) -> Path | None:
    """The file itself, or a study's; of JSON files, its beginning tells populations from others."""
    if _is_inline(source) or is_reference(source):
        return None
    path = Path(source)
    if path.suffix.lower() == ".json" and path.is_file():
        with path.open("rb") as file:
            return path if file.read(100).lstrip().startswith(b"[") else None
    if path.suffix.lower() in POPULATIONS:
        return path
    from anynet_study.study_folder import STUDIES, StudyFolder

    studies = [StudyFolder(path).population_file, StudyFolder(STUDIES / source).population_file]
    return next((file for file in studies if file.is_file()), None)


def _is_inline(source: str) -> bool:
    return source.lstrip().startswith("{")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror}; give a reference network (see --list), a YAML or JSON "
            f"file, JSON, or a population"
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file, so neither YAML nor JSON") from None


def _parsed(text: str) -> Any:
    """Parse YAML, of which JSON is a part."""
    from anynet_study.sweep.text import parse_yaml

    try:
        return parse_yaml(text)
    except ValueError as error:
        raise UserError(f"architecture: neither YAML nor JSON: {error}") from None
