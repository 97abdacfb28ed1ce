"""The engine on a GPU that it has never seen: what works, how fast it is, in one file to send back.

    python -m benchmarks.gpu [-o gpu.json] [--only PART ...] [--quick] [--device cuda|cpu]

Each part runs in a process of its own and for a limited time: what fails is told with its reason,
and the others go on. The file is written after each part. All of them take less than 30 minutes.
With `--device cpu` what needs no GPU is tried as it would be on one; `--quick` is for that.

Exit code 1 where a part failed or a goal was missed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Literal

import numpy as np
import torch
from PIL import Image

from anynet_study.data import DatasetView, Decoders, JpegImages, add_dataset
from anynet_study.dispatch.process import Interruption, keep_freed_memory
from anynet_study.dispatch.recorded import NO_RETRIES
from anynet_study.dispatch.snapshot import take
from anynet_study.dispatch.worker import train_runs
from anynet_study.files import write_text
from anynet_study.models import backend_here
from anynet_study.planning.memory import MOST, device_memory, run_bytes
from anynet_study.store import read_journal
from anynet_study.study_folder import StudyFolder
from anynet_study.training import DeviceImages, Options, Outcome, RunSpec, make_trainer, train
from anynet_study.training.feeds import BatchStream, StreamedFeed
from benchmarks.layers import JOINED, KINDS, SIDES, WAYS, WIDTH, activations, seconds
from benchmarks.serving import BATCH
from benchmarks.training.checks import STEP_TOLERANCE, first_step
from benchmarks.training.task import Task, data_in
from benchmarks.training.ways import Way, measure

#: Runs an hour on an H200: CIFAR-10 for 30 epochs, and 40,000 images of 224 pixels for 20.
GOALS = {32: 350.0, 224: 62.0}
IMAGES_OF_A_RUN = {32: 30 * 50_000, 224: 20 * 40_000}
#: Images that the paper's study reads of ImageNet: 10 epochs for each cohort of its 500 networks.
IMAGENET_READ = -(-500 // MOST) * 10 * 1_281_167
#: Side of the images that are fed: ImageNet's, as they are packed for crops of 224.
PHOTO = 256
#: Steps of which the time is taken apart.
STEPS_PROFILED = 30
#: A line of a part: what, how much, and the goal.
TABLE = "{:<44} {:>26}  {}"


@dataclass(frozen=True)
class Row:
    """One thing measured."""

    what: str
    value: float | str
    goal: str = ""
    #: None: there is no goal.
    reached: bool | None = None


@dataclass(frozen=True)
class Part:
    """What became of a part."""

    rows: list[Row] = field(default_factory=list)
    seconds: float = 0.0
    #: Why it failed, or was left out; "" otherwise.
    failed: str = ""
    skipped: str = ""


@dataclass(frozen=True)
class Setup:
    """What a part is given."""

    device: torch.device
    quick: bool
    folder: Path

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def task(self, name: str, runs: int, epochs: int, steps: int, side: int = 32) -> Task:
        """Runs of the paper's band on images drawn by formula; a small step of two if quick."""
        batch = BATCH
        if self.quick:
            runs, epochs, steps, side, batch = 2, 1, 1, 32, 10
        device: Literal["cpu", "cuda"] = "cuda" if self.on_gpu else "cpu"
        task = Task(self.folder / name, device, runs, epochs, steps, side, batch, 5 * batch)
        task.prepare()
        return task


class NoGpuError(Exception):
    """The part asks for a GPU, and there is none."""


def machine(setup: Setup) -> Iterator[Row]:
    yield Row("torch", str(torch.__version__))
    yield Row("CPU cores", len(os.sched_getaffinity(0)))
    if setup.on_gpu:
        properties = torch.cuda.get_device_properties(setup.device)
        yield Row("GPU", properties.name)
        yield Row("GPU memory, GiB", round(properties.total_memory / 2**30, 1))
        yield Row("compute capability", f"{properties.major}.{properties.minor}")
        yield Row("CUDA", str(torch.version.cuda))
        yield Row("cuDNN", str(torch.backends.cudnn.version()))
        asked = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
        yield Row("driver", subprocess.run(asked, capture_output=True, text=True).stdout.strip())


