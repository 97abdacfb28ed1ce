"""Plant faults in the figures, the page and its sentences, and see whether the tests catch them.

    python tests/plant_faults.py [WORD]

Run by hand. Each fault is one edit of one file, made in a temporary copy of the package; then the
tests named beside it run there. Prints "caught" or "MISSED" for each fault (those whose file or
text holds WORD, where that is given) and how many were caught, and exits with 1 where it is fewer
than the figures that `LEAST` demands. A text that is no longer there is an error: keep the list up
to date with the code.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: By group: how many of its faults the tests must catch.
LEAST = {"plots": 30, "report": 17}


@dataclass(frozen=True)
class Fault:
    """One edit: `old` stands once or more in the file, and its first place becomes `new`."""

    group: str
    file: str
    old: str
    new: str
    tests: str


def plot(module: str, old: str, new: str, tests: str = "") -> Fault:
    """A fault in a module of figures."""
    name = tests or f"test_{module}.py"
    return Fault("plots", f"plots/{module}.py", old, new, f"tests/plots/{name}")


def sentence(module: str, old: str, new: str) -> Fault:
    """A fault in what is said of a table."""
    tests = "tests/analyses/test_sentences.py"
    return Fault("report", f"analyses/{module}.py", old, new, tests)


def page(module: str, old: str, new: str, tests: str = "test_page_parts.py") -> Fault:
    """A fault in the page."""
    return Fault("report", f"report/{module}.py", old, new, f"tests/report/{tests}")


FAULTS = [
    # Wrong column, swapped axes, swapped marker.
    plot(
        "points",
        "_marked(errors[x], errors[y], errors[y]",
        "_marked(errors[x], errors[y], errors[x]",
        "test_scatter.py",
    ),
    plot(
        "points",
        '"top": {"color": TOP, "marker": "^"',
        '"top": {"color": TOP, "marker": "X"',
        "test_scatter.py",
    ),
    plot("points", '("error", "value")', '("value", "error")', "test_drivers.py"),
    plot(
        "points",
        "_marked(before[name], after[name], after[name]",
        "_marked(after[name], before[name], after[name]",
        "test_agreement.py",
    ),
    plot(
        "scatter",
        'draw_points(panel, points, "x_error", "y_error"',
        'draw_points(panel, points, "y_error", "x_error"',
    ),
    plot("scatter", "Estimate(estimate, low, high, int(n))", "Estimate(low, low, high, int(n))"),
    plot("scatter", "_draw_histogram(axes, errors[x]", "_draw_histogram(axes, errors[names[0]]"),
    plot("heatmaps", "values.loc[y, x] = found.estimate", "values.loc[y, x] = found.low"),
    plot(
        "heatmaps",
        "axes.text(j + 0.5, height, wording.number(estimate)",
        "axes.text(i + 0.5, height, wording.number(estimate)",
    ),
    plot("heatmaps", 'values, "" if value == "estimate" else "partial_")', 'values, "")'),
    plot(
        "drivers",
        "driver_data(errors, population, parameter, count)",
        'driver_data(errors, population, "cumulative depth", count)',
    ),
    plot("drivers", 'rows["importance"].fillna(0)', 'rows["low"].fillna(0)'),
    plot("drivers", 'rows["mean"], yerr=rows["std"]', 'rows["best"], yerr=rows["std"]'),
    plot("agreement", 'wording.estimate(row["change"],', 'wording.estimate(row["change_low"],'),
    plot("agreement", '"x": before[source]', '"x": errors[source]'),
    plot(
        "fits", 'region["x"], region["y"], color=colour', 'region["x"], region["low"], color=colour'
    ),
    plot(
        "fits",
        'points["x_accuracy"], points["y_low"], points["y_high"]',
        'points["x_accuracy"], points["x_low"], points["x_high"]',
    ),
    plot("fits", 'rows["base"], rows["expected"]', 'rows["base"], rows["accuracy"]'),
    plot(
        "proxies",
        '.set_index("target").reindex(targets)',
        '.set_index("target").reindex(targets[::-1])',
    ),
    plot("proxies", '(rows["random"] - rows["oracle"])', '(rows["random"] - rows["regret"])'),
    plot(
        "proxies",
        'if rows.loc[row, "on_front"] else "white"',
        'if not rows.loc[row, "on_front"] else "white"',
    ),
    plot("proxies", 'sizes, table["width"], label', 'sizes, table["width_low"], label'),
    plot("style", "ends.T - values", "(ends.T - values)[::-1]", "test_proxies.py"),
    plot(
        "rankings",
        'ends = rows["rank_low"], rows["rank_high"]',
        'ends = rows["rank_best"], rows["rank_high"]',
    ),
    plot(
        "rankings",
        'rows["rank_best"], rows["rank_worst"], linewidth=0.7, **bar',
        'rows["rank"], rows["rank_worst"], linewidth=0.7, **bar',
    ),
    plot(
        "accuracies", "axes.set_ylim(len(rows) - 0.4, -0.6)", "axes.set_ylim(-0.6, len(rows) - 0.4)"
    ),
    plot(
        "accuracies",
        '.sort_values("classes", kind="stable")',
        '.sort_values("images", ascending=False)',
    ),
    plot("accuracies", 'tables[name], "mean"', 'tables[name], "low"'),
    plot("training", 'rows["epoch"], rows["median"]', 'rows["epoch"], rows["low"]'),
    plot(
        "training",
        'found["keep"].iloc[0], found["epoch"].iloc[0]',
        'found["keep"].iloc[0], found["epoch_sure"].iloc[0]',
    ),
    plot("population", "self.shares(space)[0]", "self.shares(sample)[0]"),
    plot("edf", "assign(fraction=0, low=0, high=0)", "assign(fraction=1, low=0, high=0)"),
    plot(
        "wording",
        'return f"{number(value, digits)} {interval(low, high, digits)}"',
        'return f"{number(low, digits)} {interval(low, high, digits)}"',
        "test_wording.py",
    ),
    # Sentences: the wrong side of a threshold, the wrong row, the wrong number.
    sentence("proxies", '(verdict == "no") & (rows["rho_source_high"] < 0)', '(verdict == "no")'),
    sentence("proxies", '"lowers" if high < 0', '"lowers" if low < 0'),
    sentence("proxies", 'if best["high"] < WEAK', 'if best["estimate"] < WEAK'),
    sentence("proxies", 'best["best"] == "yes"', 'best["best"] != "no"'),
    sentence("proxies", 'rows["regret"].idxmax()', 'rows["regret"].idxmin()'),
    sentence("proxies", 'rows.loc[rows["gain"] <= 0', 'rows.loc[rows["gain"] < 0'),
    sentence(
        "drivers",
        '[(better, "lower"), (worse, "higher")]',
        '[(better, "higher"), (worse, "lower")]',
    ),
    sentence("noise", "wording.number(lowest['ceiling'])", "wording.number(lowest['icc'])"),
    sentence("training", 'known["share"].idxmax()', 'known["share"].idxmin()'),
    sentence("shifts", '"no": "and the ranking does not hold"', '"no": "and the ranking holds"'),
    sentence(
        "correlations",
        "about \"\n        f\"{row['for_half']:,}",
        "about \"\n        f\"{row['for_a_tenth']:,}",
    ),
    # The page, its tables and linked panels.
    page(
        "page", 'if analysis.shown == "open" else None', 'if analysis.shown == "folded" else None'
    ),
    page(
        "page",
        "missing = (summary.planned or 0) - summary.recorded",
        "missing = (summary.planned or 0) - summary.recorded - summary.failed",
    ),
    page("page", "figures=[figure for figure in drawn if not figure.left_out]", "figures=drawn"),
    page("page", "level=wording.percent(options.level)", 'level="95%"'),
    page(
        "grid",
        "ends = zip(table[name], table[low], table[high], strict=True)",
        "ends = zip(table[name], table[high], table[low], strict=True)",
        "test_grid.py",
    ),
    page(
        "grid",
        "known.quantile([0, 0.25, 0.5, 0.75, 1])",
        "known.quantile([0, 0.25, 0.75, 0.5, 1])",
        "test_grid.py",
    ),
    page("grid", 'f"{100 * value:.0f}%"', 'f"{value:.0f}%"', "test_grid.py"),
    page("brushing", '{"x": place[x], "y": place[y]', '{"x": place[y], "y": place[x]'),
    page("summary", 'runs[runs["status"] == "failed"]', 'runs[runs["status"] == "diverged"]'),
]


def caught(fault: Fault, copy: Path) -> bool:
    """Whether its tests fail with the fault; the copy is as it was afterwards."""
    path = copy / "anynet_study" / fault.file
    text = path.read_text(encoding="utf-8")
    if fault.old not in text:
        raise SystemExit(f"{fault.file}: no {fault.old!r}; the list is out of date")
    path.write_text(text.replace(fault.old, fault.new, 1), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *fault.tests.split()],
            cwd=copy,
            env=environment,
            capture_output=True,
            check=False,
        )
    finally:
        path.write_text(text, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise SystemExit(f"{fault.tests}: {done.stdout.decode()[-2000:]}")
    return done.returncode == 1


def main(word: str = "") -> int:
    """Plant every fault that holds `word`, one after the other."""
    found: dict[str, list[bool]] = {group: [] for group in LEAST}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("anynet_study", "tests", "pyproject.toml"):
            source, ignored = ROOT / name, shutil.ignore_patterns("__pycache__")
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=ignored)
            else:
                shutil.copy(source, copy / name)
        for fault in FAULTS:
            if word in fault.file or word in fault.old:
                found[fault.group].append(caught(fault, copy))
                said = "caught" if found[fault.group][-1] else "MISSED"
                print(f"{said}  {fault.file}: {fault.old!r} -> {fault.new!r}", flush=True)
    for group, results in found.items():
        print(f"{group}: {sum(results)} of {len(results)} caught")
    enough = all(sum(results) >= LEAST[group] for group, results in found.items())
    return 0 if enough or word else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
