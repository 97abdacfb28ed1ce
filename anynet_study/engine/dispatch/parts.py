"""A study in parts, where no disk is shared: folders that travel, and journals that come back."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from anynet_study.core.errors import UserError, counted
from anynet_study.core.files import replacing, replacing_folder, write_text
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.ledger import Call
from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.engine.dispatch.pack import pack_for_workers
from anynet_study.engine.dispatch.recorded import Retries
from anynet_study.engine.planning import PlannedRun
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import read_journals


def write_parts(
    study: OpenStudy, runs: Sequence[PlannedRun], asked: Retries, count: int
) -> list[Path]:
    """Divide runs among `count` folders, each a study by itself, of about equal length.

    They hold all but the images. Runs that start from others are with these, or with their weights.
    `asked`: the failed runs that are tried again. Raises UserError where there are parts already.
    """
    parts = study.folder.parts
    if parts.exists():
        raise UserError(
            f"{parts}: the study is in parts already; collect their journals (anynet-study collect "
            f"{study.folder.folder} --from FOLDER), and remove that folder"
        )
    with replacing_folder(parts) as made:
        for number, mine in enumerate(pack_for_workers(runs, count), 1):
            part = StudyFolder(made / str(number))
            replace(study, folder=part).begin()
            write_text(part.part_file, json.dumps([run.run_id for run in mine]))
            ledger.call_workers(part.jobs, Call.of(asked, mine))
            for start in {run.spec.pretrained.run_id for run in mine if run.spec.pretrained}:
                for path in study.folder.weights_folder.glob(f"{start}.*"):
                    part.weights_folder.mkdir(exist_ok=True)
                    shutil.copy2(path, part.weights_folder)
    return sorted(parts.iterdir())


def join_journals(study: OpenStudy, folders: Sequence[Path]) -> None:
    """Add the journals in some folders, or in their `journals/`, to those of a study.

    A journal that is there already in part, or whole, is the same one. Raises UserError, before
    anything is written, for folders without journals and for runs of another plan.
    """
    planned, found = study.plan.by_id, dict[Path, Path]()
    for folder in folders:
        inside = folder / "journals" if (folder / "journals").is_dir() else folder
        paths = sorted(inside.glob("*.arrow"))
        if not paths:
            raise UserError(
                f"{folder}: holds no journals; legal: a folder of *.arrow, or a study's"
            )
        strange = set(read_journals(paths)["run_id"].to_pylist()) - planned.keys()
        if strange:
            raise UserError(
                f"{inside}: {counted(len(strange), 'run')} of another plan than that of "
                f"{study.folder.folder}, such as {min(strange)} (other data, recipe or seeds)"
            )
        for path in paths:
            target = study.folder.journals / path.name
            if _is_more(path, target):
                found[target] = path
    for target, path in found.items():
        with replacing(target) as temporary:
            shutil.copyfile(path, temporary)


def _is_more(path: Path, target: Path) -> bool:
    """Tell whether a journal is to be copied: it is new, or goes on where the one that is there
    ends.
    """
    if not target.exists():
        return True
    there, came = target.read_bytes(), path.read_bytes()
    if not there.startswith(came) and not came.startswith(there):
        raise UserError(f"{path}: another journal than {target}, of the same name")
    return len(came) > len(there)
