"""The part of a store for strangers: what determines and explains results, nothing private.

Left out are how and where jobs ran: launch options, names of hosts and with them those of journals,
folders of absolute paths, names and passwords in addresses, and what looks like a key.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import h5py
import yaml

from anynet_study.core.errors import counted
from anynet_study.store.hdf5 import (
    CHECKSUMS,
    Objects,
    creating,
    fixed_texts,
    get_text,
    get_texts,
    read_distinct,
    set_text,
    write_texts,
)
from anynet_study.store.opening import naming_damage, opened
from anynet_study.store.records import EVALUATIONS_SUFFIX, SUFFIX

#: Of `launch`: what the numbers depend on, up to rounding.
KEPT_OF_LAUNCH = ("backend",)
#: Groups with texts that may be private, in which all else is copied.
GROUPS = ("runs", "evaluations", "journals", "labels", "datasets", "architectures")
#: As the package names journals: by host, process and time.
_JOURNAL = re.compile(rf".+-\d+-\d+(?=({re.escape(EVALUATIONS_SUFFIX)}|{re.escape(SUFFIX)})$)")
_LOGIN = re.compile(r"(?<=://)[^/\s@'\"]+@")
#: The folders of an absolute path, or of one in somebody's home.
_FOLDERS = re.compile(r"(?<![\w./~-])~?/(?:[^\s/'\",:;()\[\]{}<>|]+/)+")
#: What a key or password looks like, after its name where it has one.
KEYS = re.compile(
    r"""(?x)
    \b[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)[A-Z0-9_]*
      \s*[=:]\s*["']?[^\s"',]{6,}
    | (?i:\b(?:api[_-]?key|access[_-]?token|auth[_-]?token|password|passwd|secret)\b["']?)
      \s*[=:]\s*["']?(?!null\b|none\b)[^\s"',]{6,}
    | (?<=://)[^/\s:@'"]+:[^/\s@'"]+@
    | \bAKIA[0-9A-Z]{16}\b
    | \bgh[pousr]_[A-Za-z0-9]{30,}
    | \bgithub_pat_\w{30,}
    | \bhf_[A-Za-z0-9]{30,}
    | \bsk-[A-Za-z0-9_-]{20,}
    | \bxox[abprs]-[A-Za-z0-9-]{10,}
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----
    """
)


def keys_in(text: str) -> list[str]:
    """Return what looks like keys or passwords in a text: how each begins, not all of it."""
    return [f"{found[0][:12]}..." for found in KEYS.finditer(text)]


class Publication:
    """Makes texts ready to be published, and keeps count of what is left out of them."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        known = sorted((host for host in hosts if host), key=len, reverse=True)
        names = "|".join(map(re.escape, known))
        self._hosts = re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])") if names else None
        self._journals: dict[str, str] = {}
        #: Keys of `launch` that were stated, and how many texts lost something else.
        self.launch: list[str] = []
        self.hosts = known
        self.texts: set[str] = set()

    def left_out(self) -> list[str]:
        """Return what is left out, a line each; nothing where there was nothing private."""
        lines = [f"launch options: {', '.join(self.launch)}"] if self.launch else []
        lines += [f"names of hosts: {len(self.hosts)}"] if self.hosts else []
        lines += [f"names of journals: {len(self._journals)}"] if self._journals else []
        cut = counted(len(self.texts), "text")
        return [*lines, f"paths, logins or keys in {cut}"] if self.texts else lines

    def text(self, text: str) -> str:
        """A text without folders of absolute paths, hosts, logins and what looks like a key."""
        clean = KEYS.sub("[left out]", _LOGIN.sub("", text))
        clean = _FOLDERS.sub(".../", clean)
        clean = self._hosts.sub("[host]", clean) if self._hosts else clean
        if clean != text:
            self.texts.add(text)
        return clean

    def journal(self, name: str) -> str:
        """A number in place of a journal's host, process and time."""
        if not _JOURNAL.match(name):
            return self.text(name)
        number = str(len(self._journals) + 1)
        return self._journals.setdefault(name, _JOURNAL.sub(number, name))

    def sweep(self, text: str) -> str:
        """The YAML of a sweep without `launch`, but for KEPT_OF_LAUNCH."""
        content = yaml.safe_load(text) if text else None
        if not isinstance(content, dict):
            return self.text(text)
        launch = content.pop("launch", None)
        if isinstance(launch, dict):
            kept = {name: launch[name] for name in KEPT_OF_LAUNCH if launch.get(name)}
            content |= {"launch": kept} if kept else {}
            self.launch = [name for name in _stated(launch) if name not in kept]
        clean = self._value(content)
        if clean == content and launch is None:
            return text
        return str(yaml.safe_dump(clean, sort_keys=False, allow_unicode=True, width=100))

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._value(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._value(one) for one in value]
        return self.text(value) if isinstance(value, str) else value

    def provenance(self, made: dict[str, Any]) -> dict[str, Any]:
        """Return what a store says of how it was made."""
        return {
            name: self.sweep(value) if name == "sweep" else self._value(value)
            for name, value in made.items()
        }


def _stated(launch: dict[str, Any]) -> Iterator[str]:
    """The keys that say anything."""
    for name, value in launch.items():
        if isinstance(value, dict):
            yield from (f"{name}.{key}" for key in value)
        elif value is not None:
            yield name


def publish(source: Path, target: Path) -> list[str]:
    """Write a store anew without what is private; what was left out, a line each.

    What is only overwritten in HDF5 stays in the file. Raises UserError or OSError as reading a
    store and `hdf5.creating` do.
    """
    with naming_damage(source), opened(source) as old, creating(target, target) as new:
        made = Publication(_hosts_in(old))
        for name, value in old.attrs.items():
            _copy_attribute(old, new, name, value)
        for name, item in old.items():
            if name == "provenance":
                told = made.provenance(json.loads(item.asstr()[()]))
                new[name] = fixed_texts(json.dumps(told))
            elif name in GROUPS:
                _publish_group(made, item, new.create_group(name))
            elif name != CHECKSUMS:
                old.copy(item, new, name)
    return made.left_out()


def _publish_group(made: Publication, old: h5py.Group, new: h5py.Group) -> None:
    """Copy a table; texts that may be private are made ready."""
    cleaners: dict[str, Callable[[str], str]] = {
        "host": lambda host: "",
        "journal": made.journal,
        **dict.fromkeys(("message", "problem", "variant"), made.text),
    }
    for name, value in old.attrs.items():
        if name == "sampling":
            set_text(new, name, made.text(get_text(old, name)))
        else:
            _copy_attribute(old, new, name, value)
    for name, item in old.items():
        is_text = isinstance(item, h5py.Dataset) and h5py.check_string_dtype(item.dtype) is not None
        if not is_text or name not in cleaners:
            old.copy(item, new, name)
            continue
        texts = read_distinct(item).to_pylist()
        clean = {text: cleaners[name](text) for text in dict.fromkeys(texts)}
        write_texts(new, name, [clean[text] for text in texts])


def _copy_attribute(old: h5py.HLObject, new: h5py.HLObject, name: str, value: Any) -> None:
    kind = h5py.h5a.open(old.id, name.encode()).dtype
    if h5py.check_string_dtype(kind) is None:
        new.attrs.create(name, value, dtype=kind)
    else:
        scalar = h5py.h5a.open(old.id, name.encode()).shape == ()
        set_text(new, name, get_text(old, name) if scalar else get_texts(old, name))


def _hosts_in(file: h5py.File) -> Iterator[str]:
    """The names of all hosts that a store knows."""
    places = ("labels/host", "runs/host", "evaluations/host")
    found: set[str] = set()
    for place in places:
        item = file.get(place)
        if isinstance(item, h5py.Dataset) and h5py.check_string_dtype(item.dtype) is not None:
            found |= set(read_distinct(item).to_pylist())
    yield from sorted(found)


def texts_in(file: h5py.File) -> Iterator[tuple[str, str]]:
    """Every place with texts of a store, and all its different texts in lines."""
    for path, item in Objects(file).items():
        for name in item.attrs:
            if h5py.check_string_dtype(h5py.h5a.open(item.id, name.encode()).dtype) is not None:
                yield f"/{path}@{name}", "\n".join(get_texts(item, name))
        if not isinstance(item, h5py.Dataset) or path == CHECKSUMS:
            continue
        if h5py.check_string_dtype(item.dtype) is not None:
            texts = read_distinct(item).to_pylist() if item.shape else [item.asstr()[()]]
            yield f"/{path}", "\n".join(dict.fromkeys(texts))
        elif path == "specs/text":
            yield f"/{path}", item[()].tobytes().decode(errors="replace")
