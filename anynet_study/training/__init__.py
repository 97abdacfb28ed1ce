"""What a run is (`spec`, `recipe`) and how it is trained (`engine`, which imports torch)."""

from anynet_study.training.recipe import Recipe
from anynet_study.training.spec import RunSpec

__all__ = ["Recipe", "RunSpec"]
