"""Checkpoints: all that is kept of a run on disk, its state until it ends, and its final weights.

Files are written whole or not at all. They are torch's, and end with their SHA-256.
"""

import copy
import hashlib
import io
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from anynet_study.core.errors import UserError, first_line
from anynet_study.core.files import open_regular, replacing
from anynet_study.engine.training.options import Engine
from anynet_study.engine.training.trainer import State, Trainer

#: Length of the SHA-256 at the end of a file.
DIGEST_BYTES = 32
#: Keys under which a file may hold its weights. Files of this project use the first.
HELD_BY = ("weights", "state_dict", "model")
Curves = dict[str, list[float]]
#: Final weights by name, as `state_dict` gives them.
Weights = dict[str, Any]


class InterruptedRunError(Exception):
    """The run was asked to stop; its state is saved, and another process can continue it."""


class Checkpoint:
    """The checkpoint file of one run, written between two steps.

    It stores no random state: the random numbers of an epoch follow from the spec, so epoch and
    step determine where a run is.
    """

    def __init__(
        self,
        path: Path | None,
        run_id: str,
        engine: Engine,
        seconds: float = 300.0,
        stop: Callable[[], bool] = lambda: False,
        backend: str = "",
    ) -> None:
        self.path, self.run_id, self.engine = path, run_id, engine
        #: Shortest time between two saves.
        self.seconds = seconds
        #: Called between steps; if it returns True, the run is saved and stopped.
        self.stop = stop
        #: The file of the run that this one continues, if it continues another.
        self.before: Path | None = None
        #: The backends of all processes that trained the run, in order; `backend` is this one's.
        self.backends = [backend]
        #: Seconds that earlier processes spent on the run.
        self.seconds_before = 0.0
        self._began = self._saved = time.monotonic()

    def reached(self, trainer: Trainer, curves: Curves, epoch: int, steps_done: int) -> None:
        """Save if it is time; save and raise InterruptedRunError if the run is to stop."""
        if self.stop():
            self.save(trainer.state(), curves, epoch, steps_done)
            raise InterruptedRunError(self.run_id)
        if self.path is not None and time.monotonic() - self._saved >= self.seconds:
            self.save(trainer.state(), curves, epoch, steps_done)

    def save(self, state: State, curves: Curves, epoch: int, steps_done: int) -> None:
        """Replace the file atomically; does nothing without a path.

        If the disk is full, the run goes on: it would only be continued from an earlier state.
        """
        if self.path is None:
            return
        content = {
            "run_id": self.run_id,
            "engine": self.engine,
            "backends": self.backends,
            "epoch": epoch,
            "steps_done": steps_done,
            "seconds": self.seconds_before + time.monotonic() - self._began,
            "curves": curves,
            "trainer": state,
        }
        try:
            _write(self.path, content)
        except OSError as error:
            print(f"no checkpoint: {first_line(error)}", file=sys.stderr, flush=True)
        self._saved = time.monotonic()

    def load(self, trainer: Trainer, curves: Curves) -> tuple[int, int]:
        """Restore trainer and curves, and return the epoch and the steps done of it.

        Without a file that is where the run begins. If the file is damaged or belongs to another
        run or engine, the run starts over and a message says so: this costs time, not correctness.
        """
        if self.path is None or not self.path.is_file():
            return self._start(trainer, curves)
        before = copy.deepcopy(trainer.state())
        try:
            content = _read(self.path, self.run_id)
            if content["engine"] != self.engine:
                raise ValueError("it is of another engine")
            place, seconds = (content["epoch"], content["steps_done"]), content["seconds"]
            trainer.restore(content["trainer"])
        except Exception as error:  # torch raises nearly anything on a damaged file
            trainer.restore(before)  # whatever was taken up already
            _say_unusable(self.path, error, "the run starts over")
            return self._start(trainer, curves)
        self.backends = list(dict.fromkeys([*content["backends"], *self.backends]))
        _take_up(content["curves"], curves)
        self.seconds_before = seconds
        return place

    def _start(self, trainer: Trainer, curves: Curves) -> tuple[int, int]:
        """Begin a run that has no checkpoint yet: at the end of another run, or at 0, 0."""
        if self.before is None:
            return 0, 0
        source = trainer.spec.pretrained
        assert source is not None, "what goes on has a source"
        content = _read(self.before, source.run_id)
        if content["engine"] != self.engine:
            raise UserError(
                f"{self.before}: trained by the engine {content['engine']}; go on by it"
            )
        trainer.restore(content["trainer"])
        _take_up(content["curves"], curves)
        return content["epoch"], content["steps_done"]


