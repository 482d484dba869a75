"""Chromium for the tests: started once a file, and its pages' time runs by itself."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from stills import PAGE, find_browser


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; a test that needs it is skipped where none is installed."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium (apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def opener(page: Page, folder: Path) -> Callable[..., Any]:
    """What `stills.open_page` does, in this page and without waiting."""
    page.clock.install()
    page.add_init_script("localStorage.clear()")

    def open_page(
        head: str, body: str, actions: str, size: tuple[int, int] = (1000, 800)
    ) -> Any:
        path = folder / "page.html"
        path.write_text(PAGE.format(head=head, body=body, actions=actions), "utf-8")
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.goto(path.as_uri())
        for _ in range(400):
            page.clock.run_for(50)
            said = page.query_selector("#result")
            if said is not None:
                answer = json.loads(said.text_content() or "")
                assert answer["errors"] == []
                return answer["result"]
        raise AssertionError("the page never came to its end")

    return open_page
