"""Sweep files as text: YAML, `key.path=value` overrides, and one line for each mistake.

Nothing here knows about studies. `Strict` is the base class of every part of a sweep file.
"""

import os
import re
import reprlib
from collections.abc import Hashable, Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from anynet_study.core.errors import UserError, nearest
from anynet_study.core.files import read_regular

#: The tag of `<<`, which is not a key: it takes over the keys of another mapping.
MERGE = "tag:yaml.org,2002:merge"
#: By pydantic's name: what a user of YAML calls the types of values.
KINDS = {
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "list_type": "a list",
    "tuple_type": "a list",
}


#: The value of a key that is not there.
ABSENT = object()


class Strict(BaseModel):
    """A frozen part of a sweep file in which unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice (plain YAML takes the last one); `on` is a legal key."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:bool":
                key.tag = "tag:yaml.org,2002:str"
        named = [key for key, _ in node.value if key.tag != MERGE]
        keys = [self.construct_object(key, deep=True) for key in named]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key `{key}` is given twice", named[place].start_mark
                )
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Quotes texts that `_Loader` would read as numbers."""


#: 1e9 and 5.5e8 are numbers, as in YAML 1.2; PyYAML, which follows 1.1, wants 1.0e+9.
EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")
for _kind in (_Loader, _Dumper):
    _kind.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+0123456789"))


def shipped_sweeps() -> dict[str, Path]:
    """The sweep files that come with this package, by name: `quickstart`, `ablations/a1`.

    They lie in the package where it is installed, and beside it in a checkout.
    """
    package = Path(str(files("anynet_study")))
    for folder in (package / "sweeps", package.with_name("sweeps")):
        if found := sorted(folder.rglob("*.yaml")):
            return {path.relative_to(folder).with_suffix("").as_posix(): path for path in found}
    return {}


def sweep_path(given: str) -> Path:
    """The file of a sweep that is given by its path, or by the name of a shipped one.

    A file that is called as a shipped sweep is read if it is given as a path: `./quickstart`.
    Raises UserError for what is neither.
    """
    shipped = shipped_sweeps()
    if given in shipped:
        return shipped[given]
    if Path(given).suffix or os.path.exists(given):  # Path.exists fails for a name that is too long
        return Path(given)
    raise UserError(
        f"{given}: no such file, and no sweep of this package{nearest(given, shipped)}; "
        f"these are {', '.join(shipped)}"
    )


def load_yaml(path: Path, kind: str = "sweep file") -> dict[str, Any]:
    """Read a YAML mapping. UserError names the file, the line, and what is legal."""
    try:
        content = parse_yaml(read_regular(path, 16 << 20).decode("utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such {kind}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text file in UTF-8 (byte {error.start})") from None
    except ValueError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: a {kind} is a mapping of keys, this is not")
    return content


def parse_yaml(text: str) -> Any:
    """Read YAML. ValueError says in one line what is wrong."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise ValueError(f"{error.problem}{line}") from None
    except (yaml.YAMLError, ValueError) as error:  # such as a date in month 13
        raise ValueError(" ".join(str(error).split())) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def dump_yaml(content: dict[str, Any]) -> str:
    """Write a mapping as YAML, in its own order."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def apply_override(content: dict[str, Any], override: str) -> None:
    """Set `recipes.basic.epochs=3` in `content` in place; the value is read as YAML."""
    key, equals, value = override.partition("=")
    if not equals or not all(key.split(".")):
        raise UserError(f"override `{override}`: write it as key.path=value")
    *parents, last = key.split(".")
    for parent in parents:
        if content.get(parent) is None:
            content[parent] = {}
        if not isinstance(content[parent], dict):
            raise UserError(f"override `{override}`: `{parent}` is a value, it has no keys")
        # Two places that share a mapping by an alias hold the same object.
        content[parent] = content = dict(content[parent])
    try:
        content[last] = parse_yaml(value)
    except ValueError as error:
        raise UserError(f"override `{override}`: the value is not valid YAML: {error}") from None


def differences(before: Any, now: Any, key: str = "") -> dict[str, tuple[str, str]]:
    """Compare the contents of two sweep files: by key, the values of both as they are written.

    The value is "" on the side where there is no such key. A key that only one side has is named
    as a whole, with all keys below it.
    """
    if before == now:
        return {}
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        return {key: (_written(before), _written(now))}
    found: dict[str, tuple[str, str]] = {}
    for name in dict.fromkeys([*before, *now]):
        below = f"{key}.{name}" if key else str(name)
        found |= differences(before.get(name, ABSENT), now.get(name, ABSENT), below)
    return found


def _written(value: Any) -> str:
    """A value in one line of YAML."""
    if value is ABSENT:
        return ""
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, sort_keys=False, width=1 << 20)
    return text.removesuffix("...\n").strip()


