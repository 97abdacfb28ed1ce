"""Which faults the tests would let through: plants them in a module, one at a time.

    python .ci/plant_faults.py anynet_study/analysis/apr/drivers.py --count 15
    python .ci/plant_faults.py anynet_study/data/splits.py --only 177 --tests tests/data

A fault is another operator, another comparison, another constant, or a negation that is dropped, in
functions and in constants of the module. The quick tests nearest to it have to find each: files of
its room whose names have the module's name, or that import from it; or else, whose text has it.
What survives is printed, and at last how many of how many. Not each survivor needs a test: some
change nothing that anybody could see.

No file is changed. Tests are read once; then each fault gets a child of this process, in which the
functions that were imported have other code. Processes that a test starts do not see the fault. A
fault that makes the tests take more than ten times as long is found: the child is ended.
"""

import argparse
import ast
import gc
import importlib
import os
import random
import re
import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType

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
Constant = bool | int | float | str | tuple | frozenset


@dataclass(frozen=True)
class Fault:
    """A node of a module's tree, and what is planted in its place."""

    node: ast.expr | ast.AugAssign
    other: ast.AST

    def __str__(self) -> str:
        return f"{self.node.lineno}: {ast.unparse(self.node)} -> {ast.unparse(self.other)}"

    def plant(self, tree: ast.Module) -> None:
        """Put it into the tree that its node is of; lines stay what they are."""
        fault = self

        class Planting(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> ast.AST:
                if node is not fault.node:
                    return self.generic_visit(node)
                return ast.fix_missing_locations(ast.copy_location(fault.other, fault.node))

        Planting().visit(tree)


def faults(tree: ast.AST) -> Iterator[Fault]:
    """All that can be planted in a tree, each node of which may have several.

    None in what declares (annotations, decorators, fields of classes), in messages of errors, and
    in texts that are put together.
    """
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Raise | ast.JoinedStr):
                continue
            if isinstance(tree, ast.ClassDef) and not isinstance(node, ast.FunctionDef):
                continue
            if isinstance(node, ast.expr | ast.AugAssign):
                yield from (Fault(node, other) for other in _others(node))
            yield from faults(node)


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


def nearest_tests(module: Path) -> list[str]:
    """The files of tests that are nearest to a module."""
    room = ROOT / "tests" / module.relative_to(ROOT / "anynet_study").parent
    while not room.is_dir():
        room = room.parent
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(room.rglob("test_*.py"))}
    imports = re.compile(rf"\b{module.stem} import\b")
    found = [file for file in texts if module.stem in file.stem or imports.search(texts[file])]
    word = re.compile(rf"\b{module.stem}\b")
    return list(map(str, found or [file for file in texts if word.search(texts[file])]))


Functions = dict[tuple[str, int], list[FunctionType]]


def functions_of(file: str) -> Functions:
    """All functions there are whose code is of this file, by name and line."""
    found: Functions = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename == file:
            key = one.__code__.co_qualname, one.__code__.co_firstlineno
            found.setdefault(key, []).append(one)
    return found


def take_over(tree: ast.Module, module: ModuleType, functions: Functions) -> None:
    """Give the functions of an imported module, and its constants, the code of `tree`."""
    file = str(module.__file__)
    space = {"__name__": module.__name__, "__file__": file, "__package__": module.__package__}
    exec(compile(tree, file, "exec"), space)
    for key, same in functions_of(file).items():
        new = [one for one in same if one.__globals__ is space]
        for one in functions.get(key, ()) if new else ():
            one.__code__ = new[0].__code__
            one.__defaults__, one.__kwdefaults__ = new[0].__defaults__, new[0].__kwdefaults__
    for name, value in space.items():
        was = vars(module).get(name)
        if isinstance(value, Constant) and value != was:
            for user in list(sys.modules.values()):
                if getattr(user, "__dict__", {}).get(name) is was:
                    setattr(user, name, value)


@dataclass
class Planter:
    """A plugin of pytest: in place of running the tests once, runs them with each fault."""

    file: Path
    choose: Callable[[list[Fault]], list[Fault]]
    planted: list[Fault] = field(default_factory=list)
    survived: list[Fault] = field(default_factory=list)

    def pytest_sessionstart(self) -> None:
        from hypothesis import Phase, settings  # a plugin of pytest, which has to import it first

        phases = (Phase.explicit, Phase.generate)  # the smallest example is of no interest
        settings.register_profile("faults", deadline=None, database=None, phases=phases)
        settings.load_profile("faults")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        name = ".".join(self.file.relative_to(ROOT).with_suffix("").parts)
        module = importlib.import_module(name.removesuffix(".__init__"))
        tree = ast.parse(self.file.read_bytes())
        gc.unfreeze()  # which tests/conftest.py froze
        functions = functions_of(str(module.__file__))
        gc.freeze()  # or the first collection of each child copies all memory
        self.planted = self.choose(list(faults(tree)))
        if not _passes(session, lambda: take_over(tree, module, functions), 3600.0):
            raise session.Failed("these tests fail, or there are none, without a fault")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        limit = 10.0 + 10.0 * (used.ru_utime + used.ru_stime)
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        for fault in self.planted:

            def plant(fault: Fault = fault) -> None:
                fault.plant(tree)
                take_over(tree, module, functions)

            if _passes(session, plant, limit):
                self.survived.append(fault)
                reporter.write_line(f"{self.file.relative_to(ROOT)}:{fault}", flush=True)
        return True


def _passes(session: pytest.Session, prepare: Callable[[], None], cpu_seconds: float) -> bool:
    """Whether all tests pass in a child that is prepared, within a limit."""
    child = os.fork()
    if child == 0:
        session.config.pluginmanager.unregister(name="terminalreporter")
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds), int(cpu_seconds)))
        code = 1
        try:
            prepare()
            for item, following in zip(session.items, [*session.items[1:], None], strict=True):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed:
                    break
            else:
                code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("module", type=Path)
    parser.add_argument("--tests", nargs="+", help="in place of the nearest")
    parser.add_argument("--only", type=int, metavar="LINE", help="faults of one line")
    parser.add_argument("--count", type=int, help="so many, drawn by chance; else all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    file = options.module.resolve()

    def chosen(all_there_are: list[Fault]) -> list[Fault]:
        mine = [fault for fault in all_there_are if options.only in (None, fault.node.lineno)]
        if options.count is None or options.count >= len(mine):
            return mine
        return random.Random(options.seed).sample(mine, options.count)

    planter = Planter(file, chosen)
    tests = options.tests or nearest_tests(file)
    if not tests:
        parser.error(f"no test names {options.module}: say --tests")
    how = ["-n", "0", "-qq", "--tb=no", "--no-summary", "-p", "no:cacheprovider"]
    code = pytest.main([*how, *tests], [planter])
    if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        planted, survived = len(planter.planted), len(planter.survived)
        print(f"| {file.relative_to(ROOT)} | {planted} | {survived} |")
    else:
        raise SystemExit(f"{file.relative_to(ROOT)}: {' '.join(tests)}: pytest ended with {code}")


if __name__ == "__main__":
    main()
