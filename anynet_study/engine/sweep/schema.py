"""Explains the sweep file: its JSON schema, and the meaning of each key.

The meaning of a key is written once: in the comment (`#:`) above its field.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter

from anynet_study.core.errors import UserError
from anynet_study.design_space import SPACES, STEMS, AnyNet, RegNet, Skeleton
from anynet_study.engine.sweep.launch import Launch
from anynet_study.engine.sweep.population import PopulationSpec
from anynet_study.engine.sweep.sweep import DatasetSpec, RecipeSpec, Replicates, Sweep
from anynet_study.engine.sweep.text import legal_keys
from anynet_study.engine.sweep.tuning import Tuning
from anynet_study.engine.training import EvaluationSpec

PARTS = (PopulationSpec, DatasetSpec, RecipeSpec, Tuning, Replicates, EvaluationSpec, Launch)
COMMENT = re.compile(r"((?:^ +#: .*\n)+) +(\w+):", re.MULTILINE)
#: What a mapping for `population.space` has: the frame, and the keys of either family.
OF_SPACES = (Skeleton, AnyNet, RegNet)
#: Ranges that are one pair for all stages, or one for each.
BY_STAGE = ("depths", "widths")
BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}
#: Kinds of values.
KINDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "object": "mapping of keys",
}
Node = Mapping[str, Any]


@dataclass(frozen=True)
class Key:
    """A key of the sweep file."""

    path: str
    #: What values are legal, in words.
    kind: str
    #: The default as JSON; "" if it is null, a mapping or absent; "required" if the key must be
    #: given.
    default: str
    meaning: str


def json_schema() -> dict[str, Any]:
    """The JSON schema of sweep files, for editors; each key has a description."""
    schema = Sweep.model_json_schema()
    for model in (Sweep, *PARTS):
        part = schema if model is Sweep else schema["$defs"][model.__name__]
        for name, text in _comments(model).items():
            if name in part["properties"]:
                part["properties"][name]["description"] = text
    schema["$defs"]["Space"] = _space()
    choices = schema["$defs"][PopulationSpec.__name__]["properties"]["space"]["anyOf"]
    choices[:] = [{"type": "string", "enum": list(SPACES)}, {"$ref": "#/$defs/Space"}]
    datasets = schema["properties"]["datasets"]
    entry = datasets["additionalProperties"]
    datasets["additionalProperties"] = {"anyOf": [entry, {"type": "null"}]}
    entry = schema["$defs"][DatasetSpec.__name__]
    entry["properties"]["test_set_of"] = {
        "type": "string",
        "description": "The dataset whose networks are tested on this one too; none is trained.",
    }
    return {"title": "Sweep file of anynet-study", **schema}


def _space() -> dict[str, Any]:
    """The schema of a design space that is declared by changes to a named one."""
    base = {"type": "string", "enum": list(SPACES), "default": "anynetx"}
    base |= {"description": "The space that the other keys change."}
    keys: dict[str, Any] = {"base": base}
    for part in OF_SPACES:
        comments = _comments(part)
        for name, node in TypeAdapter(part).json_schema()["properties"].items():
            if name in BY_STAGE:
                node = {"default": node["default"], "anyOf": [node["items"], node]}
            if name == "stem":
                node["enum"] = list(STEMS)
            keys[name] = {"description": comments.get(name, "")} | node
    return {"type": "object", "properties": keys, "additionalProperties": False}


def explain(path: str) -> tuple[Key, list[Key]]:
    """Return a key such as `recipes.basic.epochs`, and the keys below it. `basic` may be any name.

    The empty path is the whole file. Raises UserError for an unknown key, with the legal ones.
    """
    schema = json_schema()
    node: Node = schema
    required = True
    for place, part in enumerate(parts := path.split(".") if path else []):
        below = _resolved(node, schema)
        if "properties" in below:
            if part not in below["properties"]:
                where = ".".join(parts[: place + 1])
                raise UserError(f"no key `{where}`{legal_keys(part, below['properties'])}")
            required, node = part in below.get("required", ()), below["properties"][part]
        else:
            values = below.get("additionalProperties")
            if not isinstance(values, Mapping):
                raise UserError(f"`{'.'.join(parts[:place])}` has no keys of its own")
            required, node = False, values
    return _key(path, node, required, schema), list(_below(node, schema))


def _below(node: Node, schema: Node) -> Iterator[Key]:
    inner, prefix = _resolved(node, schema), ""
    if "properties" not in inner and isinstance(inner.get("additionalProperties"), Mapping):
        prefix, inner = "NAME.", _resolved(inner["additionalProperties"], schema)
    for name, child in inner.get("properties", {}).items():
        yield _key(prefix + name, child, name in inner.get("required", ()), schema)


def _key(path: str, node: Node, required: bool, schema: Node) -> Key:
    value = node.get("default")
    default = "" if value is None or isinstance(value, dict) else json.dumps(value)
    meaning = node.get("description") or _resolved(node, schema).get("description", "")
    return Key(path, _kind(node), "required" if required else default, " ".join(meaning.split()))


def _resolved(node: Node, schema: Node) -> Node:
    """Follow a reference; among alternatives, choose the mapping."""
    if "$ref" in node:
        return _resolved(schema["$defs"][node["$ref"].rpartition("/")[2]], schema)
    for choice in node.get("anyOf", ()):
        found = _resolved(choice, schema)
        if found.get("type") == "object":
            return found
    return node


def _kind(node: Node) -> str:
    if "$ref" in node:
        return KINDS["object"]
    if "anyOf" in node:
        kinds = dict.fromkeys(_kind(choice) for choice in node["anyOf"])
        return " or ".join(kind for kind in kinds if kind != "null") or "null"
    if "const" in node or "enum" in node:
        return ", ".join(map(str, node.get("enum", [node.get("const")])))
    if node.get("type") == "array":
        items = node.get("prefixItems") or [node.get("items", {})]
        count = f"{len(items)} times " if "prefixItems" in node else ""
        return f"list of {count}{_kind(items[0])}"
    limits = [f"{words} {node[name]:g}" for name, words in BOUNDS.items() if name in node]
    kind = KINDS.get(node.get("type", ""), str(node.get("type", "any value")))
    return ", ".join([kind, *limits])


def _comments(model: type) -> dict[str, str]:
    """The comments above the fields of a model and of its base classes, by field."""
    found: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if part is not BaseModel and part.__module__.startswith("anynet_study."):
            for lines, name in COMMENT.findall(inspect.getsource(part)):
                texts = [line.strip().removeprefix("#:").strip() for line in lines.splitlines()]
                found[name] = " ".join(texts)
    return found
