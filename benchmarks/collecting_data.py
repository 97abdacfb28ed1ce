"""Journals of any number of runs, written by copying: what differs is patched into one record."""

import hashlib
import json
import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.metrics import CURVES
from anynet_study.store import EVALUATIONS_SUFFIX, EvaluationRecord, RunRecord
from anynet_study.store.deduplicate import RunNames
from anynet_study.store.frames import checksum_places, encode
from anynet_study.store.records import EVALUATION, RUN, SCALARS

DATASETS = [f"dataset-{number:02d}" for number in range(15)]
EPOCHS = 30
WORKERS = 16
#: Runs whose curves are drawn together.
BLOCK = 1000
#: A specification is about as long as one of a real run.
SPEC = {"recipe": {f"setting_{number}": number / 8 for number in range(45)}}
_MARKS = {"run_id": "r" * 16, "architecture": "a" * 16, "dataset": "dataset-XX", "number": "n" * 16}


def run_id_of(number: int) -> str:
    """Different ids in no order, as hashes are."""
    return hashlib.blake2b(b"%d" % number, digest_size=8).hexdigest()


def architecture_of(number: int) -> str:
    return f"{number // len(DATASETS):016x}"


def population(runs: int) -> pa.Table:
    last = -(-runs // len(DATASETS))
    return pa.table({"architecture": [architecture_of(n * len(DATASETS)) for n in range(last)]})


def planned_runs(runs: int) -> dict[str, RunNames]:
    """What a sweep calls the runs."""
    names = [(label, "basic", 0) for label in DATASETS]
    return {run_id_of(number): names[number % len(DATASETS)] for number in range(runs)}


@lru_cache(maxsize=2)
def _block(block: int) -> NDArray[np.float32]:
    shape = (BLOCK, len(CURVES), EPOCHS)
    return np.random.default_rng(block).uniform(0, 100, shape).astype(np.float32)


def curves_of(number: int) -> NDArray[np.float32]:
    """(curves, epochs) in percent; the same for any number of runs."""
    curves: NDArray[np.float32] = _block(number // BLOCK)[number % BLOCK]
    return curves


def template() -> RunRecord:
    curves = dict(zip(CURVES, np.full((len(CURVES), EPOCHS), -1, np.float32), strict=True))
    return RunRecord(
        run_id=_MARKS["run_id"],
        spec=json.dumps({"number": _MARKS["number"], **SPEC}),
        architecture=_MARKS["architecture"],
        dataset=_MARKS["dataset"],
        recipe="basic",
        replicate=0,
        status="completed",
        metric="top1",
        error=12.34375,
        curves=curves,
        seconds=100.0,
        started=1.7e9,
        host="node1.cluster",
        device="NVIDIA H100",
        torch_version="2.13.0",
        code_version="0.1.0 0123456789ab",
    )


def fields(number: int) -> dict[str, Any]:
    """The same run as plain values."""
    one, curves = template(), curves_of(number)
    plain = {name: getattr(one, name) for name in SCALARS}
    plain |= {"run_id": run_id_of(number), "architecture": architecture_of(number)}
    plain["dataset"] = DATASETS[number % len(DATASETS)]
    plain["error"] = float(curves[CURVES.index("test_top1"), -1])
    return plain | {name: curve.tolist() for name, curve in zip(CURVES, curves, strict=True)}


def write_journals(folder: Path, runs: int) -> None:
    """The runs in the journals of WORKERS workers, dealt out in turn."""
    folder.mkdir(parents=True)
    frame = bytearray(encode(RUN.to_batch(template()), RUN.version))
    places = {name: frame.index(mark.encode()) for name, mark in _MARKS.items()}
    array = re.escape(np.full(EPOCHS, -1, np.float32).tobytes())
    arrays = [found.start() for found in re.finditer(array, frame)]
    error = frame.index(np.float64(12.34375).tobytes())
    (crc, crc_end), _ = checksum_places(bytes(frame))
    files = [(folder / f"worker-{number:02d}.arrow").open("wb") for number in range(WORKERS)]
    for file in files:
        file.write(RUN.schema.serialize())
    for number in range(runs):
        curves = curves_of(number)
        texts = {
            "run_id": run_id_of(number),
            "architecture": architecture_of(number),
            "dataset": DATASETS[number % len(DATASETS)],
            "number": f"{number:016d}",
        }
        for name, text in texts.items():
            frame[places[name] : places[name] + len(text)] = text.encode()
        for place, curve in zip(arrays, curves, strict=True):
            frame[place : place + 4 * EPOCHS] = curve.tobytes()
        last = np.float64(curves[CURVES.index("test_top1"), -1])
        frame[error : error + 8] = last.tobytes()
        frame[crc:crc_end] = b"00000000"
        frame[crc:crc_end] = b"%08x" % zlib.crc32(frame)
        files[number % WORKERS].write(frame)
    for file in files:
        file.close()


def write_evaluations(folder: Path, runs: int, each: int) -> None:
    """`each` evaluations of every run, without predictions, in the journals of WORKERS workers."""
    identities = [json.dumps({"transform": number, **SPEC}) for number in range(each)]
    records = [
        EvaluationRecord(
            run_id=_MARKS["run_id"],
            evaluation=f"evaluation-{number:02d}",
            evaluation_id=hashlib.sha256(identity.encode()).hexdigest()[:16],
            identity=identity,
            images=10_000,
            loss=1.5,
            top1=25.5,
            top5=5.25,
            seconds=2.0,
            started=1.8e9 + number,
            host="node1.cluster",
        )
        for number, identity in enumerate(identities)
    ]
    frames = [bytearray(encode(EVALUATION.to_batch(one), EVALUATION.version)) for one in records]
    place = frames[0].index(_MARKS["run_id"].encode())
    (crc, crc_end), _ = checksum_places(bytes(frames[0]))
    names = (f"worker-{number:02d}{EVALUATIONS_SUFFIX}" for number in range(WORKERS))
    files = [(folder / name).open("wb") for name in names]
    for file in files:
        file.write(EVALUATION.schema.serialize())
    for number in range(runs):
        for frame in frames:
            frame[place : place + 16] = run_id_of(number).encode()
            frame[crc:crc_end] = b"00000000"
            frame[crc:crc_end] = b"%08x" % zlib.crc32(frame)
            files[number % WORKERS].write(frame)
    for file in files:
        file.close()
