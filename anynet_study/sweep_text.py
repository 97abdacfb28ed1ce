"""Sweep files as text: YAML, `key.path=value` overrides, and one line for what is wrong."""

import difflib
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from anynet_study.errors import UserError


class _Loader(yaml.SafeLoader):
    """Refuses a key given twice, which plain YAML lets the last one win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key `{key}` is given twice", node.start_mark
                )
        return super().construct_mapping(node, deep)


def load_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping; UserError names the file and the line."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except FileNotFoundError:
        raise UserError(f"{path}: no such sweep file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    except yaml.MarkedYAMLError as error:
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise UserError(f"{path}: not valid YAML: {error.problem}{line}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: a sweep file is a mapping of keys, this is not")
    return content


def dump_yaml(content: dict[str, Any]) -> str:
    """Write a mapping as YAML, in its own order."""
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def apply_override(content: dict[str, Any], override: str) -> None:
    """Set `recipes.basic.epochs=3` in `content` in place; the value is read as YAML."""
    key, equals, value = override.partition("=")
    if not equals or not all(key.split(".")):
        raise UserError(f"override `{override}`: write it as key.path=value")
    *parents, last = key.split(".")
    for parent in parents:
        if content.get(parent) is None:
            content[parent] = {}
        content = content[parent]
        if not isinstance(content, dict):
            raise UserError(f"override `{override}`: `{parent}` is a value, it has no keys")
    try:
        content[last] = yaml.safe_load(value)
    except yaml.YAMLError:
        raise UserError(f"override `{override}`: the value is not valid YAML") from None


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """The first error in one line: the key, its value, what is legal; and how many more."""
    problems = error.errors(include_url=False)
    # An unknown key is most often the cause of the others.
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    where = ".".join(str(part) for part in first["loc"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if first["type"] == "extra_forbidden":
        unknown = str(first["loc"][-1])
        return f"unknown key `{where}`; {legal_keys(unknown, _fields(model, first['loc']))}{more}"
    if first["type"] == "missing":
        return f"`{where}` is missing{more}"
    message = first["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    if not where:
        return f"{message}{more}"
    value = "" if isinstance(first["input"], dict) else f" = {first['input']!r}"
    return f"`{where}`{value}: {message}{more}"


def legal_keys(unknown: str, legal: Iterable[str]) -> str:
    """`did you mean ...? legal keys: ...` for a key that does not exist."""
    legal = list(legal)
    near = difflib.get_close_matches(unknown, legal, n=1, cutoff=0.6)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return f"{hint}legal keys: {', '.join(legal)}"


def _fields(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The legal keys beside the one at `location`, walking models and mappings of models."""
    current: Any = model
    for part in location[:-1]:
        if isinstance(current, type) and issubclass(current, BaseModel):
            current = current.model_fields[str(part)].annotation
        else:  # a mapping: its values are the last type argument
            current = get_args(current)[-1]
    return list(current.model_fields)
