"""Which packages a machine lacks that has a Python and torch of its own, and perhaps no network.

    python -m benchmarks.gpu.wheels [-o FOLDER]

It prints a line for each requirement of this project and of its tests that is not met, with the
version that is there, if any, and writes the requirements to FOLDER/lacking.txt (default: the
current folder). Then it prints the commands that make their wheels, and that of the project, on a
machine with a network, and install them here. Needs nothing but Python 3.11 and its pip.
"""

import argparse
import platform
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
#: What the parts of `benchmarks.gpu` import, beside the project itself: `tests` is run by pytest.
EXTRAS = ("test",)
#: Tests that need a browser are no part of it.
NOT_NEEDED = ("playwright",)


def required(project: Path = PROJECT) -> list[Requirement]:
    """What the project and its tests require on this platform."""
    told = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    lines = [*told["dependencies"]]
    for extra in EXTRAS:
        lines += told["optional-dependencies"][extra]
    found = map(Requirement, lines)
    return [
        it for it in found if it.name not in NOT_NEEDED and (not it.marker or it.marker.evaluate())
    ]


def lacking(required: Sequence[Requirement]) -> Iterator[tuple[Requirement, str]]:
    """Those that are not met, with the version that is installed, or ""."""
    for requirement in required:
        try:
            there = version(requirement.name)
        except PackageNotFoundError:
            yield requirement, ""
            continue
        if not requirement.specifier.contains(there, prereleases=True):
            yield requirement, there


def main(arguments: Sequence[str]) -> int:
    made = argparse.ArgumentParser("python -m benchmarks.gpu.wheels")
    made.add_argument("-o", type=Path, default=Path(), help="folder for lacking.txt")
    folder = made.parse_args(arguments).o
    found = list(lacking(required()))
    for requirement, there in found:
        print(f"{requirement}  ({f'{there} is here' if there else 'not here'})")
    if not found:
        print("nothing is lacking but, perhaps, the project itself")
    lines = [f"{it.name}{it.specifier}" for it, _ in found]
    file = folder / "lacking.txt"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    python = "python{}.{}".format(*sys.version_info)
    fetch = f"\n  {python} -m pip wheel -w wheels -r lacking.txt" if found else ""
    print(f"""
{file} lists them. In the checkout on an {platform.machine()} with a network and {python}:{fetch}
  {python} -m pip wheel -w wheels --no-deps .
and here, with the folder `wheels` beside the checkout:
  {sys.executable} -m pip install --no-index --find-links wheels -r lacking.txt anynet-study""")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
