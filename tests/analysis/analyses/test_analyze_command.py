"""`anynet-study analyze` in every format, and the summary that ends a study."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from synthetic_study import ROLES, noisy, population, staged_population, true_errors, write_study
from typer.testing import CliRunner

from anynet_study import apr
from anynet_study.analysis.analyses import FIGURES, findings, load
from anynet_study.analysis.analyses import TABLES as TABLES_OF_ALL
from anynet_study.analysis.apr import configurations
from anynet_study.cli.analysis_output import basis, print_summary
from anynet_study.cli.analyze import analyze
from anynet_study.cli.app import app as cli
from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore

#: What a study of one recipe, without curves and predictions, has.
TABLES = [
    *("correlations", "match", "proxies", "over-targets", "benchmark"),
    *("regret", "costs", "sizes", "drivers", "stages"),
    *("configurations", "noise", "corrected", "rank-preservation"),
    *("transfer", "beyond"),
]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "toy"
    write_study(folder)
    return folder


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """15 datasets with long names, gaps, and one constant."""
    errors = noisy(true_errors(population(30)), seed=0)
    table = pd.concat([errors.add_suffix(f"-with-a-long-name-{i}") for i in range(4)], axis=1)
    table = table.iloc[:, :15].copy()
    table.iloc[:, 3] = 50.0
    table.iloc[:2, 4] = float("nan")
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    table.to_csv(path)
    return path


def run(*arguments: object, width: int = 80, expect: int = 0) -> str:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(analyze)
    command = [*map(str, arguments), "--resamples", "100"]
    if command[0].endswith("wide.csv"):  # a column of one value is a dataset because we say so
        datasets = Path(command[0]).read_text().splitlines()[0].split(",")[1:]
        command += ["--dataset-columns", ",".join(datasets)]
    done = CliRunner().invoke(app, command, env={"COLUMNS": str(width)})
    if isinstance(done.exception, UserError):
        raise done.exception
    assert done.exit_code == expect, done.output
    return done.stdout


@pytest.mark.slow
def test_text_has_intervals_counts_and_what_is_left_out(study: Path) -> None:
    text = run(study, "--all")
    assert max(map(len, text.splitlines())) <= 80
    assert "toy: 16 architectures x 4 datasets" in text
    assert len(re.findall(r"-?\d\.\d\d \[-?\d\.\d\d, -?\d\.\d\d\]", text)) > 20
    assert re.search(r"lines: missing cells \(1 of 16\)", text)
    assert "lines: 1 run failed (oom)" in text
    assert "average of 2" in text
    for title in ("Proxies", "Configurations", "Training variability", "architecture (positive"):
        assert title in text


@pytest.mark.parametrize(("fewest", "most"), [(3, 3), (2, 4), (8, 8)])
def test_configurations_of_any_number_of_stages(tmp_path: Path, fewest: int, most: int) -> None:
    architectures = staged_population(20, fewest, most)
    architectures["one"] = np.linspace(10, 60, 20)
    architectures["two"] = np.linspace(50, 20, 20)
    architectures.to_csv(tmp_path / "errors.csv", index=False)
    text = run(tmp_path / "errors.csv", "--table", "configurations")
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    first = configurations(architectures.set_index("architecture")[["one"]], architectures, top=5)
    for cell in first[(first["parameter"] == "depth") & (first["n"] > 0)].to_dict("records"):
        best = "–" if math.isnan(cell["best"]) else f"{cell['best']:g}"
        assert f"{cell['mean']:.1f}±{cell['std']:.1f} ({best})" in text


def sentences_and_titles(text: str) -> tuple[list[str], list[str]]:
    """What `analyze` says as the answer, and the titles of the tables below it."""
    _, answer = text.split("\nthe answer:\n")
    said, *rest = answer.split("\n\n")
    titles = [part.strip().splitlines()[0] for part in rest]
    return [line for line in said.splitlines() if line.startswith("- ")], titles


@pytest.mark.slow
def test_the_answer_comes_in_few_sentences_and_with_the_tables_it_rests_on(study: Path) -> None:
    said, titles = sentences_and_titles(run(study, width=500))
    assert 1 <= len(said) <= 5
    assert [title for title in titles if title.startswith(("Targets", "Proxies", "Correlation"))]
    assert len([title for title in titles if ":" not in title or "Targets" in title]) <= 4
    assert any(title.startswith("by --table NAME or --all: ") for title in titles)
    concluded = [line.replace("−", "-") for line in load(study, resamples=100).conclusions]
    assert concluded == [line[2:] for line in said]


def test_a_source_without_a_family_is_not_its_own_closest_member(tmp_path: Path) -> None:
    rows = np.arange(40)
    errors = pd.DataFrame({"big": 20 + rows, "a": 25 + rows + rows % 3, "b": 22 + rows + rows % 5})
    errors.rename_axis("model").to_csv(tmp_path / "board.csv")
    path = tmp_path / "board.csv"
    said, _ = sentences_and_titles(run(path, "--error", "--source", "big", width=120))
    assert said[0] == "- The ranking of the architectures on big carries over to both targets."
    assert len(said) <= 5
    whole = run(path, "--error", "--source", "big", "--all", width=160)
    assert "undecided" not in whole
    assert "closest (classes)" not in whole
    assert "no table" not in whole
    beyond = whole[whole.index("The other targets as proxies") :]
    assert "p of others (Holm)" not in beyond.split("\nAccuracies")[0], "no replicates, no p"
    assert "no answer yet: no source dataset with targets is known; say --source" in " ".join(
        run(path, "--error").split()
    )


def test_tables_that_cannot_be_made_say_why_where_asked(wide: Path) -> None:
    whole = run(wide, "--all")
    assert max(map(len, whole.splitlines())) <= 80
    text = " ".join(whole.split())
    assert re.search("no table match, .*?: no source dataset with targets is known", text)
    assert "noise" not in text
    assert "no replicates are known" not in text
    asked = " ".join(run(wide, "--table", "correlations,noise").split())
    assert "no table noise: no replicates are known" in asked
    assert "constant: every error is 50" in text
    assert "105 rows: --table correlations" in text
    with pytest.raises(UserError, match="no table drivers: the parameters of the arch"):
        run(wide, "--table", "drivers")


@pytest.mark.slow
def test_json_has_every_table_and_null_for_undefined(study: Path, wide: Path) -> None:
    found = json.loads(run(study, "--json"))
    assert list(found["tables"]) == TABLES
    assert (found["input"], found["architectures"], found["resamples"]) == ("toy", 16, 100)
    assert found["averages"]["match"][0]["n"] == 15
    assert len(found["left_out"]) == 2
    found = json.loads(run(wide, "--format", "json"))
    assert sum(row["estimate"] is None for row in found["tables"]["correlations"]) == 14
    assert list(found["tables"]) == ["correlations", "sizes"]
    assert {*found["tables"], *found["not_made"]} == set(TABLES_OF_ALL)


def test_the_help_names_every_table_and_figure() -> None:
    for command, names in (("analyze", TABLES_OF_ALL), ("plot", FIGURES)):
        said = CliRunner().invoke(cli, [command, "--help"]).stdout
        assert set(names) <= {line.split()[0] for line in said.splitlines() if line.strip()}


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 architectures, half of them with nine times the weight of the others."""
    architectures = population(40).assign(weight=[1.0, 9.0] * 20)
    table = architectures.merge(noisy(true_errors(architectures), seed=0).reset_index())
    path = tmp_path_factory.mktemp("weighted") / "weighted.csv"
    table.to_csv(path, index=False)
    return path