def _take_up(kept: Curves, curves: Curves) -> None:
    """Fill `curves` with those of a file, which another version of the code may have written.

    A curve that the file lacks is NaN up to there; one that is unknown here is left out.
    """
    epochs = max(map(len, kept.values()), default=0)
    for name in curves:
        curves[name] = list(kept.get(name, [math.nan] * epochs))


def save_weights(path: Path, run_id: str, network: nn.Module) -> None:
    """Write the weights atomically. Raises OSError where there is no room."""
    plain = {name: value.detach().cpu() for name, value in network.state_dict().items()}
    _write(path, {"run_id": run_id, "weights": plain})


def load_weights(path: Path, run_id: str, kept: str = "weights") -> Weights | None:
    """Return the weights of a run; None if the file is missing or damaged, which a message says.

    `kept`: the key in the file; `trainer` gives the whole state of a checkpoint.
    """
    if not path.is_file():
        return None
    try:
        weights: Weights = _read(path, run_id)[kept]
    except Exception as error:  # torch raises nearly anything on a damaged file
        _say_unusable(path, error, "they are made again where they are needed")
        return None
    return weights


def load_weights_file(path: Path, digest: str) -> Weights:
    """The weights in a file of PyTorch's, by name: its content, or what its key of `HELD_BY` holds.

    Raises UserError where it cannot be read, or its SHA-256 is not `digest` any more.
    """
    try:
        with open_regular(path) as file:
            stored = file.read()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if hashlib.sha256(stored).hexdigest() != digest:
        raise UserError(f"{path}: it was changed after this run was planned")
    try:
        content = torch.load(io.BytesIO(stored), map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises nearly anything on other files
        raise UserError(f"{path}: no weights that torch reads: {first_line(error)}") from None
    held = [key for key in HELD_BY if isinstance(content, dict) and key in content]
    weights = content[held[0]] if held else content
    if not isinstance(weights, dict) or not all(map(torch.is_tensor, weights.values())):
        raise UserError(f"{path}: no tensors by name, nor under a key {' or '.join(HELD_BY)}")
    return weights


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replace the file atomically; `torch.load` reads it, too."""
    # By way of memory: torch tells a full disk as one of many RuntimeErrors.
    buffer = io.BytesIO()
    torch.save(content, buffer)
    buffer.write(hashlib.sha256(buffer.getbuffer()).digest())
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


def _read(path: Path, run_id: str) -> dict[str, Any]:
    """Read what `_write` wrote for this run. Raises almost any exception on another file."""
    with open_regular(path) as file:
        stored = file.read()
    saved, digest = stored[:-DIGEST_BYTES], stored[-DIGEST_BYTES:]
    if hashlib.sha256(saved).digest() != digest:
        raise ValueError("its content differs from its digest")
    content: dict[str, Any] = torch.load(io.BytesIO(saved), map_location="cpu", weights_only=True)
    if content["run_id"] != run_id:
        raise ValueError("it is of another run")
    return content


def _say_unusable(path: Path, error: Exception, then: str) -> None:
    reason = first_line(error)
    print(f"{path} cannot be used ({reason}): {then}", file=sys.stderr, flush=True)
