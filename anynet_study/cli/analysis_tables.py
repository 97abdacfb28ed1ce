"""Which tables an analysis has, and what each needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.apr.kernels import Method
    from anynet_study.cli.inputs import ErrorsInput


@dataclass(frozen=True)
class Options:
    """How correlations and their intervals are computed."""

    method: "Method" = "spearman"
    resamples: int = 10_000
    seed: int = 0
    level: float = 0.95


@dataclass(frozen=True)
class Analysis:
    """The tables made, and for those not made the reason."""

    tables: "dict[str, pd.DataFrame]" = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def analyse(source: "ErrorsInput", wanted: str, options: Options) -> Analysis:
    """Make the table `wanted`, or with "all" every table that the input has the data for."""
    if wanted not in ("all", *TABLES):
        raise UserError(f"--table: no {wanted!r}; legal: {', '.join(TABLES)}, all")
    _check_method(options.method, weighted=source.weights is not None)
    analysis = Analysis()
    for name in TABLES if wanted == "all" else [wanted]:
        reason = _lacking(source, name)
        if reason:
            analysis.skipped[name] = reason
        else:
            analysis.tables[name] = TABLES[name](source, options)
    if not analysis.tables:
        raise UserError(f"{source.name}: no table {wanted}: {analysis.skipped[wanted]}")
    return analysis


def exclusions(source: "ErrorsInput") -> list[str]:
    """What the tables leave out and why, a line each."""
    from anynet_study import apr

    lines = [
        f"{row['dataset']}: {row['reason']} ({row['architectures']} of {len(source.errors)})"
        for row in apr.exclusions(source.errors).to_dict("records")
    ]
    if source.store is not None:
        for row in source.store.exclusions().to_dict("records"):
            runs = f"{row['n']} run{'s' * (row['n'] != 1)}"
            kind = f" ({row['failure_kind']})" if row["failure_kind"] else ""
            kept = ", counted with the error of chance" if row["status"] == "diverged" else ""
            lines.append(f"{row['dataset']}: {runs} {row['status']}{kind}{kept}")
    return lines


def _check_method(method: str, weighted: bool) -> None:
    from anynet_study.apr.kernels import Method

    if method not in get_args(Method):
        raise UserError(f"--method: no {method!r}; legal: {', '.join(get_args(Method))}")
    if method == "kendall" and weighted:
        raise UserError(
            "--method: kendall takes no weights, which the architectures have; legal: spearman, "
            "pearson, or kendall with --unweighted"
        )


def _lacking(source: "ErrorsInput", table: str) -> str:
    """Why the input cannot have a table; empty if it can."""
    if table in ("match", "proxies") and source.roles is None:
        return "no source dataset with targets is known; say --source, --family, --targets"
    if table in ("drivers", "configurations") and not source.has_stages:
        return "the architectures' parameters are not known (columns d1, w1, b1, g1, d2, ...)"
    if table == "noise":
        if source.replicates is None:
            return "replicates are only in a results store"
        if not source.replicates.duplicated(["architecture", "dataset"]).any():
            return "no architecture was trained twice on a dataset"
    return ""


def _correlations(source: "ErrorsInput", options: Options) -> "pd.DataFrame":
    from anynet_study import apr

    return apr.correlations(source.errors, **vars(options), weights=source.weights)


def _match(source: "ErrorsInput", options: Options) -> "pd.DataFrame":
    from anynet_study import apr

    assert source.roles is not None
    return apr.match_family(source.errors, source.roles, **vars(options), weights=source.weights)


def _proxies(source: "ErrorsInput", options: Options) -> "pd.DataFrame":
    from anynet_study import apr

    assert source.roles is not None
    return apr.best_proxies(source.errors, source.roles, **vars(options), weights=source.weights)


def _drivers(source: "ErrorsInput", options: Options) -> "pd.DataFrame":
    from anynet_study import apr

    return apr.drivers(source.errors, source.population, **vars(options), weights=source.weights)


def _configurations(source: "ErrorsInput", options: Options) -> "pd.DataFrame":
    from anynet_study import apr

    return apr.configurations(source.errors, source.population)


def _noise(source: "ErrorsInput", options: Options) -> "pd.DataFrame":
    from anynet_study import apr

    return apr.noise_ceiling(source.replicates, options.level)


TABLES: "Mapping[str, Callable[[ErrorsInput, Options], pd.DataFrame]]" = {
    "correlations": _correlations,
    "match": _match,
    "proxies": _proxies,
    "drivers": _drivers,
    "configurations": _configurations,
    "noise": _noise,
}
