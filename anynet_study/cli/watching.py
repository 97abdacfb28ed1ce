"""Watching a study in a browser: a page on this machine that follows the study's own files.

It only reads. Each look reads what journals have gained since the last look, as `status` does. The
page writes no file of the study, and cannot start or stop anything. The server of the standard
library listens on 127.0.0.1: other machines cannot reach it, and pages of other sites cannot read
it through the browser of this one (they come with another Host).
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader

from anynet_study.analysis import apr
from anynet_study.cli.concerns import concerns_so_far
from anynet_study.core.errors import UserError, first_line, printable
from anynet_study.engine.dispatch import (
    JournalReader,
    OpenStudy,
    Status,
    current_status,
    open_study,
)
from anynet_study.store import read_journal, read_journals

ADDRESS = "127.0.0.1"
#: Connections at a time, and seconds that one is waited for.
MOST_CLIENTS, PATIENCE = 64, 10.0
#: Looks are at least this many seconds apart, however many pages ask.
FRESH = 2.0
#: How many learning curves are shown: those of the last runs in the journal that was written last,
#: unless it has more bytes than this.
CURVES, MOST_BYTES = 12, 32_000_000
#: With fewer architectures on two datasets, no correlation is shown.
FEWEST = 4
KEPT = ["run_id", "architecture", "dataset", "recipe", "replicate", "status"]
KEPT += ["failure_kind", "message", "error", "started"]
SCRIPTS = ("statistics", "view", "axes", "matrix", "watch")
#: The page may run what is written in it and ask its own server, and nothing else.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
POLICY += "; connect-src 'self'"


#: Device and number of a file, its size, and when it changed.
Stamp = tuple[tuple[int, int], int, int]


def stamp_of(path: Path) -> Stamp:
    """Return what is another when a file is replaced or changed. OSError where there is none."""
    found = path.stat()
    return (found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns


class Watch:
    """The current state of a study's files; it is read again after `FRESH` seconds."""

    def __init__(self, study: OpenStudy, say: Callable[[Status], Sequence[str]]) -> None:
        """`say` turns a status into lines for people."""
        self.study, self._say = study, say
        self._begin()
        self._lock = threading.Lock()
        self._state, self._looked = b"", 0.0

    def _begin(self) -> None:
        """Forget what was read."""
        self._reader = JournalReader(self.study.folder.journals, self.study.folder.results)
        self._after: dict[str, int] = {}
        self._runs = pd.DataFrame(columns=KEPT)
        self._stamps: dict[Path, Stamp] = {}

    def _check(self) -> None:
        """Begin anew where a file that was read is no longer what it was, but longer.

        Raises UserError or OSError where the study cannot be opened any more.
        """
        folder = self.study.folder
        files = folder.sweep_file, folder.population_file, *folder.journals.glob("*.arrow")
        now = {path: stamp_of(path) for path in files}
        for path, before in self._stamps.items():
            grown = path.suffix == ".arrow" and now.get(path, before)[:1] == before[:1]
            grown = grown and path in now and now[path][1] > before[1]
            if now.get(path) != before and not grown:
                self.study = open_study(folder.folder)
                self._begin()
                break
        self._stamps = now

    def state(self) -> bytes:
        """The state as JSON, for the page."""
        with self._lock:
            if not self._state or time.monotonic() - self._looked > FRESH:
                self._state = json.dumps(self._look()).encode()
                self._looked = time.monotonic()
            return self._state

    def _look(self) -> dict[str, Any]:
        self._check()
        status = current_status(self.study, self._reader)
        self._read()
        self.study = self.study.planned_by(self._reader.read())
        planned = self.study.plan.by_id
        runs = self._runs[self._runs["run_id"].isin(planned)]
        runs = runs.sort_values("started", kind="stable").drop_duplicates("run_id", keep="last")
        called = [self.study.plan.called(planned[run_id]) for run_id in runs["run_id"]]
        runs = runs.assign(recipe=called)
        failed = runs[runs["status"] == "failed"].groupby(["dataset", "failure_kind"], sort=False)
        failures = failed["message"].agg(["size", "first"]).reset_index().astype(str)
        return {
            "name": self.study.sweep.name,
            "active": None if status.jobs_unknown else status.is_active,
            "concerns": [str(it) for it in concerns_so_far(self.study, self._reader)],
            "lines": [line for line in self._say(status) if line],
            "datasets": [[name, *counts] for name, counts in status.datasets.items()],
            "failures": failures.to_numpy().tolist(),
            "matrix": matrix_of(
                runs, {name: self.study.sweep.standing_for(name) for name in status.datasets}
            ),
            "curves": self._curves(),
            "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }

    def _read(self) -> None:
        new = read_journals(self.study.folder.journals, self._after)
        if not len(new):
            return
        self._after |= zip(new["journal"].to_pylist(), new["end"].to_pylist(), strict=True)
        table = new.select([*KEPT, "record_kind"]).to_pandas()
        runs = table.loc[table["record_kind"] == "run", KEPT]
        texts = [name for name in KEPT if name not in ("error", "started", "replicate")]
        runs = runs.astype(dict.fromkeys(texts, str))
        self._runs = pd.concat([self._runs, runs]) if len(self._runs) else runs

    def _curves(self) -> list[dict[str, Any]]:
        """The runs that ended last: their names and their test errors by epoch."""
        journals = self.study.folder.journals.glob("*.arrow")
        paths = [path for path in journals if not path.name.endswith(".evaluations.arrow")]
        last = max(paths, key=lambda path: path.stat().st_mtime, default=None)
        if last is None or last.stat().st_size > MOST_BYTES:
            return []
        made = []
        for record in read_journal(last, CURVES).records:
            curve = record.curves.get(f"test_{record.metric}", record.curves.get("test_top1"))
            if curve is None or not len(curve):
                continue
            known = [round(float(it), 2) if np.isfinite(it) else None for it in curve]
            made.append({"name": f"{record.architecture} on {record.dataset}", "errors": known})
        return made


def matrix_of(runs: pd.DataFrame, standing: Mapping[str, str]) -> dict[str, Any]:
    """Current Spearman's rho of every pair of datasets, with its interval by formula.

    Over the architectures that have an error on both; `standing` says which recipe's errors stand
    for each dataset. The format is that of `matrix` in `explore_data`.
    """
    datasets = [*standing]
    stands = runs["dataset"].map(standing) == runs["recipe"]
    known = runs[stands & (runs["status"] != "failed")]
    known = known.assign(error=known["error"].astype(float))
    errors = known.pivot_table(index="architecture", columns="dataset", values="error")
    errors = errors.reindex(columns=datasets)
    rho = errors.corr("spearman", min_periods=FEWEST).to_numpy()
    there = errors.notna().to_numpy().astype(float)
    n = there.T @ there
    low, high = apr.fisher_interval(rho, n)
    above = np.triu_indices(len(datasets), 1)
    columns = [[*np.round(table[above], 3).tolist()] for table in (rho, low, high, n)]
    pairs = [
        [None if np.isnan(value) else value for value in pair]
        for pair in zip(*columns, strict=True)
    ]
    return {"names": datasets, "pairs": pairs}


def page_of(name: str) -> bytes:
    """The page; it asks for the state again and again."""
    loader = PackageLoader("anynet_study.analysis.report")
    environment = Environment(loader=loader, autoescape=True)
    style, *scripts = (
        loader.get_source(environment, file)[0]
        for file in ("report.css", *(f"scripts/{script}.js" for script in SCRIPTS))
    )
    template = environment.get_template("watch.html")
    return template.render(name=name, style=style, scripts=scripts).encode()


class WatchServer(ThreadingHTTPServer):
    """A server that stays silent if a browser leaves before it has its answer.

    It has at most MOST_CLIENTS requests at a time: of more, the one that began first is ended.
    """

    def __init__(self, *given: Any) -> None:
        self._clients: dict[Any, None] = {}
        self._changing = threading.Lock()
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Called for each connection; a thread of its own answers it."""
        with self._changing:
            if len(self._clients) >= MOST_CLIENTS:
                oldest = next(iter(self._clients))
                del self._clients[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._clients[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Called when a connection ends."""
        with self._changing:
            self._clients.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Called with the exception of a request being handled."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def watch_server(
    study: OpenStudy, port: int, say: Callable[[Status], Sequence[str]]
) -> ThreadingHTTPServer:
    """A server on 127.0.0.1 for the page of `study`. Port 0 takes any free port.

    Raises:
        UserError: the port is not available.
    """
    watch, page = Watch(study, say), page_of(study.sweep.name)

    class Handler(BaseHTTPRequestHandler):
        """Answers GET of the page and of its state, and nothing else."""

        timeout = PATIENCE

        def do_GET(self) -> None:
            """Called for each request."""
            here = self.connection.getsockname()[1]
            if self.headers.get("Host") not in (f"{ADDRESS}:{here}", f"localhost:{here}"):
                self.send_error(403, "ask by the address 127.0.0.1")
                return
            try:
                if self.path == "/":
                    self._send(page, "text/html; charset=utf-8")
                elif self.path == "/state":
                    self._send(watch.state(), "application/json")
                else:
                    self.send_error(404)
            except (OSError, UserError) as error:
                # Not as the reason of the status line, which has Latin-1 letters alone.
                self._send(printable(first_line(error)).encode(), "text/plain; charset=utf-8", 500)

        def _send(self, body: bytes, kind: str, code: int = 200) -> None:
            self.send_response(code)
            for name, value in {
                "Content-Type": kind,
                "Content-Length": str(len(body)),
                "Content-Security-Policy": POLICY,
                "Cache-Control": "no-store",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """No line for each request."""

    try:
        return WatchServer((ADDRESS, port), Handler)
    except OSError as error:
        raise UserError(
            f"--port: {port} is not available ({error.strerror}); choose another"
        ) from None
