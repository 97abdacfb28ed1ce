"""Final weights of a run, kept on disk."""

import io
from pathlib import Path

import torch
from torch import nn

from anynet_study.files import replacing
from anynet_study.training.initial import Weights


def save_weights(path: Path, run_id: str, network: nn.Module) -> None:
    """Write the weights atomically. Raises OSError where there is no room."""
    buffer = io.BytesIO()
    plain = {name: value.detach().cpu() for name, value in network.state_dict().items()}
    torch.save({"run_id": run_id, "weights": plain}, buffer)
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


def load_weights(path: Path, run_id: str) -> Weights | None:
    """The weights of a run; None where they are not there, damaged, or of another run."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        weights: Weights = content["weights"]
        return weights if content["run_id"] == run_id else None
    except Exception:  # torch raises nearly anything on a damaged file
        return None
