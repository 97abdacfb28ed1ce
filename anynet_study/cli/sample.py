"""The command that draws populations: of a sweep, or of options alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from anynet_study.analysis.analyses.arguments import check_figure, save_figure
from anynet_study.cli.options import SWEEP, AsJson, Overrides, of_architectures, opt, writes
from anynet_study.core.errors import UserError

if TYPE_CHECKING:
    from anynet_study.design_space import Population
    from anynet_study.engine.sweep import PopulationSpec

BAND = "LOWEST,HIGHEST"


def sample(
    sweep_file: Annotated[Path | None, SWEEP] = None,
    overrides: Overrides = None,
    space: Annotated[
        str | None, opt("A space's name, or YAML such as {base: ..., depths: ...}.")
    ] = None,
    count: Annotated[int | None, opt("How many architectures.")] = None,
    flops: Annotated[str | None, of_architectures("Band of multiply-adds.", metavar=BAND)] = None,
    parameters: Annotated[
        str | None, of_architectures("Band of trainable parameters.", metavar=BAND)
    ] = None,
    activations: Annotated[
        str | None, of_architectures("Band of activations.", metavar=BAND)
    ] = None,
    strata: Annotated[
        str | None,
        of_architectures(
            "Equally many of each stratum, such as '{of: depth, edges: [10, 20]}'.", metavar="YAML"
        ),
    ] = None,
    resolution: Annotated[
        int | None, of_architectures("Image side in pixels for the bands (224).")
    ] = None,
    classes: Annotated[
        int | None, of_architectures("Number of classes for the bands (1000).")
    ] = None,
    seed: Annotated[int | None, opt("Seed (0).")] = None,
    output: Annotated[
        Path | None, writes("Write this file (.parquet, .csv, .json) instead of a study.")
    ] = None,
    figure: Annotated[Path | None, opt("Draw what was sampled: FILE.png, .pdf or .svg.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a population for a sweep or from a space.

    Without -o, the population of a sweep is written into its study.

    \b
    Examples:
      anynet-study sample sweeps/paper.yaml -o population.parquet --figure sampled.pdf
      anynet-study sample --space regnetx --count 500 --flops 360e6,400e6 -o regnetx.csv
    """
    from anynet_study.cli.population import print_population
    from anynet_study.design_space import check_suffix
    from anynet_study.engine import study_folder as studies
    from anynet_study.engine.sweep import Sweep

    options = {
        "space": space,
        "count": count,
        "flops": flops,
        "parameters": parameters,
        "activations": activations,
        "strata": strata,
        "resolution": resolution,
        "classes": classes,
        "seed": seed,
    }
    given = {name: value for name, value in options.items() if value is not None}
    check_figure("--figure", figure)
    if output is not None:
        check_suffix(output)
    if sweep_file is None:
        spec = _spec(given)
        if output is None:
            raise UserError("give -o FILE.parquet, .csv or .json: where to write the population")
    else:
        for name in given:
            raise UserError(f"--{name}: with a sweep file, write population.{name}=... behind it")
        sweep = Sweep.load(sweep_file, overrides or [])
        spec = sweep.population
    population = studies.sample(spec)
    if output is None:
        study = studies.StudyFolder.of(sweep)
        study.begin(sweep, population)
        output = study.population_file
    else:
        population.write(output)
    if figure is not None:
        _draw(population, figure)
    print_population(population, output, as_json)


def _spec(given: dict[str, Any]) -> "PopulationSpec":
    """Return what the options ask for, as a sweep file would."""
    from pydantic import ValidationError

    from anynet_study.engine.sweep import PopulationSpec, describe, parse_yaml

    if "space" not in given:
        raise UserError("give a sweep file, or --space and --count; see anynet-study sample --help")
    content = dict(given)
    for name in given.keys() & {"space", "strata"}:
        try:
            content[name] = parse_yaml(given[name])
        except ValueError as error:
            raise UserError(f"--{name}: not valid YAML: {error}") from None
    for name in ("flops", "parameters", "activations"):
        if name in given:
            content[name] = given[name].split(",")
    try:
        return PopulationSpec.model_validate(content)
    except ValidationError as error:
        raise UserError(describe(error, PopulationSpec, content)) from None


def _draw(population: "Population", figure: Path) -> None:
    """Draw what was sampled, and what the space gives without bands where that is known."""
    from anynet_study.analysis.plots import sampling_grid
    from anynet_study.design_space import MEASURES, draws_without_bands

    record, space = population.sampling, None
    if "space" in record:
        place = population.resolution, population.classes
        space = draws_without_bands(record["space"], *place).to_pandas()
    moved = any(step["step"] == "at" for step in record.get("derived", []))
    bands = {str(name): record[name] for name in MEASURES if name in record and not moved}
    save_figure(sampling_grid(population.to_pandas(), space, bands), figure)
