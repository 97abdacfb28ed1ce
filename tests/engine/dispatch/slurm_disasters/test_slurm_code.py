"""A package that is edited while its jobs are queued."""

import shutil

import pytest
from disaster_study import HELD, LONGEST_WAIT, DisasterStudy, begin_at_once, slurm

from anynet_study.core.provenance import PACKAGE
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import read_journal

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


def test_code_edited_after_the_launch_is_not_what_jobs_run(
    study: DisasterStudy, undisturbed: DisasterStudy
) -> None:
    checkout = study.above / PACKAGE.name
    shutil.copytree(PACKAGE, checkout, ignore=shutil.ignore_patterns("__pycache__"))
    launched = study.begin("launch", "sweep.yaml", HELD, PYTHONPATH=str(study.above))
    assert launched.wait(LONGEST_WAIT) == 0
    (job,) = study.jobs()
    for module in (
        "engine/dispatch/work.py",
        "engine/dispatch/worker.py",
        "engine/training/fast.py",
    ):
        assert (checkout / module).exists()
        (checkout / module).write_text("raise SystemExit('edited')\n")

    slurm("scontrol", "release", job)
    study.wait_for_a_run()
    slurm("scontrol", "requeue", job)
    begin_at_once(job)
    study.wait_for_its_jobs()
    assert study.done()
    assert ": saved on" in study.tell("logs", study.name, job).out  # in its first life
    files = StudyFolder(study.folder)
    journals = [read_journal(path) for path in files.journals.glob("*.arrow")]
    (version,) = {run.code_version for journal in journals for run in journal.records}
    assert [path.read_text() for path in files.code.glob("*/anynet_study/VERSION")] == [version]
    study.check(undisturbed)
