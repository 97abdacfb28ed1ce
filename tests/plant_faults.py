"""Plant faults in the code, and see whether the tests catch them.

    python tests/plant_faults.py [WORD]

Run by hand. Each fault of planted_faults.txt is made in a temporary copy of the package; then the
tests named with it run there. Prints "caught" or "MISSED" for each fault (those whose group, file
or text holds WORD, where that is given) and how many were caught, and exits with 1 where it is
fewer than `LEAST` demands. A text that is no longer there is an error: keep the list up to date
with the code.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: By group: how many of its faults the tests must catch.
LEAST = {"plots": 30, "report": 19, "faults": 74}


#: Tests that take so many seconds do not end for the fault's sake: it is caught.
LONGEST = 300.0


@dataclass(frozen=True)
class Fault:
    """One edit: `old` stands once or more in the file, and its first place becomes `new`."""

    file: str
    old: str
    new: str
    tests: str

    @property
    def group(self) -> str:
        """A figure, the page or what it says, or what survives faults and hostile files."""
        room = self.file.partition("/")[0]
        return {"plots": "plots", "report": "report", "analyses": "report"}.get(room, "faults")


def planted() -> list[Fault]:
    """All faults of planted_faults.txt."""
    faults, file, tests, old = [], "", "", ""
    for line in Path(__file__).with_name("planted_faults.txt").read_text("utf-8").splitlines():
        sign, text = line[:2], line[2:].replace("\\n", "\n")
        if sign == "- ":
            old = text
        elif sign == "+ ":
            faults.append(Fault(file, old, text, tests))
        elif line and sign != "# ":
            file, tests = line.split()
    return faults


def caught(fault: Fault, copy: Path) -> bool:
    """Whether its tests fail with the fault; the copy is as it was afterwards."""
    path = copy / "anynet_study" / fault.file
    text = path.read_text(encoding="utf-8")
    if fault.old not in text:
        raise SystemExit(f"{fault.file}: no {fault.old!r}; the list is out of date")
    path.write_text(text.replace(fault.old, fault.new, 1), encoding="utf-8")
    how = ["-q", "-x", "-n", "0", "-m", "", "-p", "no:cacheprovider"]  # slow ones, too
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *how, *fault.tests.split()],
            cwd=copy,
            env=environment,
            capture_output=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(text, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise SystemExit(f"{fault.tests}: {done.stdout.decode()[-2000:]}")
    return done.returncode == 1


def main(word: str = "") -> int:
    """Plant every fault that holds `word`, one after the other."""
    found: dict[str, list[bool]] = {group: [] for group in LEAST}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("anynet_study", "tests", "pyproject.toml"):
            source, ignored = ROOT / name, shutil.ignore_patterns("__pycache__")
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=ignored)
            else:
                shutil.copy(source, copy / name)
        for fault in planted():
            if any(word in text for text in (fault.group, fault.file, fault.old)):
                found[fault.group].append(caught(fault, copy))
                said = "caught" if found[fault.group][-1] else "MISSED"
                print(f"{said}  {fault.file}: {fault.old!r} -> {fault.new!r}", flush=True)
    for group, results in found.items():
        print(f"{group}: {sum(results)} of {len(results)} caught")
    enough = all(sum(results) >= LEAST[group] for group, results in found.items())
    return 0 if enough or word else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
