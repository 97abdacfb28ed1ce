#!/usr/bin/env bash
# What a reader does, in a clone on a machine of their own (bare.sh): installs the package, and runs the
# commands of the README and the guides.
#
#   .ci/reader.sh PYTHON
set -euo pipefail
"$1" -m venv .venv
source .venv/bin/activate
pip install .
# From another folder: the installed package, with what it depends on alone.
(
    cd "$TMPDIR"
    python "$OLDPWD/.ci/import_all.py"
    python -m anynet_study run quickstart --dry-run
)
guides=(docs/{design-spaces,own-networks,data,training,cluster,analyses,own-analysis,results}.md)
python .ci/readme_commands.py README.md "${guides[@]}" >"$TMPDIR/readme.sh"
bash -euo pipefail "$TMPDIR/readme.sh"
