"""The folder of a study: where each file is, and how a study is begun and found again."""

import errno
import os
import shutil
import socket
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from anynet_study.core.errors import UserError
from anynet_study.core.files import read_regular, write_text
from anynet_study.core.functions import own_sources, source_digest
from anynet_study.core.progress import progress_if_long
from anynet_study.design_space import Population
from anynet_study.engine.sweep import POPULATION_FILE, PopulationSpec, Sweep, named, not_called

STUDIES = Path("studies")
#: How a file system says that it has no locks, as NFS without its daemon.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF)
#: Files younger than this, in seconds, may be of a command that is at work just now.
FRESH = 3600.0
#: A disk with less room than this, in bytes, is full.
FULL = 64 << 10


@dataclass(frozen=True)
class StudyFolder:
    """Paths inside `studies/<name>/`."""

    folder: Path

    @property
    def sweep_file(self) -> Path:
        return self.folder / "sweep.yaml"

    @property
    def population_file(self) -> Path:
        return self.folder / POPULATION_FILE

    @property
    def journals(self) -> Path:
        return self.folder / "journals"

    def new_journal(self, suffix: str = ".arrow") -> Path:
        """The file of a new journal: no other process, on whatever machine, has this name."""
        return self.journals / f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}{suffix}"

    def weights(self, run_id: str) -> Path:
        """Return where the final weights of a run are kept."""
        return self.weights_folder / f"{run_id}.pt"

    @property
    def weights_folder(self) -> Path:
        return self.folder / "weights"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def jobs(self) -> Path:
        """Return what was submitted: one file per launcher."""
        return self.folder / "jobs"

    @property
    def claims(self) -> Path:
        """Tell who is at which run: one file per run that a worker is at."""
        return self.folder / "claims"

    @property
    def code(self) -> Path:
        """Snapshots of the source, as it was at each launch: the package's, and a user's own."""
        return self.folder / "code"

    @property
    def datasets(self) -> Path:
        """The datasets as they were at the last launch, without their images."""
        return self.folder / "datasets"

    @property
    def digests_file(self) -> Path:
        """SHA-256, by path, of the files of weights that runs start from, at the last launch."""
        return self.folder / "weights.json"

    @property
    def functions_file(self) -> Path:
        """Digests of the source of functions that make networks, by name, at the last launch."""
        return self.folder / "functions.json"

    @property
    def launched_file(self) -> Path:
        """The sweep as it was at the last launch: what nobody edits, unlike `sweep.yaml`."""
        return self.folder / "launched.yaml"

    @property
    def measured_file(self) -> Path:
        """Tell how fast finished runs were before the sweep was changed (`CostModel.to_json`)."""
        return self.folder / "measured.json"

    def digests(self) -> dict[str, str]:
        """Return the digests in `digests_file`, if any. UserError for a file changed by hand."""
        return _read_digests(self.digests_file)

    def functions(self) -> dict[str, str]:
        """Return the digests in `functions_file`, if any. UserError for a file changed by hand."""
        return _read_digests(self.functions_file)

    def own_sources(self) -> dict[str, Path]:
        """The files of a user's own in which these functions are now (`functions.own_sources`)."""
        return {
            place: path for name in self.functions() for place, path in own_sources(name).items()
        }

    @property
    def parts(self) -> Path:
        """Folders that travel, among which runs were divided, each a study by itself."""
        return self.folder / "parts"

    @property
    def part_file(self) -> Path:
        """The ids of the runs that are trained in this folder, if it is a part of a study."""
        return self.folder / "part.json"

    def part(self) -> list[str] | None:
        """Return the run_ids in `part_file`; None where all runs of the study are trained here."""
        if not self.part_file.is_file():
            return None
        return TypeAdapter(list[str]).validate_json(read_regular(self.part_file))

    @property
    def results(self) -> Path:
        return self.folder / "results.h5"

    @property
    def distances(self) -> Path:
        """Tell how far apart its datasets are (`data distance --study`)."""
        return self.folder / "distances.csv"

    @property
    def report(self) -> Path:
        return self.folder / "report" / "report.html"

    @classmethod
    def open(cls, name: str | Path) -> "StudyFolder":
        """Find a study by its folder, or by its bare name under `studies/`; UserError if none."""
        for folder in (Path(name), STUDIES / name):
            if (folder / "sweep.yaml").is_file():
                return cls(folder)
        if Path(name).is_file():
            raise UserError(f"{name} is a file; this command needs a study, by its name or folder")
        there = sorted(path.parent.name for path in STUDIES.glob("*/sweep.yaml"))
        listed = f"there are: {', '.join(there)}" if there else f"{STUDIES}/ holds none"
        raise UserError(f"{name}: no such study; {listed}")

    @classmethod
    def of(cls, sweep: Sweep) -> "StudyFolder":
        """Return where the study of `sweep` is, or will be."""
        return cls(STUDIES / sweep.name)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse to begin where another process is at this study; a courtesy, not for safety.

        Where there are no locks (some NFS), nobody is refused.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise UserError(
                f"{self.folder}: another process is running this study; wait for it or stop it"
            ) from None
        except NotImplementedError:
            pass
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        try:
            yield
        finally:
            lock.release()

    def begin(self, sweep: Sweep, population: Population) -> None:
        """Begin this study, or go on with it: write its sweep and population.

        A larger population extends the one that is there; the costs of the same one may be counted
        elsewhere than before. Raises UserError where the folder holds
        a study of another population, before anything is written.
        """
        if self.population_file.exists():
            self.check_extends(population)
        text = sweep.to_yaml()
        same = self.population_file.exists() and self.population().equals(population)
        if not same:
            population.write(self.population_file)
        if not self.sweep_file.exists() or read_regular(self.sweep_file) != text.encode():
            write_text(self.sweep_file, text)

    def edited(self) -> dict[str, tuple[str, str]]:
        """Return what was edited in `sweep.yaml` since the last launch, by key: before, and now.

        Empty where nothing was, and in a study that an earlier version launched.
        """
        if not self.launched_file.exists():
            return {}
        return self.sweep().differences_from(Sweep.load(self.launched_file))

    def check_extends(self, population: Population) -> None:
        """Raise UserError where this folder holds a study that `population` does not extend."""
        there = self.population()
        laws = [one.sampling.get("space", {}).get("quantization") for one in (there, population)]
        if None not in laws and laws[0] != laws[1]:
            raise UserError(
                f"{self.folder} holds architectures drawn with quantization: {laws[0]}, this sweep "
                f"draws with {laws[1]}; write it into population.space, such as {{base: anynetx, "
                f"quantization: {laws[0]}}}, or give the sweep another `name`"
            )
        before, now = list(there.ids), list(population.ids)
        if now[: len(before)] == before:
            return
        if before[: len(now)] == now:
            raise UserError(
                f"{self.folder} holds {len(before)} architectures, population.count = {len(now)} "
                "is fewer: a study is only ever extended; give the sweep another `name` for a part "
                "of it"
            )
        raise UserError(
            f"{self.folder} holds a study of another population ({len(before)} architectures, "
            f"this sweep has {len(now)} others); give the sweep another `name`, "
            f"or remove that folder if its runs are not wanted"
        )

    def is_full(self) -> bool:
        """Tell whether the disk that holds the study has no room left, not even for a journal."""
        return shutil.disk_usage(self.folder).free < FULL

    def remove_litter(self, finished: Collection[str]) -> None:
        """Remove what is of no use any more: what a kill left half-written, checkpoints of finished
        runs, what ended jobs had to do, and all snapshots of the code but the last.

        Only while no job is at this study. What is fresh stays, for another command may be at it,
        on a file system without locks.
        """
        snapshots = sorted(self.code.glob("[!.]*"), key=lambda path: path.stat().st_mtime)
        jobs = (self.logs.glob(pattern) for pattern in ("*.json", "*.pkl", "*.sh"))
        for path in chain(_half_written(self.folder), *jobs, snapshots[:-1]):
            with suppress(FileNotFoundError):  # another command was faster
                if path.lstat().st_mtime < time.time() - FRESH:
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        for path in chain(self.checkpoints.glob("*.pt"), self.claims.glob("*")):
            if path.stem in finished:
                path.unlink(missing_ok=True)

    def sweep(self) -> Sweep:
        return Sweep.load(self.sweep_file)

    def population(self) -> Population:
        return Population.read(self.population_file, written=True)


def functions_now(population: Population) -> dict[str, str]:
    """Digests of the source of functions that make networks, by name; not of what is installed."""
    named_by = {name for name in population.names if name is not None and ":" in name}
    digests = {name: source_digest(own_sources(name)) for name in sorted(named_by)}
    return {name: digest for name, digest in digests.items() if digest}


def _read_digests(file: Path) -> dict[str, str]:
    if not file.is_file():
        return {}
    try:
        return TypeAdapter(dict[str, str]).validate_json(read_regular(file))
    except ValidationError:
        raise UserError(f"{file}: none that launch writes; remove it, and launch again") from None


def _half_written(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):  # unlike rglob, it takes what vanishes meanwhile
        for name in [*folders, *files]:
            if name.startswith(".") and name.endswith(".tmp"):
                yield Path(parent, name)


def sample(spec: PopulationSpec, trusted: bool = True) -> Population:
    """Draw or read the population of a sweep, with a sign of progress where that takes long.

    Functions that it names are called only if it is `trusted`; else UserError says which.
    """
    with progress_if_long("sampling", spec.count or 0) as on_found:
        return spec.population(on_found, named if trusted else not_called)
