"""Analyses that are anybody's join those of the package: they are checked, and fail in one line."""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, ParamSpec, TypeVar

import pandas as pd
from pandas.api import types

from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.apr.error_tables import check_frame
from anynet_study.analysis.claims import Claim, Fact, Said
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError, UnreadableError, UserError, first_line
from anynet_study.core.functions import guarded, open_instance

P = ParamSpec("P")
R = TypeVar("R")
#: The group of entry points by which installed packages add analyses.
GROUP = "anynet_study.analyses"
SHOWN = ("", "open", "folded")
Saying = Callable[[Study, pd.DataFrame], Said]
#: What a caption may have in braces.
IN_CAPTIONS = dict.fromkeys(("level", "rho", "correlation"), "")


def own_analyses(texts: Sequence[str]) -> dict[str, Analysis[Study]]:
    """The analyses of installed packages and those named by `texts`, by what errors call them.

    Installed packages name theirs as entry points of GROUP; `texts` are MODULE:NAME, also of files
    in this folder. Raises UserError for what is no `Analysis`, and for one that declares what there
    is not. The functions of those that are returned raise DoesNotApplyError with the reason: an
    analysis that fails is left out as any other that cannot be made. What cannot be read of the
    study stays an UnreadableError.
    """
    found = {}
    installed = {it.value: f"entry point {it.name}" for it in entry_points(group=GROUP)}
    for text, option in (installed | dict.fromkeys(texts, "--analysis")).items():
        what = f"{option} {text}"
        analysis = open_instance(text, option, Analysis)
        _check(analysis, what)
        found[what] = _guarded(analysis, what)
    return found


def _check(analysis: Analysis[Study], what: str) -> None:
    """Raise UserError for what an analysis declares wrongly."""
    if not isinstance(analysis.figures, tuple):
        raise UserError(f"{what}: figures: needed is a tuple, as (StudyFigure(...),)")
    for kind in (analysis, *analysis.figures):
        if not isinstance(kind, Analysis | StudyFigure):
            raise UserError(f"{what}: figures: {type(kind).__name__} is no StudyFigure")
        if not re.fullmatch(r"\w[\w-]*", str(kind.name), re.ASCII):
            raise UserError(f"{what}: name {kind.name!r}; legal: letters, digits, - and _")
    if analysis.shown not in SHOWN:
        raise UserError(f"{what}: shown {analysis.shown!r}; legal: 'open', 'folded', ''")
    for need in analysis.needs:
        if not hasattr(Study, need):
            raise UserError(f"{what}: needs: a study has no property {need!r}")
    for figure in analysis.figures:
        try:
            figure.caption.format(**IN_CAPTIONS)
        except (LookupError, ValueError):
            legal = ", ".join(f"{{{name}}}" for name in IN_CAPTIONS)
            raise UserError(
                f"{what}: caption of figure {figure.name}: legal in braces are {legal}; "
                "a brace is written twice"
            ) from None


def _guarded(analysis: Analysis[Study], what: str) -> Analysis[Study]:
    arrange = _making_table(analysis.arrange, f"{what}: arrange")
    made = analysis.table and _making_table(analysis.table, f"{what}: table")

    def table(study: Study) -> pd.DataFrame:
        assert made is not None
        arrange(whole := made(study))  # so that it does not fail on the page
        return whole

    return replace(
        analysis,
        table=made and table,
        arrange=arrange,
        say=analysis.say and _saying(analysis.say, what, analysis),
        figures=tuple(
            replace(
                figure,
                draw=_drawing(figure.draw, f"{what}: figure {figure.name}"),
                data=figure.data and _making_table(figure.data, f"{what}: data of {figure.name}"),
                expected=True,
            )
            for figure in analysis.figures
        ),
        expected=True,
    )


def _making_table(function: Callable[..., Any], what: str) -> Callable[..., pd.DataFrame]:
    """A table with all that is to be shown in columns whose names are different texts."""
    call = guarded(function, what, passed=(UserError,))

    @_left_out
    def made(of: Any) -> pd.DataFrame:
        table: pd.DataFrame = call(of)
        check_frame(table, what)
        odd = [name for name in table.columns if not isinstance(name, str)]
        odd += list(table.columns[table.columns.duplicated()])
        if odd:
            raise UserError(f"{what}: column {odd[0]!r}; legal: texts, each once")
        if table.index.names != [None] or not types.is_integer_dtype(table.index.dtype):
            raise UserError(f"{what}: its index would not be shown; reset_index() makes it columns")
        return table

    return made


def _drawing(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    """A matplotlib Figure that can be rendered."""
    call = guarded(function, what, passed=(UserError,))

    @_left_out
    def drawn(study: Study, data: pd.DataFrame) -> Any:
        from matplotlib.figure import Figure

        figure = call(study, data)
        if not isinstance(figure, Figure):
            kind = type(figure).__name__
            raise UserError(f"{what}: a {kind}; needed is a matplotlib Figure")
        try:
            figure.draw_without_rendering()
        except Exception as error:  # such as for a formula that cannot be set
            raise UserError(f"{what}: it cannot be rendered: {first_line(error)}") from error
        return figure

    return drawn


def _left_out(function: Callable[P, R]) -> Callable[P, R]:
    """The function, of which each UserError is a reason to leave it out but what is unreadable."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (DoesNotApplyError, UnreadableError):
            raise
        except UserError as error:
            raise DoesNotApplyError(str(error)) from error

    return called


def _saying(function: Callable[..., Any], what: str, analysis: Analysis[Study]) -> Saying:
    """Claims, or in their place the reason why there are none."""
    call = guarded(function, f"{what}: say", passed=(UnreadableError,))

    def said(study: Study, table: pd.DataFrame) -> Said:
        try:
            claims = call(study, table)
        except UnreadableError:
            raise
        except UserError as error:
            return [Fact("No sentences: {why}.", {"why": str(error)})]
        if not (isinstance(claims, list) and all(isinstance(it, Claim | Fact) for it in claims)):
            why = f"{what}: say: a list of Claim and Fact is needed, not {claims!r}"
            return [Fact("No sentences: {why}.", {"why": why})]
        for it in claims:
            if isinstance(it, Claim) and it.kind not in analysis.says:
                why = f"{what}: says: no world measures how often {it.kind.name!r} is wrong"
                return [Fact("No sentences: {why}.", {"why": why})]
        return claims

    return said
