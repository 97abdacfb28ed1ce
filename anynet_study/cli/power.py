"""`anynet-study power`: what a planned study would find, before anything is trained."""

from typing import TYPE_CHECKING, Annotated

from anynet_study.cli.options import AsJson, Overrides, SweepFile, numbers, opt

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.apr import Plan
    from anynet_study.sweep import Sweep


def power(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    architectures: Annotated[str, opt("Numbers of architectures; default: the sweep's.")] = "",
    icc: Annotated[
        str, opt("ICCs of single runs, as `analyze --table noise` has them; 1: no noise.")
    ] = "1,0.8",
    rho: Annotated[str, opt("True correlations, without the noise of training.")] = "0,0.5,0.7,0.9",
    level: Annotated[float, opt("Of the intervals behind verdicts.")] = 0.95,
    studies: Annotated[int | None, opt("How many are simulated; default: for seconds.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say how often a planned study would conclude "yes" or "no", by what is true.

    Studies like the sweep's are simulated, with its numbers of architectures, targets, members of
    the source's family and replicates, and judged as `analyze` judges real ones. Nothing is trained
    and no images are needed. The noise of training has to be told: a small study with replicates
    of the same recipe has the ICC of each dataset in its table `noise`.

    \b
    Examples:
      anynet-study power sweeps/mine.yaml --icc 0.8
      anynet-study power sweeps/mine.yaml --architectures 30,100,300 --icc 0.6,0.8
      anynet-study power sweeps/mine.yaml replicates.count=3 --icc 0.8 --rho 0.4,0.6
    """
    import json

    import pandas as pd

    from anynet_study import apr
    from anynet_study.study_folder import sample
    from anynet_study.sweep import Sweep

    sweep = Sweep.load(sweep_file, overrides or [])
    sizes = numbers("--architectures", architectures, 0, (30, 100))
    plans = [plan_of(sweep, n, level) for n in sizes or [len(sample(sweep.population))]]
    what = numbers("--rho", rho, -1.0, (0.5, 0.7)), numbers("--icc", icc, 0.0, (0.6, 0.8))
    table = pd.concat([apr.power(plan, *what, studies=studies) for plan in plans])
    if as_json:
        print(json.dumps(table.to_dict("records"), indent=2))
        return
    _print(table, plans[0])


def plan_of(sweep: "Sweep", architectures: int, level: float) -> "Plan":
    """What of a sweep its power depends on."""
    from anynet_study.apr import Plan

    roles = {label: sweep.role_of(label) for label in sweep.datasets}
    again = sweep.replicates
    repeated = set(again.datasets or roles) if again.count > 1 else set()
    compared = {label for label, role in roles.items() if role in ("source", "target")}
    known, some = compared <= repeated, again.architectures
    which = architectures if some is None else some if isinstance(some, int) else len(some)
    return Plan(
        n=architectures,
        targets=sum(role == "target" for role in roles.values()),
        proxies=sum(role in ("source", "family") for role in roles.values()),
        runs=again.count if known and which >= architectures else 1,
        replicates=min(which, architectures) * (again.count - 1) if known else 0,
        level=level,
    )


def _print(table: "pd.DataFrame", plan: "Plan") -> None:
    from anynet_study.apr import SMALLEST_CORRELATION
    from anynet_study.cli.tables import print_table
    from anynet_study.errors import counted

    runs = f"the mean of {plan.runs} runs" if plan.runs > 1 else "that of a single run"
    known = "replicates tell the ICC" if plan.replicates else "without replicates no ICC is known"
    print(f"Spearman's rho, intervals at {100 * plan.level:g}%. Each error is {runs}; {known}.")
    asked = {
        "carries over": "Does the ranking carry over to a target (rho at least "
        f"{SMALLEST_CORRELATION:g})?",
        "is the best": f"Is the best of {plan.proxies} proxies told to be the best for a target?",
        "order holds": "Does a target keep the order of the architectures that are told apart?",
    }
    for question, rows in table.groupby("question", sort=False):
        best = rows["others"].notna().all()
        headings = ["architectures", "ICC", "true rho", *(["of the others"] if best else [])]
        cells = [
            [
                *(f"{row.n:,}", f"{row.icc:g}", f"{row.rho:g}"),
                *([f"{row.others:g}"] if best else []),
                *(f"{100 * share:.0f}%" for share in (row.yes, row.no, row.undecided)),
            ]
            for row in rows.itertuples()
        ]
        print(f"\n{asked[str(question)]} {counted(plan.targets, 'target')} in one family")
        print_table([*headings, "yes", "no", "undecided"], cells, left=0)
    fewest, error = table["studies"].min(), 100 * table["se"].max()
    print(f"\nof {fewest:,} simulated studies or more; standard errors up to {error:.1f} points")
