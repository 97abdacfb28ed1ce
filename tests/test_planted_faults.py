"""The list of planted faults fits the code as it is; `plant_faults.py` plants them, by hand."""

from collections import Counter

from plant_faults import LEAST, ROOT, planted


def test_each_fault_can_be_planted_where_a_test_looks() -> None:
    for fault in planted():
        text = (ROOT / "anynet_study" / fault.file).read_text(encoding="utf-8")
        assert fault.old in text, f"{fault.file}: no {fault.old!r}"
        for test in fault.tests.split():
            file, _, name = test.partition("::")
            assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8"), test


def test_enough_are_planted_of_each_group() -> None:
    counts = Counter(fault.group for fault in planted())
    assert all(counts[group] >= least for group, least in LEAST.items()), counts
