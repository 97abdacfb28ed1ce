"""Print the oldest releases that pyproject.toml allows, as a file of constraints for pip.

    python .ci/oldest.py >oldest.txt && pip install --constraint oldest.txt ".[test]"

Not torch: its release for the CPU is not among PyPI's, and those for CUDA take four gigabytes.
"""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

for requirement in PROJECT["dependencies"]:
    name, oldest = re.match(r"([\w-]+)>=([\w.]+)", requirement).groups()
    if name != "torch":
        print(f"{name}=={oldest}")
