"""Every analysis of a study, in order; the sections of a page; and what was found, in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from anynet_study.analysis.analyses import (
    benchmark,
    budgets,
    class_accuracy,
    configurations,
    confusion,
    correlations,
    distances,
    drivers,
    images,
    noise,
    over_targets,
    proxies,
    shifts,
    training,
    transfer,
    tuning,
)
from anynet_study.analysis.analyses.own import own_analyses
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.claims import sentences
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError, nearest

#: Every analysis by name, in the order in which they are shown.
ANALYSES: dict[str, Analysis[Study]] = {
    analysis.name: analysis
    for analysis in (
        correlations.CORRELATIONS,
        proxies.MATCH,
        proxies.PROXIES,
        over_targets.OVER_TARGETS,
        benchmark.BENCHMARK,
        proxies.REGRET,
        proxies.COSTS,
        correlations.SIZES,
        distances.DISTANCE_AND_CORRELATION,
        drivers.DRIVERS,
        drivers.STAGES,
        configurations.CONFIGURATIONS,
        configurations.BINS,
        noise.NOISE,
        noise.CORRECTED,
        noise.RANK_PRESERVATION,
        training.CURVES,
        training.DURATION,
        training.RECIPES,
        tuning.TUNING,
        tuning.TUNED,
        training.CLASS_OR_SIZE,
        transfer.TRANSFER,
        transfer.BEYOND,
        shifts.SHIFTS,
        shifts.GAPS,
        shifts.EFFECTIVE_ROBUSTNESS,
        budgets.BUDGETS,
        images.SIGNIFICANCE,
        images.LABEL_SETS,
        class_accuracy.CLASS_ACCURACY,
        confusion.CONFUSION,
        configurations.POPULATION,
    )
}
#: The short answer has at most so many sentences and tables.
MOST_SENTENCES, MOST_TABLES = 5, 3
#: The names of all that have a table, and of all figures.
TABLES = tuple(name for name, analysis in ANALYSES.items() if analysis.table)
FIGURES = tuple(figure.name for analysis in ANALYSES.values() for figure in analysis.figures)


def known_analyses(own: Sequence[str] = ()) -> dict[str, Analysis[Study]]:
    """Every analysis by name: the package's, those of installed packages, and a user's `own`.

    Raises UserError for what is no `Analysis` that fits beside them: see `own_analyses`.
    """
    known = dict(ANALYSES)
    for what, analysis in own_analyses(own).items():
        tables = [name for it in known.values() for name in (it.name, *it.older_names)]
        drawn = [it for other in (*known.values(), analysis) for it in other.figures]
        figures = [name for it in drawn for name in (it.name, *it.older_names)]
        if analysis.name in tables:
            raise UserError(f"{what}: there is an analysis {analysis.name!r} already")
        for figure in analysis.figures:
            if figures.count(figure.name) > 1:
                raise UserError(f"{what}: there is a figure {figure.name!r} already")
        sections = [section.id for section in SECTIONS]
        if analysis.section not in ("", *sections):
            legal = ", ".join(sections)
            raise UserError(f"{what}: section {analysis.section!r}; legal: {legal}")
        known[analysis.name] = analysis
    return known


def chosen_names(
    option: str, told: str, kinds: Sequence[Analysis[Study] | StudyFigure[Study]]
) -> list[str]:
    """The names that an option NAME[,NAME...] chooses, or all; older names are understood.

    Raises UserError for a name that is none, with the nearest one, or else with all legal ones.
    """
    if told == "all":
        return [kind.name for kind in kinds]
    known = {name: kind.name for kind in kinds for name in (kind.name, *kind.older_names)}
    names = [name.strip() for name in told.split(",")]
    for name in names:
        if name not in known:
            legal = [*(kind.name for kind in kinds), "all"]
            told = nearest(name, known) or f"; choose from {', '.join(legal)}"
            raise UserError(f"{option}: unknown {name!r}{told}")
    return [known[name] for name in names]


@dataclass(frozen=True)
class Section:
    """A part of a page that shows analyses."""

    id: str
    #: In the navigation.
    title: str
    #: Above the section.
    heading: str
    lead: str = ""
    #: Whether it is left out where it has nothing to show.
    optional: bool = False


SECTIONS = (
    Section("proxies", "Proxies", "Which dataset predicts which?"),
    Section("pairs", "All pairs", "All pairs of datasets"),
    Section(
        "drivers",
        "Drivers",
        "What drives the errors?",
        "Correlation of the errors with depth and width summed over the stages. Positive: the "
        "deeper or wider, the worse.",
    ),
    Section(
        "noise",
        "Training noise",
        "How much of it is training noise?",
        "Architectures that were trained more than once show how far errors differ by chance "
        "alone. ICC is the share of the architectures in the variance of a single run. Even a "
        "perfect proxy cannot be expected to correlate with single runs above the ceiling.",
    ),
    Section("training", "Training", "How to train, and for how long?"),
    Section(
        "transfer",
        "Transfer",
        "Does accuracy on the source become accuracy on the targets?",
        optional=True,
    ),
    Section(
        "shifts",
        "Further test sets",
        "Do the rankings hold on further test sets?",
        optional=True,
    ),
    Section("images", "Images", "What do single images say?", optional=True),
    Section("population", "Population", "The population"),
)

#: Topics of the answer, the most important first, and the section that shows each.
TOPICS = {
    "The source": "proxies",
    "Which proxy": "proxies",
    "Drivers": "drivers",
    "Training": "training",
    "Training noise": "noise",
    "All pairs": "pairs",
    "Further test sets": "shifts",
    "The best": "images",
}


@dataclass(frozen=True)
class TopicFindings:
    """The findings on one topic, and the section of a page that shows it."""

    topic: str
    section: str
    sentences: list[str]


def findings(study: Study) -> list[TopicFindings]:
    """The answer of a study; topics without an answer are not there.

    It rests on tables that were made: `study.make(TABLES)` makes all of them.
    """
    said: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    shown = dict(TOPICS)
    for name, analysis in study.analyses.items():
        if analysis.say and name in study.tables:
            topic = analysis.topic or analysis.title
            claims = analysis.say(study, study.tables[name])
            said.setdefault(topic, []).extend(sentences(claims, analysis.says))
            shown.setdefault(topic, analysis.section)
    return [TopicFindings(topic, shown[topic], found) for topic, found in said.items() if found]


def conclusions(study: Study) -> list[str]:
    """The answer in at most five sentences: the first one of each topic, then further ones.

    It rests on tables that were made, as `findings`.
    """
    found = findings(study)
    order = sorted(
        (place, number)
        for number, topic in enumerate(found)
        for place in range(len(topic.sentences))
    )[:MOST_SENTENCES]
    shown = {(number, place) for place, number in order}
    return [
        sentence
        for number, topic in enumerate(found)
        for place, sentence in enumerate(topic.sentences)
        if (number, place) in shown
    ]


def answering(study: Study) -> list[str]:
    """The names of at most three tables, of those that were made, which the answer rests on.

    One of each topic, the most important first; with all correlations where that leaves room.
    """
    topics = [found.topic for found in findings(study)]
    first: dict[str, str] = {}
    for name in study.tables:
        if study.analyses[name].say:
            first.setdefault(study.analyses[name].topic or study.analyses[name].title, name)
    names = [first[topic] for topic in topics if topic in first][:MOST_TABLES]
    if len(names) < MOST_TABLES and "correlations" in study.tables:
        names.insert(0, "correlations")
    return names
