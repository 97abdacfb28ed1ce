"""Torch modules of architectures."""

from anynet_study.models.anynet import AnyNet, build

__all__ = ["AnyNet", "build"]