def tests(setup: Setup) -> Iterator[Row]:
    """Those marked for a GPU."""
    _needs_gpu(setup)
    command = (sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "gpu", "tests")
    told = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    last = told.splitlines()[-1]
    for name in re.findall(r"^FAILED (\S+)", told, re.M):
        yield Row(name, "failed", "pass", reached=False)
    yield Row("tests marked gpu", last, "none fails", "passed" in last and "failed" not in last)


def agreement(setup: Setup) -> Iterator[Row]:
    """One network: with a recorded graph and without, twice, and by the reference engine."""
    task = setup.task("agreement", 1, 1, 4)
    spec, view = _first(task)
    torch.backends.cudnn.deterministic = True
    backend = backend_here(None, "cuda" if setup.on_gpu else "cpu")
    exact = Options(backend, bfloat16=False)
    graph, again = (train(spec, view, setup.device, options=exact) for _ in range(2))
    eager = train(spec, view, setup.device, options=replace(exact, graph=False))
    yield Row("a recorded run, twice", *_equal(graph, again))
    yield Row("a recorded run and one step by step", *_equal(graph, eager))
    off, most = first_step(spec, view, setup.device), STEP_TOLERANCE[task.device]
    yield Row("first loss against the reference engine", off, f"at most {most:g}", off <= most)


def memory(setup: Setup) -> Iterator[Row]:
    """Runs that do not fit, as many at once as asked for: all of them end all the same."""
    task = setup.task("memory", MOST, 1, 2)
    prepared = task.opened(f"launch.at_once={MOST}", "launch.workers=1")
    study = StudyFolder(task.folder / "study")
    if setup.on_gpu:
        setting = prepared.plan.settings[0]
        groups = setting.groups(prepared.population)
        largest = int(run_bytes(groups, setting.work, device_memory("GPU")).max())
        total = torch.cuda.get_device_properties(setup.device).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, 1.5 * largest / total))
        yield Row("memory for all runs at once, GiB", round(1.5 * largest / 2**30, 2))
    with task.data():
        study.begin(prepared.sweep, prepared.population)
        take(study.code)
        train_runs(study, prepared.sweep, prepared.plan.ids(), NO_RETRIES, Interruption())
    records = [it for path in study.journals.glob("*.arrow") for it in read_journal(path).records]
    ended, asked = sum(it.status == "completed" for it in records), len(prepared.plan)
    yield Row("runs that ended", ended, f"all {asked}", ended == asked)


def together(setup: Setup) -> Iterator[Row]:
    """How much several networks at once gain, in training images a second."""
    _needs_gpu(setup)
    task = setup.task("together", MOST, 3, 100)
    alone = None
    for at_once in (1, 2, 4, MOST):
        rate = _images_a_second(task, f"at-once-{at_once}", f"launch.at_once={at_once}")
        alone = alone or rate
        yield Row(f"images a second, {at_once} at once", round(rate))
        yield Row(f"times as fast as one, {at_once} at once", round(rate / alone, 2))


def speed(side: int, runs: int, epochs: int, steps: int) -> Callable[[Setup], Iterator[Row]]:
    """Runs an hour at a resolution, and where the time of a step goes."""

    def part(setup: Setup) -> Iterator[Row]:
        task = setup.task(f"speed-{side}", runs, epochs, steps, side)
        rate = _images_a_second(task, "fast")
        hourly, goal = 3600 * rate / IMAGES_OF_A_RUN[side], GOALS[side]
        yield Row("images a second, tests inside", round(rate))
        reached = hourly >= goal if setup.on_gpu and not setup.quick else None
        yield Row("runs an hour", round(hourly, 1), f"at least {goal:g} on an H200", reached)
        yield from _shares(task, setup.device)

    return part


def feeds(setup: Setup) -> Iterator[Row]:
    """Images of 256 pixels from each store to the device, for one process; from memory, not disk.

    Photos, as ImageNet's are packed. In a run for a GPU processes decode, for a CPU threads.
    """
    images = 2 * BATCH if setup.quick else 20 * BATCH
    write_photos(setup.folder / "files", images)
    with data_in(str(setup.folder / "data")):
        raw, jpeg = (
            add_dataset(store, setup.folder / "files", size=PHOTO, store=store).images("train")
            for store in ("raw", "jpeg")
        )
    assert isinstance(jpeg, JpegImages)
    yield Row("kB of a JPEG file", round(sum(map(len, jpeg.files())) / len(jpeg) / 1e3, 1))
    for store, kept, decoders in (
        ("raw", raw, None),
        ("jpeg, by threads", jpeg, None),
        ("jpeg, by processes", jpeg, Decoders(jpeg)),
    ):
        rate, cpu = _fed(BatchStream(kept, setup.on_gpu, decoders), images, setup.device)
        yield Row(f"images a second, {store}", round(rate))
        yield Row("CPU of the process that trains, us an image", round(cpu))
        days = IMAGENET_READ / rate / 86_400
        yield Row(f"days to read the paper's ImageNet, {store}", round(days, 1))