WEIGHTED = "correlations,match,proxies,drivers,stages"
OF_ROLES = [
    "--table",
    WEIGHTED,
    "--source",
    "big",
    "--family",
    "big=1000,big-2=2",
    "--targets",
    "pets=9,lines=2",
]


def test_weighted_correlations_say_so(weighted: Path) -> None:
    for width, tables, rows in ((80, WEIGHTED, 15), (100, "correlations,match", 4)):
        text = run(weighted, "--table", tables, *OF_ROLES[2:], width=width)
        assert "correlations weighted, as the sample was drawn with unequal probability" in text
        assert "40 architectures say as much as 24.4 of equal weight (eff.)" in text
        assert text.count("24.4\n") + text.count("24.4  ") > rows
        assert max(map(len, text.splitlines())) <= width
        assert "…" not in text


def test_weights_are_used_unless_told_otherwise(weighted: Path) -> None:
    table = pd.read_csv(weighted, index_col=0)
    errors = table[["big", "big-2", "pets", "lines"]]
    asked = ["--json", "--table", "correlations,match,proxies,drivers"]
    for options, weights in ((asked, table["weight"]), ([*asked, "--unweighted"], None)):
        found = json.loads(run(weighted, *OF_ROLES, *options))
        truth = apr.correlations(errors, resamples=100, weights=weights)
        rows = found["tables"]["correlations"]
        assert [row["estimate"] for row in rows] == pytest.approx(list(truth["estimate"]))
        effective = None if weights is None else pytest.approx(1000 / 41)
        assert found["effective_architectures"] == effective
        for name in ("match", "proxies", "drivers"):
            assert ("effective" in found["tables"][name][0]) == (weights is not None)


def test_kendall_needs_the_weights_to_be_ignored(weighted: Path) -> None:
    with pytest.raises(UserError, match=r"kendall takes no weights.* --unweighted"):
        run(weighted, "--method", "kendall", "--table", "drivers")
    assert "Kendall" in run(weighted, "--method", "kendall", "--unweighted", "--table", "drivers")


