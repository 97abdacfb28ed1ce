"""A real Chromium without a window, driven as a person would: by mouse and keyboard."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from base64 import b64decode
from pathlib import Path
from typing import Any, Self

FOUND = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
SECONDS = 120.0
#: Virtual key codes, as the browser's own events have them.
KEYS = {"Escape": 27, "Enter": 13, "Tab": 9, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """One page of a Chromium of its own, which ends with the `with` block.

    It speaks the browser's debugging protocol over a pair of pipes: nothing listens on a port.
    """

    def __init__(self, profile: Path) -> None:
        assert FOUND is not None
        theirs_in, self._to = _pipe()
        self._from, theirs_out = _pipe()

        def hand_over() -> None:
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        flags = ["--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        self._process = subprocess.Popen(
            [FOUND, *flags, f"--user-data-dir={profile}", "--remote-debugging-pipe"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=hand_over,
            pass_fds=(3, 4),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._received = b""
        self._number = 0
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def open(
        self, page: Path | str, width: int = 1200, height: int = 900, dark: bool = False
    ) -> None:
        """Load a file or an address in a window of this size (pixels); wait until it is there."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self._call("Page.navigate", url=address)
        self.until(f"document.readyState === 'complete' && location.href === {address!r}")

    def until(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + SECONDS
        while not self.value(expression):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.02)

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are waited for."""
        found = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def frame(self) -> None:
        """Wait until the page has drawn what was done to it."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def drag(
        self, start: tuple[float, float], end: tuple[float, float], shift: bool = False
    ) -> None:
        """Press the mouse at a place of the window, move it, and release it at another."""
        half = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        self._mouse("mouseMoved", start, shift, buttons=0)
        self._mouse("mousePressed", start, shift)
        if start != end:
            self._mouse("mouseMoved", half, shift)
            self._mouse("mouseMoved", end, shift)
        self._mouse("mouseReleased", end, shift)
        self.frame()

    def point(self, place: tuple[float, float]) -> None:
        """Move the mouse to a place of the window, with no button pressed."""
        self._mouse("mouseMoved", place, shift=False, buttons=0)
        self.frame()

    def click(self, place: tuple[float, float], shift: bool = False) -> None:
        """Click on a place of the window."""
        self.drag(place, place, shift)

    def press(self, key: str) -> None:
        """Press and release a key, one of `KEYS`."""
        for kind in ("rawKeyDown", "keyUp"):
            code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
            if key == "Enter" and kind == "rawKeyDown":
                self._call("Input.dispatchKeyEvent", type="keyDown", text="\r", **code)
                continue
            self._call("Input.dispatchKeyEvent", type=kind, **code)
        self.frame()

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self._call("Input.insertText", text=text)
        self.frame()

    def picture(self, path: Path, whole: bool = False) -> None:
        """Write what the window shows, or the whole page, as PNG."""
        taken = self._call(
            "Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole)
        )
        path.write_bytes(b64decode(taken["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {**size, "scale": 1}}

    def _mouse(self, kind: str, place: tuple[float, float], shift: bool, buttons: int = 1) -> None:
        button = "left" if buttons else "none"
        x, y = place
        self._call(
            "Input.dispatchMouseEvent",
            **{"type": kind, "x": x, "y": y, "button": button, "buttons": buttons},
            **{"clickCount": 1, "modifiers": 8 if shift else 0},
        )

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from], [], [], SECONDS)
            assert ready, "the browser does not answer"
            read = os.read(self._from, 1 << 20)
            assert read, "the browser has ended"
            self._received += read
        message, _, self._received = self._received.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are not the 3 and 4 that the browser listens on."""
    read, write = os.pipe()
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read, write)]
    os.close(read)
    os.close(write)
    return ends[0], ends[1]
