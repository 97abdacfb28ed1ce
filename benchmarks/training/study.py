"""A study's runs, trained as `anynet-study run` trains them.

    python -m benchmarks.training.study SWEEP OUT [KEY=VALUE ...]

The study is begun in the folder OUT: planned, given to this machine's workers, watched to its end.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from anynet_study.engine.dispatch import open_sweep, train_all
from anynet_study.engine.study_folder import StudyFolder


def main(sweep_file: Path, out: Path, overrides: Sequence[str]) -> None:
    study = replace(open_sweep(sweep_file, overrides), folder=StudyFolder(out))
    study.begin()
    train_all(study.folder, study.sweep, study.plan)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
