#!/usr/bin/env bash
# Other Pythons than CI's own, and the oldest dependencies that pyproject.toml allows. Of each: installs
# the package as its users do; then, on a machine that nobody prepared (bare.sh), imports all of it, does
# the quickstart in miniature, and runs quick tests of what other packages do. A Python that is not on
# this machine is named, and left out.
#
#   .ci/matrix.sh FOLDER    # in a clone; FOLDER is for the environments, of 6 GB, one at a time
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/quietly.sh"

# torch for the CPU is published for some Pythons only; of the others it is that for CUDA, with 2.5 GB of
# libraries, which a reader installs as well.
rows=("3.12 newest" "3.13 newest")

# The path of a Python, on PATH or of pyenv.
python_of() {
    local name
    for name in "python$1" "$HOME/.pyenv/versions/$1".*/bin/python; do
        "$name" -c 'import sys; print(sys.executable)' 2>/dev/null && return
    done
    return 1
}

check='
    source .venv/bin/activate
    (
        cd "$TMPDIR"
        python "$OLDPWD/.ci/import_all.py"
        anynet-study run quickstart population.count=4 replicates.count=1 recipes.basic.overrides={} \
            recipes.basic.epochs=2 --resamples 200
    )
    cd tests
    pytest -n 0 --quiet core cli/test_{s,co}*.py design_space/test_design_population_files.py \
        engine/test_sweep.py engine/dispatch/test_dispatch_cost.py test_python.py \
        store/test_store_{documented,collecting}.py analysis/plots/test_s*.py \
        analysis/report/test_report_page.py'

for row in "${rows[@]}"; do
    read -r version dependencies <<<"$row"
    if ! python=$(python_of "$version"); then
        echo "Python $version: not on this machine, not tried"
        continue
    fi
    echo "Python $version with the $dependencies dependencies"
    clone=$1/$version/anynet-study
    git clone --quiet "$here/.." "$clone"
    "$python" -m venv "$clone/.venv"
    how=()
    if [[ $dependencies == oldest ]]; then
        "$clone/.venv/bin/python" "$here/oldest.py" >"$1/oldest.txt"
        how=(--constraint "$1/oldest.txt")
    fi
    quietly "$clone/.venv/bin/pip" install "${how[@]}" "$clone[test]"
    quietly "$here/bare.sh" "$clone" bash -euo pipefail -c "$check"
    rm -rf "$1/$version"
done