def describe(error: ValidationError, model: type[BaseModel], content: Any) -> str:
    """Say in one line what is wrong: the first error, and all keys that are missing.

    `content` is what was validated.
    """
    problems = error.errors(include_url=False)
    missing = [_missing(problem, content) for problem in problems if problem["type"] == "missing"]
    told = [f"missing: {', '.join(missing)}"] if missing else []
    # An unknown key is most often the cause of the others.
    unknown = ("extra_forbidden", "invalid_key")
    wrong = [problem for problem in problems if problem["type"] != "missing"]
    wrong.sort(key=lambda problem: problem["type"] not in unknown)
    if wrong:
        first, others = wrong[0], len({_key(problem, content) for problem in wrong}) - 1
        where, more = _key(first, content), f" (and {others} more)" if others else ""
        if first["type"] in unknown:
            legal = _fields(model, first["loc"])
            said = f"unknown key `{where}`{legal_keys(first['loc'][-1], legal)}"
        else:
            said = _wrong(first, where)
        told.insert(0, f"{said}{more}")
    return "; ".join(told)


def _missing(problem: ErrorDetails, content: Any) -> str:
    """Name a missing key. A validator's own message says what could be there instead."""
    note = "" if problem["msg"] == "Field required" else f" ({problem['msg']})"
    return f"`{_key(problem, content)}`{note}"


def _wrong(problem: ErrorDetails, where: str) -> str:
    """Name a key, its value, and what is legal."""
    if problem["type"] in KINDS:
        message = f"should be {KINDS[problem['type']]}"
    else:
        message = problem["msg"].removeprefix("Value error, ")
        message = message[0].lower() + message[1:]
    if not where:
        return message
    value = "" if isinstance(problem["input"], dict) else f" = {_short(problem['input'])}"
    return f"`{where}`{value}: {message}"


def _key(problem: ErrorDetails, content: Any) -> str:
    """The key of a problem, without what pydantic adds to it (such as members of a union)."""
    path = []
    for part in problem["loc"]:
        if isinstance(content, Mapping):
            is_key = part in content
        else:
            is_key = isinstance(part, int) and isinstance(content, list) and part < len(content)
        if is_key:
            content = content[part]
        if is_key or (problem["type"] == "missing" and part == problem["loc"][-1]):
            path.append(str(part))
    return ".".join(path)


def _short(value: Any) -> str:
    """A value as Python writes it, shortened if it is long."""
    shortener = reprlib.Repr()
    shortener.maxstring = shortener.maxother = 80
    return shortener.repr(value)


def legal_keys(unknown: object, legal: Iterable[str]) -> str:
    """` (did you mean ...?); legal keys: ...` for a key that does not exist."""
    return f"{nearest(unknown, legal)}; legal keys: {', '.join(legal)}"


def _fields(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The legal keys at `location`, found by walking through models and mappings of models."""
    current: Any = model
    for part in location[:-1]:
        if isinstance(current, type) and issubclass(current, BaseModel):
            current = current.model_fields[str(part)].annotation
        else:  # a mapping: its values are the last type argument
            current = get_args(current)[-1]
        inner = [it for it in get_args(current) if hasattr(it, "model_fields")]
        current = inner[0] if type(None) in get_args(current) and inner else current
    return list(current.model_fields)
