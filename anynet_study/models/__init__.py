"""Torch modules of architectures."""

from anynet_study.models.anynet import AnyNet, build
from anynet_study.models.rewrites import accelerate

__all__ = ["AnyNet", "accelerate", "build"]
