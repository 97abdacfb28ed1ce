"""The command tree. Heavy imports live inside the commands: `--help` must be instant."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from anynet_study.cli.analyze import analyze
from anynet_study.cli.class_lists import classes_app
from anynet_study.cli.compare import compare
from anynet_study.cli.complexity import complexity
from anynet_study.cli.curation import duplicates, sample_images
from anynet_study.cli.data import data_app
from anynet_study.cli.distance import distance
from anynet_study.cli.doctor import doctor
from anynet_study.cli.exporting import export
from anynet_study.cli.importing import import_
from anynet_study.cli.jobs import cancel, logs, work
from anynet_study.cli.labels import captions, folds, label, relabel
from anynet_study.cli.launch import launch, retry
from anynet_study.cli.options import opt
from anynet_study.cli.pilot import pilot
from anynet_study.cli.plot import plot
from anynet_study.cli.power import power
from anynet_study.cli.query import query
from anynet_study.cli.report import report
from anynet_study.cli.sample import sample
from anynet_study.cli.serve import serve
from anynet_study.cli.status import status
from anynet_study.cli.studies import list_
from anynet_study.cli.study import collect, run
from anynet_study.cli.sweep import init, sweep
from anynet_study.cli.track import track
from anynet_study.cli.verify import verify
from anynet_study.core.errors import UserError


class _Commands(TyperGroup):
    """The commands. An illegal value of an option gives one line, without the usage."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if type(error) is not typer.BadParameter:  # something is missing
                raise
            told = error.format_message().replace("Value error, ", "")  # of pydantic
            raise UserError(told) from None


class _Command(TyperCommand):
    """A command whose help shows its common options first, and the others below headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        found: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            shown = param.get_help_record(ctx)
            heading = getattr(param, "rich_help_panel", None) or "Options"
            if param.param_type_name == "argument":
                heading = "Arguments"
            if shown is not None:
                found.setdefault(heading, []).append(shown)
        for heading, records in found.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class _ListsWhatThereIs(_Command):
    """A command whose help ends with name and title of each table, or figure, that there is."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from anynet_study.analysis.analyses import ANALYSES

        known = list(ANALYSES.values())
        figures = [(it.name, it.title) for analysis in known for it in analysis.figures]
        tables = [(it.name, it.title) for it in known if it.table]
        with formatter.section("Tables" if self.name == "analyze" else "Figures"):
            formatter.write_dl(tables if self.name == "analyze" else figures)


app = typer.Typer(
    name="anynet-study",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Does progress on ImageNet carry over? Train a population of architectures on many "
    "datasets and compare their errors.",
)


def _print_version(asked: bool) -> None:
    if asked:
        from anynet_study.core.provenance import code_version

        print(f"anynet-study {code_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, opt("Print the version.", "--version", is_eager=True, callback=_print_version)
    ] = False,
) -> None: ...


STUDY = (pilot, power, run, sample, launch, work, status, cancel, retry)
RESULTS = (logs, collect, report, serve, track, query)
app.command()(init)
app.command()(sweep)
app.command("list")(list_)
for command in (*STUDY, *RESULTS):
    app.command()(command)
app.command(cls=_ListsWhatThereIs)(analyze)
app.command()(compare)
app.command(cls=_ListsWhatThereIs)(plot)
app.command()(complexity)
app.command("import")(import_)
app.command()(export)
app.command()(verify)
app.command()(doctor)
for command in (duplicates, distance, relabel, folds, label, captions):
    data_app.command()(command)
data_app.command("sample")(sample_images)
data_app.add_typer(classes_app, name="classes")
app.add_typer(data_app, name="data")
for group in (app, data_app, classes_app):
    for known in group.registered_commands:
        known.cls = known.cls if known.cls is _ListsWhatThereIs else _Command
