"""What pyproject.toml cannot say: an installed package knows the commit that it was made from."""

import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent


class BuildWithVersion(build_py):
    """Writes `anynet_study/VERSION` into what is built, unless the checkout itself is installed."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        provenance = runpy.run_path(str(HERE / "anynet_study" / "core" / "provenance.py"))
        told = provenance["with_commit"](self.distribution.get_version(), HERE)
        folder = Path(self.build_lib) / "anynet_study"
        (folder / provenance["VERSION_FILE"]).write_text(told, encoding="utf-8")


setup(cmdclass={"build_py": BuildWithVersion})
