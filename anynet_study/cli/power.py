"""`anynet-study power`: what a planned study would find, before anything is trained."""

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated

from anynet_study.cli.options import AsJson, Overrides, SweepFile, numbers, opt
from anynet_study.core.errors import listed

#: What is said of a study before it is trained: how many verdicts on these true correlations are
#: "yes", with this training noise, unless so many are of the lowest one.
TRUE_RHOS, USUAL_ICC, LIKELY = (0.5, 0.7, 0.9), 0.8, 0.8
#: Simulated verdicts for each, of as many targets at a time as the study has; studies at least; and
#: architectures from which on nothing needs to be said.
SIMULATED, FEWEST_STUDIES, ENOUGH = 100, 20, 200

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.analysis.apr import Plan
    from anynet_study.engine.sweep import Sweep


def power(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    architectures: Annotated[str, opt("Numbers of architectures; default: the sweep's.")] = "",
    icc: Annotated[
        str, opt("ICCs of single runs, as `analyze --table noise` has them; 1: no noise.")
    ] = "1,0.8",
    rho: Annotated[str, opt("True correlations, without the noise of training.")] = "0,0.5,0.7,0.9",
    ahead: Annotated[
        float, opt("By how much the best proxy, or a family member, correlates more than others.")
    ] = 0.1,
    images: Annotated[
        str, opt("Test images of the source and of a further test set, such as 10000,2000.")
    ] = "",
    effect: Annotated[
        str, opt("True effective robustness, in points; asked with --images.")
    ] = "2,5",
    scatter: Annotated[
        float, opt("Standard deviation of models about their line, in points.")
    ] = 1.0,
    level: Annotated[float, opt("Level of the intervals behind verdicts.")] = 0.95,
    studies: Annotated[
        int | None, opt("How many studies to simulate; default: as many as take seconds.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how often a planned study would conclude "yes" or "no".

    That depends on what is true. Studies like the sweep's are simulated, with its numbers of
    architectures, targets, members of the source's family and replicates, and judged as `analyze`
    judges real ones. Nothing is trained and no images are needed. --icc says how large the noise
    of training is: take it from `analyze --table noise` of a small study that has replicates and
    the same recipe. With --images, verdicts on the robustness of a model are simulated as well:
    accuracies are then about 73% on the source's own test images (for half of the models 66% to
    79%), and 50% on the further ones.

    \b
    Examples:
      anynet-study power sweeps/mine.yaml --icc 0.8
      anynet-study power sweeps/mine.yaml --architectures 30,100,300 --icc 0.6,0.8
      anynet-study power sweeps/mine.yaml replicates.count=3 --icc 0.8 --rho 0.4,0.6
      anynet-study power sweeps/mine.yaml --images 10000,2000 --effect 1,3,5 --scatter 0.5
    """
    import json

    import pandas as pd

    from anynet_study.analysis import apr
    from anynet_study.cli.analysis_output import records
    from anynet_study.core.errors import UserError
    from anynet_study.engine.study_folder import sample
    from anynet_study.engine.sweep import Sweep

    sweep = Sweep.load(sweep_file, overrides or [])
    sizes = numbers("--architectures", architectures, 0, (30, 100))
    plans = [plan_of(sweep, n, level) for n in sizes or [len(sample(sweep.population))]]
    what = numbers("--rho", rho, -1.0, (0.5, 0.7)), numbers("--icc", icc, 0.0, (0.6, 0.8))
    robust: list[pd.DataFrame] = []
    if tested := numbers("--images", images, 0, (10_000, 2_000)):
        if len(tested) != 2:
            raise UserError(f"--images: {images!r}; legal: two numbers, such as 10000,2000")
        points = numbers("--effect", effect, -40.0, (2.0, 5.0))
        own, further = tested
        robust = [
            apr.robust_power(plan, (own, further), points, scatter, studies) for plan in plans
        ]
    table = pd.concat([*(apr.power(plan, *what, ahead, studies) for plan in plans), *robust])
    if as_json:
        print(json.dumps(records(table), indent=2))
        return
    _print(table, plans[0])


def what_it_can_answer(sweep: "Sweep", architectures: int) -> str:
    """Tell in a line how many simulated verdicts are yes; "" where most are, also of low rhos.

    Studies are simulated, as by the command, with as much noise of training as single runs often
    have. It is a count: how many would be of endless studies is not told.
    """
    from anynet_study.analysis.apr.error_tables import FEWEST
    from anynet_study.analysis.claims import Fact

    if not FEWEST <= architectures <= ENOUGH:
        return ""
    plan = replace(plan_of(sweep, architectures, 0.95), proxies=1, replicates=0)
    studies = max(FEWEST_STUDIES, SIMULATED // max(1, plan.targets))
    verdicts = studies * max(1, plan.targets)
    counts = [round(_share_of_yes(plan, rho, studies) * verdicts) for rho in TRUE_RHOS]
    if counts[0] >= LIKELY * verdicts:
        return ""
    told: dict[str, str | int] = {"n": architectures, "verdicts": verdicts, "icc": f"{USUAL_ICC:g}"}
    told |= {
        "counts": listed([*map(str, counts)]),
        "rhos": listed([f"{rho:g}" for rho in TRUE_RHOS]),
    }
    said = (
        "with {n} architectures, {counts} of {verdicts} simulated verdicts are yes where the true "
        "correlation is {rhos} (with an ICC of {icc}; for other numbers: anynet-study power)"
    )
    return str(Fact(said, told))


@cache
def _share_of_yes(plan: "Plan", rho: float, studies: int) -> float:
    from anynet_study.analysis import apr

    return float(apr.power(plan, (rho,), (USUAL_ICC,), studies=studies)["yes"].iloc[0])


def plan_of(sweep: "Sweep", architectures: int, level: float) -> "Plan":
    """Return what of a sweep its power depends on."""
    from anynet_study.analysis.apr import Plan

    roles = {label: sweep.role_of(label) for label in sweep.datasets}
    again = sweep.replicates
    repeated = set(again.datasets or roles) if again.count > 1 else set()
    compared = {label for label, role in roles.items() if role in ("source", "target")}
    known, some = compared <= repeated, again.architectures
    evaluated = [it for it in sweep.evaluations.values() if it.counts_as == "shift"]
    which = architectures if some is None else some if isinstance(some, int) else len(some)
    return Plan(
        n=architectures,
        targets=sum(role == "target" for role in roles.values()),
        proxies=sum(role in ("source", "family") for role in roles.values()),
        shifts=max(1, sum(it.datasets is None or sweep.source in it.datasets for it in evaluated)),
        runs=again.count if known and which >= architectures else 1,
        replicates=min(which, architectures) * (again.count - 1) if known else 0,
        level=level,
    )


def _print(table: "pd.DataFrame", plan: "Plan") -> None:
    from anynet_study.analysis.apr import (
        SMALLEST_CORRELATION,
        SMALLEST_DIFFERENCE,
        SMALLEST_ROBUSTNESS,
        fewest_to_preserve,
    )
    from anynet_study.cli.tables import print_table
    from anynet_study.core.errors import counted

    runs = f"the mean of {plan.runs} runs" if plan.runs > 1 else "that of a single run"
    known = (
        "replicates tell the ICC"
        if plan.replicates
        else "without replicates no ICC is known, and only negative correlations are “no”"
    )
    print(f"Spearman's rho, intervals at {100 * plan.level:g}%. Each error is {runs}; {known}.")
    needed = fewest_to_preserve(plan.targets, plan.level)
    family, shifts = counted(plan.targets, "target"), counted(plan.shifts, "further test set")
    asked = {
        "carries over": "Does the ranking carry over to a target (rho at least "
        f"{SMALLEST_CORRELATION:g})? {family} in one family",
        "is the best": f"Is the best of {plan.proxies} proxies told to be the best for a target? "
        f"{family} in one family",
        "is raised": "Does a family member raise the average correlation of the source (by "
        f"{SMALLEST_DIFFERENCE:g})? {family}",
        "order holds": "Does a target keep the order of the architectures that are told apart? "
        f"{family} in one family; “yes” needs {needed} architectures or more",
        "is robust": f"Is a model told to be robust (by {SMALLEST_ROBUSTNESS:g} point)? "
        f"All models and {shifts} in one family",
    }
    headings = {"n": "architectures", "icc": "ICC", "rho": "true rho", "others": "against"}
    headings |= {"effect": "true points"}
    for question, rows in table.groupby("question", sort=False):
        given = [name for name in headings if name in rows and rows[name].notna().all()]
        cells = [
            [
                *(f"{getattr(row, name):,.7g}" for name in given),
                *(f"{100 * share:.0f}%" for share in (row.yes, row.no, row.undecided)),
            ]
            for row in rows.itertuples()
        ]
        print(f"\n{asked.pop(str(question))}")
        columns = [headings[name] for name in given]
        print_table([*columns, "yes", "no", "undecided"], cells, left=0)
    needs = {
        "is the best": "proxies, and a --rho of --ahead or more",
        "order holds": "replicates",
        "is robust": "--images",
    }
    if lacking := [f"{it} (needs {what})" for it, what in needs.items() if it in asked]:
        print(f"\nnot asked: {', '.join(lacking)}")
    fewest, error = table["studies"].min(), 100 * table["se"].max()
    print(f"\nof {fewest:,} simulated studies or more; standard errors up to {error:.1f} points")
