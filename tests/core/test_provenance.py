"""An installed package knows the commit that it was made from."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from anynet_study.core.provenance import VERSION_FILE, with_commit

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout")
def test_what_is_built_says_its_commit(tmp_path: Path) -> None:
    build = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    ask = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    told = (tmp_path / "anynet_study" / VERSION_FILE).read_text()
    release, _, made = told.removesuffix("+dirty").partition(" ")
    assert made == commit
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?(\.dev\d+)?", release)
    assert not (ROOT / "anynet_study" / VERSION_FILE).exists()


def test_where_there_is_no_checkout_it_is_the_release_alone(tmp_path: Path) -> None:
    assert with_commit("0.1.0", tmp_path) == "0.1.0"
