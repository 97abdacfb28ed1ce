"""Which tables an analysis of an input has, and why it has no others."""

from typing import TYPE_CHECKING, get_args

from anynet_study.errors import UserError

if TYPE_CHECKING:
    from anynet_study.cli.inputs import ErrorsInput
    from anynet_study.report import Analysis, Options


def table_names(told: str) -> list[str]:
    """The tables of --table NAME[,NAME...] or all. Raises UserError for one that is none."""
    from anynet_study.report import ANALYSES

    if told == "all":
        return list(ANALYSES)
    names = [name.strip() for name in told.split(",")]
    for name in names:
        if name not in ANALYSES:
            raise UserError(f"--table: no {name!r}; legal: {', '.join(ANALYSES)}, all")
    return names


def analyse_input(source: "ErrorsInput", wanted: list[str], options: "Options") -> "Analysis":
    """Make the tables that are wanted and that the input has the data for.

    Raises UserError where it has the data for none of them.
    """
    from anynet_study.report import analyse

    _check_options(options, weighted=source.weights is not None)
    analysis = analyse(source.study_tables(), options, wanted)
    if not analysis.found:
        name, reason = next(iter(analysis.left_out.items()))
        raise UserError(f"{source.name}: no table {name}: {with_remedy(reason)}")
    return analysis


def with_remedy(reason: str) -> str:
    """Why there is no table, and what to do about it on the command line."""
    from anynet_study.report.analyses.kind import NO_POPULATION, NO_ROLES

    remedies = {
        NO_ROLES: "say --source, --family, --targets",
        NO_POPULATION: "needed: columns d1, w1, b1, g1, d2, ...",
    }
    return "; ".join(filter(None, [reason, remedies.get(reason)]))


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


def _check_options(options: "Options", weighted: bool) -> None:
    from anynet_study.apr.options import Method, check_level

    if options.method not in get_args(Method):
        raise UserError(f"--method: no {options.method!r}; legal: {', '.join(get_args(Method))}")
    if options.method == "kendall" and weighted:
        raise UserError(
            "--method: kendall takes no weights, which the architectures have; legal: spearman, "
            "pearson, or kendall with --unweighted"
        )
    check_level(options.level, options.resamples)
