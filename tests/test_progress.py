"""Progress without a terminal, and durations for people."""

import pytest

from anynet_study.progress import duration, progress, progress_if_long


def test_plain_lines_begin_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("training", 4, start=1) as report:
        for done in range(2, 5):
            report(done, note="1 failed" if done == 4 else "")
    assert capsys.readouterr().err.splitlines() == [
        "training: 1/4",
        "training: 4/4, 1 failed",
    ]


def test_short_work_shows_no_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress_if_long("sampling", 4) as report:
        report(1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("anynet_study.progress.SECONDS_OF_PATIENCE", -1.0)
    with progress_if_long("sampling", 4) as report:
        report(0)  # no line yet: perhaps an error will be the only one
        report(1)
        report(4)
    assert capsys.readouterr().err.splitlines() == ["sampling: 1/4", "sampling: 4/4"]


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
