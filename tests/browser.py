"""A page of the installed Chromium, without a window, that Playwright drives."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page


@contextmanager
def chromium_page() -> Iterator["Page"]:
    """An empty page; the test is skipped (in CI, fails) where no Chromium is installed."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        reason = "no Chromium is installed (Debian: chromium)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright  # with a driver of its own: slow to import

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found)
        page = browser.new_page()
        page.set_default_timeout(120_000)  # milliseconds: on a busy machine
        yield page
        browser.close()


def value(page: "Page", expression: str) -> Any:
    """The value of a JavaScript expression, once the page has drawn what was done to it."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(expression)
