"""Architectures: how they were sampled, and what of them drives the errors."""

from anynet_study import apr, plots
from anynet_study.report.analyses.kind import population_in
from anynet_study.report.figures.kind import MARKED, FigureKind, drawable, errors_in


def _driver(parameter: str) -> FigureKind:
    return FigureKind(
        f"Each architecture's {parameter} over its stages, against its test error on each "
        f"dataset. A positive ρ says that the error grows with it. "
        f"{MARKED.format(of='dataset')}",
        lambda a: plots.driver_grid(
            errors_in(a),
            population_in(a.tables),
            parameter,
            drawable(a, "drivers"),
            a.tables.metrics,
        ),
        lambda a: plots.driver_data(errors_in(a), population_in(a.tables), parameter),
        needs="drivers",
    )


KINDS: dict[str, FigureKind] = {
    "depth": _driver("cumulative depth"),
    "width": _driver("cumulative width"),
    "configurations": FigureKind(
        "Stage by stage, what the best architecture on each dataset looks like, and the mean and "
        "standard deviation of the 15 best (of a quarter of the architectures where that is "
        "fewer).",
        lambda a: plots.configuration_grid(errors_in(a), population_in(a.tables)),
        lambda a: apr.configurations(errors_in(a), population_in(a.tables)),
    ),
    "population": FigureKind(
        "The sampled architectures.",
        lambda a: plots.population_grid(population_in(a.tables)),
        lambda a: plots.population_data(population_in(a.tables)).reset_index(),
    ),
}
