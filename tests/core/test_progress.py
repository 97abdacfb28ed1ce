"""Progress without a terminal, and durations for people."""

import pytest

from anynet_study.core.progress import duration, progress, progress_if_long


def test_plain_lines_begin_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("training", 4, start=1) as report:
        for done in range(2, 5):
            report(done, note="1 failed" if done == 4 else "")
    assert capsys.readouterr().err.splitlines() == [
        "training: 1/4",
        "training: 4/4, 1 failed",
    ]


def test_an_eta_is_told_from_the_second_report_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run has the start of all workers in it: 100 s here, and 10 s for each other."""
    clock = iter([0.0, 100.0, 110.0, 130.0])
    monkeypatch.setattr("anynet_study.core.progress.time.monotonic", lambda: next(clock))
    with progress("training", 9) as report:
        for done in (1, 2, 4):
            report(done)
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == [
        "training: 1/9",
        "training: 2/9, ETA 1 min 10 s",
        "training: 4/9, ETA 50 s",
    ]


def test_short_work_shows_no_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress_if_long("sampling", 4) as report:
        report(1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("anynet_study.core.progress.SECONDS_OF_PATIENCE", -1.0)
    with progress_if_long("sampling", 4) as report:
        report(0)  # no line yet: perhaps an error will be the only one
        report(1)
        report(4)
    assert capsys.readouterr().err.splitlines() == ["sampling: 1/4", "sampling: 4/4"]
    with progress_if_long("reading", 300, "/300 MB") as report:
        report(300)
    assert capsys.readouterr().err.splitlines()[-1] == "reading: 300/300 MB"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3600, "1 h 00 min"),
        (25_500, "7 h 05 min"),
        (85 * 86400, "85.0 days"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
