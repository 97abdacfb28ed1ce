"""Whether the engine works on a GPU, and goes on after what can go wrong there."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from anynet_study.engine.dispatch.recorded import NO_RETRIES
from anynet_study.engine.dispatch.snapshot import take
from anynet_study.engine.dispatch.worker import train_runs
from anynet_study.engine.dispatch.worker_state import WorkerState
from anynet_study.engine.models import backend_here
from anynet_study.engine.planning.memory import MOST, device_memory, run_bytes
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.training import DeviceImages, Options, Outcome, finish, make_trainer, train
from anynet_study.store import RunRecord, read_journal
from benchmarks.training.checks import STEP_TOLERANCE, first_step
from benchmarks.training.task import Task

from .parts import NoGpuError, Row, Setup, runs_of

#: Architectures for which kernels are compiled.
ARCHITECTURES = 40
#: What a worker says where it gives up an option.
GAVE_UP = "again with"


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
        backend = backend_here(None, "cuda")
        yield Row("backend", str(backend), "with Triton", setup.judged(backend.triton))


def smoke(setup: Setup) -> Iterator[Row]:
    """20 steps of one run, then of 8 at once: all end, and no option is given up."""
    for runs in (1, MOST):
        task = setup.task(f"smoke-{runs}", runs, 1, 20)
        told = _worked(task, "study", f"launch.at_once={runs}")
        yield from _ended(task, "study", f"{runs} at once")
        gave_up = [line for line in told.splitlines() if GAVE_UP in line]
        told_of = gave_up[0].partition(GAVE_UP)[2].strip() if gave_up else "nothing"
        yield Row(f"given up, {runs} at once", told_of, "nothing", not gave_up)


def tests(setup: Setup) -> Iterator[Row]:
    """Those marked for a GPU, and those of the kernels in Triton, which are compiled there."""
    setup.needs_gpu()
    marked = [it for it in Path("tests").rglob("test_*.py") if "mark.gpu" in it.read_text("utf-8")]
    kernels = [
        f"tests/engine/models/test_models_{it}.py" for it in ("fused_norms", "fused_networks")
    ]
    asked = {"marked gpu": ["-m", "gpu", *map(str, marked)], "of kernels in Triton": kernels}
    for what, chosen in asked.items():
        command = (sys.executable, "-m", "pytest", "-q", "-n", "0", *chosen)
        told = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        print(told, file=sys.stderr)
        for name in re.findall(r"^FAILED (\S+)", told, re.M):
            yield Row(name, "failed", "pass", reached=False)
        last = told.splitlines()[-1]
        yield Row(f"tests {what}", last, "none fails", "passed" in last and "failed" not in last)


def kernels(setup: Setup) -> Iterator[Row]:
    """Variants of the kernels in Triton that are compiled while architectures follow each other."""
    try:
        from triton import knobs

        from anynet_study.engine.models.fused_norms import MOST_VARIANTS
    except ImportError as error:
        raise NoGpuError("it needs Triton") from error
    seconds = list[float]()
    # Before a variant is compiled, and after.
    knobs.runtime.jit_cache_hook = lambda **_: seconds.append(-time.perf_counter())
    knobs.runtime.jit_post_compile_hook = lambda **_: seconds.append(time.perf_counter())
    os.environ["TRITON_CACHE_DIR"] = str(setup.folder / "compiled")  # nothing is compiled yet
    specs, view = runs_of(setup.task("kernels", ARCHITECTURES, 1, 1))
    options = Options(backend_here(None, "cuda" if setup.on_gpu else "cpu"), graph=False)
    for number, spec in enumerate(specs, 1):
        trainer = make_trainer(spec, view, DeviceImages(setup.device), options=options)
        trainer.begin_epoch(0)
        trainer.step()
        finish(trainer.test())
        if number in (1, len(specs)):
            count, goal = len(seconds) // 2, f"at most {MOST_VARIANTS}"
            reached = setup.judged(0 < count <= MOST_VARIANTS)
            yield Row(f"variants compiled, {number} architectures", count, goal, reached)
    yield Row("seconds to compile them", round(sum(seconds), 1))


def agreement(setup: Setup) -> Iterator[Row]:
    """One network: with a recorded graph and without, twice, and by the reference engine."""
    task = setup.task("agreement", 1, 1, 4)
    (spec, *_), view = runs_of(task)
    torch.backends.cudnn.deterministic = True
    backend = backend_here(None, "cuda" if setup.on_gpu else "cpu")
    for bfloat16 in (False, True):
        name = "bfloat16" if bfloat16 else "float32"
        ways = Options(backend, bfloat16=bfloat16)
        graph, again = (train(spec, view, setup.device, options=ways) for _ in range(2))
        eager = train(spec, view, setup.device, options=replace(ways, graph=False))
        yield Row(f"a recorded run, twice, {name}", *_equal(graph, again))
        yield Row(f"a recorded run and one step by step, {name}", *_equal(graph, eager))
    off, most = first_step(spec, view, setup.device), STEP_TOLERANCE[task.device]
    yield Row("first loss against the reference engine", off, f"at most {most:g}", off <= most)


def sanitizer(setup: Setup) -> Iterator[Row]:
    """Three steps under NVIDIA's compute-sanitizer: no access outside of what was taken."""
    setup.needs_gpu()
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        raise NoGpuError("it needs compute-sanitizer, of the CUDA toolkit")
    command = [tool, "--tool", "memcheck", "--target-processes", "all", sys.executable]
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    command += ["-m", "benchmarks.gpu", "--here", "three steps", "-o", str(setup.out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    told = done.stdout + done.stderr
    print(told, file=sys.stderr)
    found = re.findall(r"ERROR SUMMARY: (\d+) error", told)
    errors = found[-1] if found else f"exit {done.returncode}"
    yield Row("errors of memory in three steps", errors, "0", errors == "0")


def three_steps(setup: Setup) -> Iterator[Row]:
    """Without a graph: memory is taken anew for everything while the sanitizer looks on."""
    task = setup.task("three-steps", 1, 1, 3)
    (spec, *_), view = runs_of(task)
    backend = backend_here(None, "cuda" if setup.on_gpu else "cpu")
    options = Options(backend, graph=False)
    trainer = make_trainer(spec, view, DeviceImages(setup.device), options=options)
    trainer.begin_epoch(0)
    for _ in range(3 if not setup.quick else 1):
        trainer.step()
    yield Row("loss", trainer.trained()[0])


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
        train_runs(study, prepared.sweep, prepared.plan.ids(), NO_RETRIES, WorkerState())
    yield from _ended(task, "study", "in little memory")


def failures(setup: Setup) -> Iterator[Row]:
    """An assert on the device in one of four runs, and SIGTERM: nobody is blamed, all go on."""
    task = setup.task("failures", 4, 1, 20)
    asked = len(task.opened().plan)
    for fault in ("assert", "SIGTERM") if setup.on_gpu else ("SIGTERM",):
        _worked(task, fault, f"launch.at_once={asked}", fault=fault)
        found = [it.status for it in _records(task, fault)]
        blamed = found.count("failed")
        yield Row(f"recorded as failed after {fault}", blamed, "0", not blamed)
        yield Row(f"runs left after {fault}", asked - len(found), "some", len(found) < asked)
        _worked(task, fault, f"launch.at_once={asked}")
        yield from _ended(task, fault, f"once more after {fault}")


def _worked(task: Task, name: str, *overrides: str, fault: str = "none") -> str:
    """What a worker in a process of its own says, which `planted` lets meet a fault."""
    command = [sys.executable, "-m", "benchmarks.gpu.planted", fault]
    command += [str(task.sweep_file), str(task.folder / name), *overrides]
    done = subprocess.run(command, env=task.environment(), capture_output=True, text=True)
    told = done.stdout + done.stderr
    print(told, file=sys.stderr)
    return told


def _ended(task: Task, name: str, how: str) -> Iterator[Row]:
    ended = sum(it.status == "completed" for it in _records(task, name))
    asked = len(task.opened().plan)
    yield Row(f"runs that ended, {how}", ended, f"all {asked}", ended == asked)


def _records(task: Task, name: str) -> list[RunRecord]:
    journals = StudyFolder(task.folder / name).journals.glob("*.arrow")
    return [it for path in journals for it in read_journal(path).records]


def _equal(one: Outcome, other: Outcome) -> tuple[str, str, bool]:
    same = one.curves == other.curves and np.array_equal(one.predictions, other.predictions)
    return "equal" if same else "differ", "equal bits", same
