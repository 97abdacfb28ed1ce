"""The state of an unfinished run on disk: written whole or not at all."""

import copy
import io
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from anynet_study.files import replacing
from anynet_study.training.options import Engine
from anynet_study.training.trainer import State, Trainer

Curves = dict[str, list[float]]


class InterruptedRunError(Exception):
    """The run was asked to stop; its state is saved, and it goes on from there another time."""


class Checkpoint:
    """The file of one run, saved between two steps.

    Randomness needs no state: an epoch's is derived from the spec, so epoch and step say where a
    run is.
    """

    def __init__(
        self,
        path: Path | None,
        run_id: str,
        engine: Engine,
        seconds: float = 300.0,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.path, self.run_id, self.engine = path, run_id, engine
        #: Shortest time between two saves.
        self.seconds = seconds
        #: Asked between steps: whether to save and stop.
        self.stop = stop
        #: Time that the run took before this process took it up.
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

        Where the disk is full the run goes on: without a checkpoint it only resumes later.
        """
        if self.path is None:
            return
        content = {
            "run_id": self.run_id,
            "engine": self.engine,
            "epoch": epoch,
            "steps_done": steps_done,
            "seconds": self.seconds_before + time.monotonic() - self._began,
            "curves": curves,
            "trainer": state,
        }
        # By way of memory: torch tells a full disk as one of many RuntimeErrors.
        buffer = io.BytesIO()
        torch.save(content, buffer)
        try:
            with replacing(self.path) as temporary:
                temporary.write_bytes(buffer.getbuffer())
        except OSError as error:
            print(f"no checkpoint: {error}", file=sys.stderr, flush=True)
        self._saved = time.monotonic()

    def load(self, trainer: Trainer, curves: Curves, lengths: Sequence[int]) -> tuple[int, int]:
        """Restore trainer and curves; the epoch, and the steps done of it: 0, 0 without a file.

        `lengths`: steps of each epoch. A file that cannot be read, or that is of another run,
        engine or version of this code, costs time, not correctness: the run begins anew.
        """
        if self.path is None or not self.path.is_file():
            return 0, 0
        before = copy.deepcopy(trainer.state())
        try:
            content = torch.load(self.path, map_location="cpu", weights_only=True)
            epoch, done, seconds = self._checked(content, curves, lengths)
            trainer.restore(content["trainer"])
        except Exception:  # torch raises nearly anything on a damaged file
            trainer.restore(before)  # whatever was taken up already
            return 0, 0
        curves.update(content["curves"])
        self.seconds_before = seconds
        return epoch, done

    def _checked(
        self, content: dict[str, Any], curves: Curves, lengths: Sequence[int]
    ) -> tuple[int, int, float]:
        """Epoch, steps and seconds done; raises something if they cannot be of this run."""
        epoch, done = int(content["epoch"]), int(content["steps_done"])
        kept = content["curves"]
        mine = content["run_id"] == self.run_id and content["engine"] == self.engine
        there = 0 <= epoch <= len(lengths) and 0 <= done <= [*lengths, 0][epoch]
        # Of a version with other curves.
        whole = set(kept) == set(curves) and all(len(curve) == epoch for curve in kept.values())
        if not (mine and there and whole):
            raise ValueError("not a state of this run")
        return epoch, done, float(content["seconds"])
