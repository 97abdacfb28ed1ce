"""Which faults the tests would let through: plants one at a time in a copy of a module.

    python .ci/plant_faults.py anynet_study/analysis/apr/drivers.py
    python .ci/plant_faults.py anynet_study/store/*.py --count 15
    python .ci/plant_faults.py anynet_study/data/splits.py --only 177 --tests tests/data

A fault is another operator, another comparison, another constant, or a negation that is dropped.
The quick tests nearest to the module run first: files of its room whose names have the module's
name, or else whose text has it. What they let through meets the tests of the whole room. What
survives is printed, and then a table. Not each survivor needs a test: some change nothing that
anybody could see.

What runs is a copy of the checkout, in the temporary folder. A fault that makes the tests take more
than ten times as long is found: their process ends.
"""

import argparse
import ast
import importlib
import importlib.util
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: By each operator the one that is planted.
OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
#: Tests import them; they are imported once, before the process of the tests is forked.
LIBRARIES = (
    *("h5py", "matplotlib.pyplot", "numpy", "pandas", "pyarrow.parquet", "pydantic", "scipy.stats"),
    *("sklearn.ensemble", "statsmodels.api", "typer"),
)


@dataclass(frozen=True)
class Fault:
    """One place of a module (its characters `begin` to `end`), and what stands there instead."""

    line: int
    begin: int
    end: int
    was: str
    became: str

    def planted(self, source: str) -> str:
        """`source` with this fault."""
        return source[: self.begin] + self.became + source[self.end :]


def faults(source: str) -> list[Fault]:
    """All faults that can be planted in `source`, by their places."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = source.splitlines()

    def place(row: int, offset: int) -> int:
        """The character at an offset in bytes."""
        return starts[row - 1] + len(lines[row - 1].encode()[:offset].decode())

    found = []
    for node, other in _changes(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = place(node.lineno, node.col_offset)
        end = place(node.end_lineno, node.end_col_offset)
        became = ast.unparse(other)
        if isinstance(other, ast.BinOp | ast.BoolOp | ast.Compare):
            became = f"({became})"  # it may span lines, or stand in what binds closer
        found.append(Fault(node.lineno, begin, end, ast.unparse(node), became))
    return sorted(found, key=lambda fault: (fault.begin, fault.end, fault.became))


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.AugAssign, ast.AST]]:
    """Nodes, each with what is planted for it.

    None in annotations, which run nothing, in messages of errors, and in texts put together.
    """
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and not isinstance(node, ast.Raise | ast.JoinedStr):
                if isinstance(node, ast.expr | ast.AugAssign):
                    yield from ((node, other) for other in _others(node))
                yield from _changes(node)


def _others(node: ast.expr | ast.AugAssign) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            yield ast.Constant(number + 1)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.BinOp(left=left, right=right) if _is_text(left) or _is_text(right):
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OTHER:
            yield ast.BinOp(left, OTHER[type(op)](), right)
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in OTHER:
            yield ast.AugAssign(target, OTHER[type(op)](), value)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(OTHER[type(op)](), values)
        case ast.Compare(left=left, ops=ops, comparators=against):
            for number, op in enumerate(ops):
                others = [*ops[:number], OTHER[type(op)](), *ops[number + 1 :]]
                yield ast.Compare(left, others, against)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def nearest_tests(module: Path) -> tuple[list[str], str]:
    """Files of tests that are nearest to a module, and the folder of its room, from `ROOT`."""
    room = ROOT / "tests" / module.relative_to(ROOT / "anynet_study").parent
    while not room.is_dir():
        room = room.parent
    files = sorted(room.rglob("test_*.py"))
    named = [file for file in files if module.stem in file.stem]
    word = re.compile(rf"\b{module.stem}\b")
    near = named or [file for file in files if word.search(file.read_text(encoding="utf-8"))]
    return [str(file.relative_to(ROOT)) for file in near], str(room.relative_to(ROOT))


def copy_of_checkout(folder: Path) -> Path:
    """What git knows or would add, and `shared` where it lies beside."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    copy = folder / "anynet-study"
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (folder / "shared").symlink_to(ROOT.parent / "shared")
    return copy


def passes(copy: Path, tests: list[str], cpu_seconds: float) -> bool:
    """Whether these quick tests pass in the copy, in a process of their own, within a limit."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        os.environ["PYTHONPATH"] = str(copy)
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 1))
        said = os.open(copy.parent / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os._exit(pytest.main(["-n", "0", "-x", "--quiet", "--tb=no", *tests]))
    return os.waitpid(child, 0)[1] == 0


def survivors(module: Path, copy: Path, planted: list[Fault], tests: list[str]) -> list[Fault]:
    """Those of the planted faults that no test finds; they are printed as they are known."""
    steps = [tests] if tests else [part for part in nearest_tests(module) if part]
    steps = [[step] if isinstance(step, str) else step for step in steps]
    name = module.relative_to(ROOT)
    source, target = module.read_text(encoding="utf-8"), copy / name
    limits = []
    for step in steps:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not passes(copy, step, 3600):
            print((copy.parent / "said").read_text(encoding="utf-8")[-2000:])
            raise SystemExit(f"{name}: {' '.join(step)} fail without a fault")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        limits.append(20 + 10 * (after.ru_utime - before.ru_utime))
    kept = []
    for fault in planted:
        target.write_text(fault.planted(source), encoding="utf-8")
        # Of two versions of a second and a size, Python would take the one that it has compiled.
        Path(importlib.util.cache_from_source(str(target))).unlink(missing_ok=True)
        if all(passes(copy, step, limit) for step, limit in zip(steps, limits, strict=True)):
            kept.append(fault)
            print(f"{name}:{fault.line}: {fault.was} -> {fault.became}", flush=True)
    target.write_text(source, encoding="utf-8")
    Path(importlib.util.cache_from_source(str(target))).unlink(missing_ok=True)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="+", type=Path, metavar="MODULE")
    parser.add_argument("--tests", nargs="+", default=[], help="in place of the nearest")
    parser.add_argument("--only", type=int, metavar="LINE", help="faults of one line")
    parser.add_argument("--count", type=int, help="so many, drawn by chance; else all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for library in LIBRARIES:
        importlib.import_module(library)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of_checkout(Path(folder))
        for module in map(Path.resolve, options.modules):
            planted = faults(module.read_text(encoding="utf-8"))
            planted = [it for it in planted if options.only in (None, it.line)]
            if options.count is not None and options.count < len(planted):
                planted = random.Random(options.seed).sample(planted, options.count)
            kept = survivors(module, copy, planted, options.tests)
            rows.append(f"| {module.relative_to(ROOT)} | {len(planted)} | {len(kept)} |")
    print("\n".join(["| module | planted | survived |", "| --- | --- | --- |", *rows]))


if __name__ == "__main__":
    main()