def layers(setup: Setup) -> Iterator[Row]:
    """Each kind of layer by the engine's rule, as times the fastest way, and what a table gains."""
    batch, repeats = (2, 1) if setup.quick else (BATCH, 5)
    for resolution, side in SIDES.items():
        maps = torch.randn(batch, WIDTH, side, side, device=setup.device)
        by_rule = fastest = 0.0
        weights = activations(resolution)
        for kind in KINDS:
            narrow = kind[0] == 3 and kind[1] < JOINED
            ways = [way for way in WAYS if narrow or way != "joined groups"]
            times = {way: seconds(way, kind, maps, repeats) for way in ways}
            best, ruled = min(times, key=times.__getitem__), times[ways[0]]
            name = f"groups of {kind[1]}" if kind[0] == 3 else "1x1"
            yield Row(f"{resolution} px, {name}", f"{ruled / times[best]:.2f} x {best}")
            by_rule += weights[kind] * ruled
            fastest += weights[kind] * times[best]
        gain = round(1 - fastest / by_rule, 3)
        yield Row(f"{resolution} px, share of the layers' time that a table gains", gain)


#: The parts, and the seconds that each may take.
PARTS: dict[str, tuple[Callable[[Setup], Iterator[Row]], float]] = {
    "machine": (machine, 30),
    "tests": (tests, 300),
    "agreement": (agreement, 150),
    "memory": (memory, 150),
    "together": (together, 270),
    "CIFAR-10": (speed(32, 16, 6, 390), 350),
    "224 pixels": (speed(224, 8, 3, 40), 360),
    "feeds": (feeds, 120),
    "layers": (layers, 60),
}


def _needs_gpu(setup: Setup) -> None:
    if not setup.on_gpu:
        raise NoGpuError("it needs a CUDA device")


def _equal(one: Outcome, other: Outcome) -> tuple[str, str, bool]:
    same = one.curves == other.curves and np.array_equal(one.predictions, other.predictions)
    return "equal" if same else "differ", "equal bits", same


def _first(task: Task) -> tuple[RunSpec, DatasetView]:
    prepared = task.opened()
    return prepared.plan[0].spec, prepared.views["images"]


def _images_a_second(task: Task, name: str, *overrides: str) -> float:
    command = ("-m", "benchmarks.training.study", "SWEEP", "OUT", *overrides)
    out = task.folder / name
    (found,) = measure([Way("fast", name, (command,))], task, out, task.opened().plan).values()
    return found.images_a_second


def _shares(task: Task, device: torch.device) -> Iterator[Row]:
    """Of the time of steps of one network: what waits for images, and what the GPU works."""
    spec, view = _first(task)
    trainer = make_trainer(spec, view, DeviceImages(device))
    stream = torch.cuda.Stream() if device.type == "cuda" else None
    if stream is not None:
        stream.wait_stream(torch.cuda.current_stream())  # on which the trainer was made
    with torch.cuda.stream(stream):
        trainer.begin_epoch(0)
        count = min(STEPS_PROFILED, task.steps)
        trainer.step()  # records the graph
        _wait(device)
        activities = [torch.profiler.ProfilerActivity.CPU]
        if stream is not None:
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        began, waited = time.perf_counter(), 0.0
        with torch.profiler.profile(activities=activities) as profile:
            trainer.begin_epoch(0)
            for step in range(count):
                before = time.perf_counter()
                trainer.feed.advance(step)  # type: ignore[attr-defined]
                waited += time.perf_counter() - before
                trainer.step()
            _wait(device)
        wall = time.perf_counter() - began
    yield Row("share of a step that waits for images", round(waited / wall, 3))
    if stream is not None:
        rows = profile.key_averages()  # those of the host tell the time of their kernels again
        kernels = [it for it in rows if it.device_type.name == "CUDA"]
        busy = sum(kernel.self_device_time_total for kernel in kernels) / 1e6
        yield Row("share in which the GPU works, one network", round(busy / wall, 3))


