"""`anynet-study analyze`: the tables of a study or of a table of errors."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from anynet_study.analysis.analyses.arguments import Source, StudyOptions, with_study_options
from anynet_study.cli.options import AsIs, current, opt, writes
from anynet_study.core.errors import UserError

if TYPE_CHECKING:
    from anynet_study.analysis.study import Study


@with_study_options
def analyze(
    source: Source,
    table: Annotated[str, opt("Names of the list below, with commas; or all.")] = "",
    everything: Annotated[bool, opt("All tables that apply, with their notes.", "--all")] = False,
    layout: Annotated[str, opt("text (default), csv, json or latex.", "--format")] = "",
    as_json: Annotated[bool, opt("Same as --format json.", "--json")] = False,
    output: Annotated[
        Path | None, writes("A folder for a file per table; or a .txt, .csv, .json or .tex file.")
    ] = None,
    as_is: AsIs = False,
    *,
    options: StudyOptions,
) -> None:
    """Analyze how rankings carry over from one dataset to others.

    The answer in at most five sentences, and the tables that it rests on. The others are shown by
    name or by --all; files and JSON have all of them. Each table states its method, the level of
    its intervals, and for how many tests its p-values are corrected.

    \b
    Examples:
      anynet-study analyze quickstart
      anynet-study analyze leaderboard.csv --accuracy --source imagenet
      anynet-study analyze quickstart --where "d1 >= 2 and dataset != 'gratings'"
      anynet-study analyze errors.csv --table match --source ImageNet \\
        --family ImageNet=1000,ImageNet-10=10 --targets Cifar10=10,Powerline=2
    """
    from anynet_study.analysis.analyses import chosen_names, known_analyses
    from anynet_study.cli import analysis_output as out
    from anynet_study.core.files import updating_folder, write_text

    known = [it for it in known_analyses(options.analysis or ()).values() if it.table]
    names = chosen_names("--table", table or "all", known)
    layout = out.choose_layout("json" if as_json else layout, output, len(names))
    current([source], as_is)
    study = options.load(source)
    found = made(study, names)
    if output is not None and not output.suffix:
        files = {name: f"{name}{out.SUFFIXES[layout]}" for name in names}
        with updating_folder(output, files.values()) as folder:
            for name in found:
                write_text(folder / files[name], out.formatted(study, name, layout))
        print(*(output / files[name] for name in found), sep="\n")
    elif layout == "text" and output is None:
        if table or everything:
            out.print_tables(study, found, whole=table not in ("", "all"))
        else:
            out.print_answer(study)
    else:
        whole = layout == "json" and (output is None or len(names) > 1)
        texts = [] if whole else [out.formatted(study, name, layout) for name in found]
        text = out.as_json(study, found) if whole else "\n".join(texts)
        if output is None:
            print(text, end="")
        else:
            write_text(output, text)
            print(output)


def made(study: "Study", names: list[str]) -> list[str]:
    """The names of those tables that can be made. Raises UserError where none can."""
    from anynet_study.analysis.analysis import unanswered
    from anynet_study.cli.analysis_output import with_remedy

    found = study.make(names)
    for name, table in [*found.items()]:
        if reason := unanswered(table):
            study.left_out[name] = reason
            del found[name]
    if not found:
        raise UserError(
            f"{study.name}: no table {names[0]}: {with_remedy(study.left_out[names[0]])}"
        )
    return list(found)
