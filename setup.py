"""What pyproject.toml cannot say: what is added to an installed package.

That is the commit that it was made from, and the sweep files.
"""

import runpy
from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent


class BuildWithAdditions(build_py):
    """Adds `VERSION` and `sweeps/` to the package, unless the checkout itself is installed."""

    def run(self) -> None:
        # An earlier build of this checkout may have left modules there that are gone since.
        rmtree(Path(self.build_lib) / "anynet_study", ignore_errors=True)
        super().run()
        if self.editable_mode:
            return
        provenance = runpy.run_path(str(HERE / "anynet_study" / "core" / "provenance.py"))
        told = provenance["with_commit"](self.distribution.get_version(), HERE)
        folder = Path(self.build_lib) / "anynet_study"
        (folder / provenance["VERSION_FILE"]).write_text(told, encoding="utf-8")
        others = ignore_patterns("*.md")
        copytree(HERE / "sweeps", folder / "sweeps", ignore=others, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithAdditions})
