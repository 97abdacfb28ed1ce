"""Print the commands and Python of README and guides as one bash script, for CI to run as a reader.

    python .ci/readme_commands.py README.md docs/*.md >commands.sh && bash -euo pipefail commands.sh

The convention: blocks fenced as ```bash are run by CI, in order, in one shell and one folder, so a
block may build on those before it. Blocks fenced as ```python are run as one script after them, for
they go on from each other, too. Blocks fenced as ```console or ```sh are only for reading:
commands that take hours, need a cluster, or show output. The block with `pytest` comes last,
wherever it stands, so that its closing line ends the output.
"""

import re
import shlex
import sys
from pathlib import Path

#: `set -e` stops without a word.
TELL = "trap 'echo \"failed ($?): $BASH_COMMAND\" >&2' ERR"
BLOCK = re.compile(r"^```bash *\n(.*?)^``` *$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python *\n(.*?)^``` *$", re.MULTILINE | re.DOTALL)
PYTEST = re.compile(r"^(python -m )?pytest\b", re.MULTILINE)


def script(text: str) -> str:
    """All blocks, each announced; SystemExit where there is no block, or not one with pytest."""
    # `set -e` overlooks a failure before `&&`; on lines of their own both commands count.
    blocks = [block.replace(" && ", "\n") for block in BLOCK.findall(text)]
    tests = [block for block in blocks if PYTEST.search(block)]
    if len(tests) != 1:
        raise SystemExit(f"{len(blocks)} bash blocks, {len(tests)} of them with pytest: not one")
    python = "\n".join(PYTHON.findall(text))
    snippets = [f"python - <<'END'\n{python}END\n"] if python else []
    ordered = [block for block in blocks if block not in tests] + snippets + tests
    return "\n".join([TELL, *(f"{announcement(block)}\n{block}" for block in ordered)])


def announcement(block: str) -> str:
    """A command that shows the block's lines before they run."""
    shown = "".join(f"$ {line}\n" for line in block.splitlines() if line)
    return f"printf '\\n%s' {shlex.quote(shown)}"


if __name__ == "__main__":
    print(script("\n".join(Path(name).read_text(encoding="utf-8") for name in sys.argv[1:])))