def write_photos(folder: Path, images: int) -> None:
    """Cut squares from the two photos that scikit-learn has, in two classes, and 20 to test on.

    The JPEG store keeps them as they are: of the size and quality of those that it makes itself.
    """
    from sklearn.datasets import load_sample_images

    photos = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    random = np.random.default_rng(0)
    for number in range(images + 20):
        photo = photos[number % 2]
        side = int(random.integers(PHOTO, min(photo.size) + 1))
        left, top = (int(random.integers(length - side + 1)) for length in photo.size)
        square = photo.resize((PHOTO, PHOTO), box=(left, top, left + side, top + side))
        split = "train" if number < images else "test"
        path = folder / split / str(number % 2) / f"{number:06d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        square.save(path, quality=95)


def _fed(stream: BatchStream, images: int, device: torch.device) -> tuple[float, float]:
    """Images a second, and CPU microseconds of this process an image: medians of three epochs."""
    feed = StreamedFeed(stream, BATCH, device, np.arange(images))
    steps, random, found = images // BATCH, np.random.default_rng(0), []
    for _ in range(4):
        order = random.permutation(images)[: steps * BATCH]
        began, cpu = time.perf_counter(), time.process_time()
        feed.begin(torch.from_numpy(order).view(steps, BATCH))
        for step in range(steps):
            feed.advance(step)
        _wait(device)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        found.append((len(order) / wall, 1e6 * cpu / len(order)))
    rates, costs = zip(*found[1:], strict=True)  # in the first, files are read from the disk
    return median(rates), median(costs)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def run_here(name: str, device: str, quick: bool) -> Part:
    """A part, in this process; what it raises is its failure."""
    began, rows = time.perf_counter(), list[Row]()
    failed = skipped = ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows.extend(PARTS[name][0](Setup(torch.device(device), quick, Path(folder))))
        except NoGpuError as error:
            skipped = str(error)
        except (Exception, SystemExit) as error:  # whatever it is: the other parts go on
            failed = f"{type(error).__name__}: {_last_line(str(error))}"
    return Part(rows, time.perf_counter() - began, failed, skipped)


def run_apart(name: str, device: str, quick: bool) -> Part:
    """A part, in a process of its own: a GPU that fails in one is whole again in the next."""
    command = [sys.executable, "-m", "benchmarks.gpu", "--here", name, "--device", device]
    limit = PARTS[name][1]
    try:
        done = subprocess.run(
            [*command, *(["--quick"] if quick else [])],
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return Part(seconds=limit, failed=f"took more than {limit:g} s")
    if done.returncode:
        return Part(failed=f"exit {done.returncode}: {_last_line(done.stderr)}")
    told = json.loads(done.stdout.splitlines()[-1])
    return Part(**{**told, "rows": [Row(**row) for row in told["rows"]]})


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "no words"


def lines(name: str, part: Part) -> list[str]:
    """What became of a part, for people."""
    words = f" FAILED: {part.failed}" if part.failed else ""
    words += f" left out: {part.skipped}" if part.skipped else ""
    found = [f"== {name} ({part.seconds:.0f} s){words}"]
    for row in part.rows:
        verdict = {None: "", True: "", False: "MISSED: "}[row.reached]
        value = f"{row.value:,g}" if isinstance(row.value, float) else str(row.value)
        found.append(TABLE.format(row.what, value, verdict + row.goal).rstrip())
    return found


def main(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    if options.here:
        keep_freed_memory()  # as a worker does
        torch.set_num_threads(1)
        print(json.dumps(asdict(run_here(options.here, options.device, options.quick))))
        return 0
    found: dict[str, Part] = {}
    for name in options.only or PARTS:
        found[name] = run_apart(name, options.device, options.quick)
        print(*lines(name, found[name]), sep="\n", flush=True)
        write_text(
            options.o, json.dumps({name: asdict(it) for name, it in found.items()}, indent=1)
        )
    missed = any(row.reached is False for part in found.values() for row in part.rows)
    return 1 if missed or any(part.failed for part in found.values()) else 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m benchmarks.gpu")
    made.add_argument("-o", type=Path, default=Path("gpu.json"), help="the file to send back")
    made.add_argument("--only", nargs="+", choices=PARTS, help="some parts")
    made.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    made.add_argument("--quick", action="store_true", help="one step of each, to try the command")
    made.add_argument("--here", choices=PARTS, help=argparse.SUPPRESS)
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
