"""The same population from everyone: chunks, threads, processes, hash seeds, and versions."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from sampling_cases import CASES, TINY, bounds

from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture, DesignSpace, sampling
from anynet_study.design_space.space import SPACES

GOLDEN = json.loads((Path(__file__).parent / "golden_ids.json").read_text())
DRAW = """
import sys, json
from anynet_study.design_space import DesignSpace
space, count, bands, resolution, classes = json.loads(sys.argv[1])
arguments = {"resolution": resolution, "classes": classes, "seed": 3, **bands}
DesignSpace.from_spec(space).sample(count, **arguments).write(sys.argv[2])
"""


@pytest.mark.parametrize(
    "name", ["toy", "stratified", "rising widths", "three-stage regnets", "vanilla"]
)
def test_nothing_depends_on_chunks_and_threads(name: str) -> None:
    spec, count, bands, resolution, classes = CASES["toy" if name == "stratified" else name]
    strata = {"of": "depth", "edges": [7, 9.5]} if name == "stratified" else None
    space = DesignSpace.from_spec(spec)
    request = sampling.request(space, count, bounds(bands), resolution, classes, 3, strata)
    whole = sampling.sample(request)
    for chunk, threads in ((13, 3), (1000, 5), (4096, 1), (1 << 17, 2)):
        assert sampling.sample(request, chunk, threads).equals(whole)


@pytest.mark.parametrize(("chunk", "threads"), [(256, 3), (1000, 1), (3001, 2), (1 << 16, 2)])
def test_nor_does_the_message_when_the_search_is_given_up(
    chunk: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anynet_study.design_space.sampling.FIRST_LOOK", 1 << 10)
    monkeypatch.setattr("anynet_study.design_space.sampling.MOST_REPEATS", 1 << 12)
    request = sampling.request(TINY, 17, bounds({}), 9, 7, seed=3)
    with pytest.raises(UserError, match=r"found 16 of 17 .*: 8,192 of 8,192 candidates"):
        sampling.sample(request, chunk, threads)


def parquet(path: Path, name: str, **environment: str) -> str:
    """The hash of a Parquet file that another process wrote."""
    case = json.dumps(CASES[name])
    command = [sys.executable, "-c", DRAW, case, str(path)]
    subprocess.run(command, check=True, env={**os.environ, **environment})
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["the paper's", "regnety"])
def test_another_process_writes_the_same_bytes(name: str, tmp_path: Path) -> None:
    spec, count, bands, resolution, classes = CASES[name]
    request = sampling.request(
        DesignSpace.from_spec(spec), count, bounds(bands), resolution, classes, seed=3
    )
    written = []
    for number in (1, 2):
        sampling.sample(request, chunk=500 * number).write(tmp_path / f"here{number}.parquet")
        written.append(
            hashlib.sha256((tmp_path / f"here{number}.parquet").read_bytes()).hexdigest()
        )
    written.append(parquet(tmp_path / "a.parquet", name, PYTHONHASHSEED="1"))
    other = {"PYTHONHASHSEED": "2", "LC_ALL": "C", "TZ": "Asia/Tokyo", "OMP_NUM_THREADS": "1"}
    written.append(parquet(tmp_path / "b.parquet", name, **other))
    # Without the processor's vector instructions, sums and roundings must be the same.
    plain = {"NPY_DISABLE_CPU_FEATURES": " ".join(optional_features())}
    written.append(parquet(tmp_path / "c.parquet", name, **plain))
    assert len(set(written)) == 1


def optional_features() -> list[str]:
    """The features of this processor that numpy can do without."""
    return [one for one in __cpu_dispatch__ if __cpu_features__.get(one)]


def summary(space: Any, **arguments: Any) -> dict[str, Any]:
    """What the golden file has of a population: independent of the format of any file."""
    population = DesignSpace.from_spec(space).sample(**arguments)
    record = population.sampling
    costs = [population.table[one].to_pylist() for one in ("flops", "parameters", "activations")]
    content = json.dumps([[a.to_dict() for a in population], costs], sort_keys=True)
    return {
        "first": list(population.ids[:5]),
        "last": population.ids[-1],
        "sha256": hashlib.sha256(content.encode()).hexdigest(),
        "candidates": record["candidates"],
        "in_space": record["in_space"],
        "duplicates": record["duplicates"],
    }


def test_the_golden_file_has_every_named_space() -> None:
    assert set(SPACES) <= set(GOLDEN["populations"])


@pytest.mark.parametrize("name", GOLDEN["populations"])
def test_populations_never_change(name: str) -> None:
    golden = GOLDEN["populations"][name]
    assert summary(**golden["of"]) == golden["is"]


@pytest.mark.parametrize("known", GOLDEN["architectures"], ids=lambda known: known["name"])
def test_ids_never_change(known: dict[str, Any]) -> None:
    assert Architecture.from_dict(known["architecture"]).id == known["id"]
