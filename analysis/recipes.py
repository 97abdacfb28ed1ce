"""Paper 3, Appendix G: what another way of training changes, dataset by dataset.

    python analysis/recipes.py studies/augmentation --against default-basic

Mean errors of each recipe, how far they are from those of the recipe `--against` (by default the
one whose errors are analysed) on the same networks, with an interval over networks, and whether the
networks keep their order (Kendall's tau).
"""

from typing import Annotated

import pandas as pd
import typer
from scipy.stats import kendalltau, t

from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save_table, script, show
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def recipes(
    study: Study,
    against: Annotated[str, typer.Option(help="The recipe that others are compared with.")] = "",
    output: Output = FOLDER,
) -> None:
    """Print the table, and write it to recipes.csv."""
    tables: dict[str, pd.DataFrame] = study.known("recipes") or {}
    legal = [*dict.fromkeys([*study.errors_of.values(), *tables])]
    if not tables or against not in ("", *legal):
        told = ", ".join(legal) if tables else "none, a results store of several recipes is needed"
        raise UserError(f"--against {against}: legal are the recipes of the study: {told}")
    standing = [at for at, name in study.errors_of.items() if against in ("", name)]
    base = tables[against] if against in tables else study.errors[standing]
    rows, level = [], study.options.level
    for name, table in tables.items():
        for dataset in table.dropna(axis=1, how="all"):
            both = pd.DataFrame({"a": base.get(dataset), "b": table[dataset]}).dropna()
            if name == against or len(both) < 2:
                continue
            change = both["b"] - both["a"]
            half = t.ppf((1 + level) / 2, len(both) - 1) * change.sem()
            rows.append(
                {
                    "dataset": dataset,
                    "recipe": name,
                    "networks": len(both),
                    against or "main": both["a"].mean(),
                    "error": both["b"].mean(),
                    "change": change.mean(),
                    "low": change.mean() - half,
                    "high": change.mean() + half,
                    "tau": kendalltau(both["a"], both["b"]).statistic,
                }
            )
    if not rows:
        raise UserError(f"{study.name}: no dataset was trained with both recipes")
    table = pd.DataFrame(rows)
    show(f"Errors in percent against those of {against or 'the main recipe'}", table)
    save_table(table, output / "recipes.csv")


if __name__ == "__main__":
    script(recipes)
