"""The typed sweep file: a whole study in one YAML."""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.sweep.launch import Launch
    from anynet_study.sweep.population import POPULATION_FILE, PopulationSpec
    from anynet_study.sweep.sweep import DatasetSpec, RecipeSpec, Replicates, Sweep
    from anynet_study.sweep.text import apply_override, describe, load_yaml, parse_yaml

__all__ = [
    "POPULATION_FILE",
    "DatasetSpec",
    "Launch",
    "PopulationSpec",
    "RecipeSpec",
    "Replicates",
    "Sweep",
    "apply_override",
    "describe",
    "load_yaml",
    "parse_yaml",
]

_HOMES = {
    "launch": "Launch",
    "population": "POPULATION_FILE PopulationSpec",
    "sweep": "DatasetSpec RecipeSpec Replicates Sweep",
    "text": "apply_override describe load_yaml parse_yaml",
}
__getattr__ = on_first_use(
    __name__, {name: module for module, names in _HOMES.items() for name in names.split()}
)
