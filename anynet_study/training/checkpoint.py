"""The state of an unfinished run on disk: written whole or not at all."""

import io
import sys
from pathlib import Path

import torch
from torch import nn

from anynet_study.files import replacing


class Checkpoint:
    """The file of one run. Randomness needs no state: each epoch's is derived from the spec."""

    def __init__(self, path: Path | None, run_id: str) -> None:
        self.path = path
        self.run_id = run_id

    def save(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        curves: dict[str, list[float]],
        epochs_done: int,
    ) -> None:
        """Replace the file atomically; does nothing without a path.

        Where the disk is full the run goes on: without a checkpoint it only resumes later.
        """
        if self.path is None:
            return
        state = {
            "run_id": self.run_id,
            "epochs_done": epochs_done,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "curves": curves,
        }
        # By way of memory: torch tells a full disk as one of many RuntimeErrors.
        buffer = io.BytesIO()
        torch.save(state, buffer)
        try:
            with replacing(self.path) as temporary:
                temporary.write_bytes(buffer.getbuffer())
        except OSError as error:
            print(f"no checkpoint: {error}", file=sys.stderr, flush=True)

    def load(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, curves: dict[str, list[float]]
    ) -> int:
        """Restore all three in place; the number of epochs done, 0 without a usable file.

        A file that cannot be read, or that belongs to another run, costs time, not correctness:
        the run begins anew.
        """
        if self.path is None or not self.path.is_file():
            return 0
        try:
            state = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception:
            return 0
        if not isinstance(state, dict) or state.get("run_id") != self.run_id:
            return 0
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        curves.update(state["curves"])
        return int(state["epochs_done"])