def test_several_tables_are_files_of_a_folder(study: Path, tmp_path: Path) -> None:
    output = run(study, "--table", "match,noise", "--format", "csv", "--output", tmp_path)
    assert output.splitlines() == [str(tmp_path / f"{name}.csv") for name in ("match", "noise")]
    assert "rho_source_low" in (tmp_path / "match.csv").read_text()


def test_latex_escapes_names_and_says_how_it_was_made(tmp_path: Path) -> None:
    errors = noisy(true_errors(population(12)), seed=0)
    names = ["a_b & 50%", r"back\slash", "#1", "{x}^2"]
    errors.set_axis(names, axis=1).to_csv(tmp_path / "odd.csv")
    text = run(tmp_path / "odd.csv", "--table", "correlations", "--format", "latex")
    assert r"a\_b \& 50\% & back\textbackslash slash & " in text
    assert r"\#1 & \{x\}\textasciicircum 2 & " in text
    assert (
        r"\caption{Correlation of the errors, every pair of datasets. Spearman's rank correlation. "
        r"95\% intervals (those by bootstrap of"
    ) in text
    assert "seed 0). p (Holm) is corrected for the 6 pairs of the table. p: two-sided" in text
    assert basis(pd.DataFrame()) == []  # each table says what it is itself
    assert r"\begin{tabular}{llrrrr}" in text
    assert text.count(r"\\") == 7  # the heading and six pairs
    assert re.search(r"\[.*\] & 12 & ", text)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("one.csv", "target,proxy,estimate,low,high"),
        ("one.tex", r"\toprule"),
        ("one.txt", "is the best"),
        ("one.json", '"best"'),
    ],
)
def test_the_ending_of_a_file_says_its_format(
    study: Path, tmp_path: Path, name: str, part: str
) -> None:
    path = tmp_path / "deep" / name
    assert run(study, "--table", "proxies", "-o", path) == f"{path}\n"
    assert part in path.read_text(encoding="utf-8")
    assert [each.name for each in path.parent.iterdir()] == [name]


def test_several_tables_fit_one_json_file(study: Path, tmp_path: Path) -> None:
    run(study, "--table", "match,noise", "-o", tmp_path / "all.json")
    assert [*json.loads((tmp_path / "all.json").read_text())["tables"]] == ["match", "noise"]


def test_which_runs_of_a_store_count_is_chosen(study: Path, wide: Path) -> None:
    mean, first = (
        json.loads(run(study, "--json", "--table", "correlations", *chosen))
        for chosen in ((), ("--replicates", "first"))
    )
    store = ResultStore(study / "results.h5")
    for found, errors in ((mean, store.errors()), (first, store.errors(replicates="first"))):
        truth = apr.correlations(errors, resamples=100)["estimate"]
        rows = found["tables"]["correlations"]
        assert [row["estimate"] for row in rows] == pytest.approx(list(truth))
    assert mean["tables"] != first["tables"]
    run(study, "--table", "correlations", "--recipe", "basic", "--metric", "top1")
    with pytest.raises(UserError, match=r"no recipe strong .* there are: basic"):
        run(study, "--recipe", "strong")
    with pytest.raises(UserError, match=r"--metric: unknown 'top3'; choose from top1, top5"):
        run(study, "--metric", "top3")
    with pytest.raises(UserError, match="--recipe and --replicates are for results stores"):
        run(wide, "--recipe", "basic")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "html"], "--format: unknown 'html'; choose from text, csv, json, latex"),
        (["-o", "all.tex"], "needs --output FOLDER"),
        (["-o", "all.h5"], "ending .h5; legal: .txt, .csv, .json, .tex, or a folder"),
        (["--level", "95"], "level: 95.0 is not between 0 and 1"),
    ],
)
def test_bad_options_are_refused(study: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        run(study, *arguments)


def test_the_summary_says_what_the_report_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    errors = noisy(true_errors(population(16)), seed=0)
    study = load(errors, ROLES, resamples=200)
    study.make(["correlations", "match", "proxies"])
    print_summary(study)
    text = capsys.readouterr().out
    value = apr.as_matrix(apr.correlations(errors, resamples=40)).loc["big", "lines"]
    assert f"{value:.2f}" in text
    words = " ".join(text.split())
    assert [finding.sentences[0] in words for finding in findings(study)] == [True, True]
    assert words.index("With 16 architectures") < words.index("Correlation of the errors")
    assert max(map(len, text.splitlines())) <= 80


def test_the_heading_says_of_which_part_the_tables_are(study: Path, wide: Path) -> None:
    for source, condition in ((study, "d1 >= 2"), (wide, "error < 45")):
        part = ["--where", condition, "--table", "correlations"]
        assert f"; only runs where {condition}" in run(source, *part, width=200)
        assert json.loads(run(source, *part, "--json"))["where"] == condition
        said = condition.replace("<", "$<$").replace(">", "$>$")
        assert f"Only runs where {said}." in run(source, *part, "--format", "latex")
