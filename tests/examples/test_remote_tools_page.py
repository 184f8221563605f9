"""The page of examples/remote-tools in headless Chromium, called by an agent."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from sliphook.session.results import ToolOutcome
from tests.browser import chromium, faults, needs_chromium
from tests.examples.test_remote_tools import FOLDER, TOKEN, Agent, agent
from tests.programs import WAIT_S

pytestmark = needs_chromium
QUESTION = {"question": "Which <b>one</b>?", "choices": ["the <i>left</i>", "the right"]}


class Page:
    """The page; each call waits in a thread, and the host's loop goes on."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def text(self, id: str) -> str:
        return str(self.driver.find_element(By.ID, id).text)

    async def do(self, what: Callable[[], object]) -> None:
        await trio.to_thread.run_sync(what)

    async def open(self, url: str, **fields: str) -> None:
        await self.do(partial(self.driver.get, url))
        for id, value in fields.items():
            await self.do(self.driver.find_element(By.ID, id).clear)
            await self.do(partial(self.driver.find_element(By.ID, id).send_keys, value))

    async def connect(self) -> None:
        """With the keyboard alone."""
        field = self.driver.find_element(By.ID, "token")
        await self.do(partial(field.send_keys, Keys.ENTER))

    async def press(self, text: str) -> None:
        buttons = self.driver.find_elements(By.TAG_NAME, "button")
        await self.do(next(button for button in buttons if button.text == text).click)

    async def shows(self, id: str, text: str) -> str:
        """Wait until the element has the text in it; returns all its text."""

        def look() -> str:
            deadline = time.monotonic() + WAIT_S
            while text not in (shown := self.text(id)):
                assert time.monotonic() < deadline, shown
                time.sleep(0.02)
            return shown

        return await trio.to_thread.run_sync(look)


@pytest.fixture(scope="module")
def driver() -> Iterator[webdriver.Chrome]:
    driver = chromium("--window-size=700,900")
    yield driver
    driver.quit()


@pytest.fixture
def page(driver: webdriver.Chrome) -> Iterator[Page]:
    faults(driver)  # those of the test before
    yield Page(driver)
    driver.get("about:blank")


@asynccontextmanager
async def connected(page: Page, home: Path) -> AsyncGenerator[Agent]:
    async with agent(home) as here:
        await page.open(f"http://127.0.0.1:{here.port}/", token=TOKEN)
        await page.connect()
        await page.shows("status", "Connected: the agent has page_show and page_ask.")
        await here.has_tools("page_show", "page_ask")
        yield here


async def test_a_note_is_shown_and_a_choice_is_the_result(page: Page, tmp_path: Path) -> None:
    outcomes: list[ToolOutcome] = []
    async with connected(page, tmp_path) as here:
        shown = await here.call("page_show", {"text": "<img src=x onerror=alert(1)> is here"})
        assert (shown.status, shown.text()) == ("ok", "shown")
        assert page.text("log") == "<img src=x onerror=alert(1)> is here"

        async with trio.open_nursery() as nursery:

            async def call() -> None:
                outcomes.append(await here.call("page_ask", QUESTION))

            nursery.start_soon(call)
            assert await page.shows("questions", "Which") == (
                "Which <b>one</b>?\nthe <i>left</i>the right"
            )
            assert page.driver.title == "(1) Remote tools"
            await page.press("the <i>left</i>")
        assert [(one.status, one.text()) for one in outcomes] == [("ok", "the <i>left</i>")]
        assert (page.text("questions"), page.driver.title) == ("", "Remote tools")

        await page.press("Disconnect")
        await here.has_tools()
        assert page.text("status") == "Not connected."
    assert faults(page.driver) == []


async def test_an_interrupt_takes_the_question_away(page: Page, tmp_path: Path) -> None:
    async with connected(page, tmp_path) as here:
        async with here.session.turn("ask") as turn, trio.open_nursery() as nursery:
            nursery.start_soon(turn.call_tool, "page_ask", QUESTION)
            await page.shows("questions", "Which")
            here.session.interrupt("user_stop", "stop_command")
        await page.shows("log", "The agent has withdrawn a question.")
        assert (page.text("questions"), page.text("none")) == ("", "None.")


async def test_a_page_that_is_closed_gives_the_model_an_error(page: Page, tmp_path: Path) -> None:
    outcomes: list[ToolOutcome] = []
    async with connected(page, tmp_path) as here, trio.open_nursery() as nursery:

        async def call() -> None:
            outcomes.append(await here.call("page_ask", QUESTION))

        nursery.start_soon(call)
        await page.shows("questions", "Which")
        await page.do(partial(page.driver.get, "about:blank"))
    assert [(one.status, one.text()) for one in outcomes] == [
        ("error", "page, the program that offers this tool, has gone")
    ]


async def test_from_a_file_with_a_wrong_token_and_with_the_next_agent(
    page: Page, tmp_path: Path
) -> None:
    async with agent(tmp_path) as first:
        port = first.port
        at = {"address": f"ws://127.0.0.1:{port}", "name": "desk", "token": "another"}
        await page.open((FOLDER / "page.html").as_uri(), **at)
        await page.connect()
        await page.shows("status", "Closed: wrong token.")
        await page.open(page.driver.current_url, **{**at, "token": TOKEN})
        await page.connect()
        await first.has_tools("desk_show", "desk_ask")
    await page.shows("status", "Not connected; tries again in")
    async with agent(tmp_path, port=port) as second:
        await second.has_tools("desk_show", "desk_ask")
        await page.shows("status", "Connected: the agent has desk_show and desk_ask.")


async def test_it_can_be_read_by_all(page: Page, tmp_path: Path) -> None:
    """Names, landmarks, and colours of enough contrast in both schemes."""
    async with connected(page, tmp_path) as here, trio.open_nursery() as nursery:
        nursery.start_soon(here.call, "page_ask", QUESTION)
        await page.shows("questions", "Which")
        controls = page.driver.find_elements(By.CSS_SELECTOR, "input, button")
        assert len(controls) == 7
        for control in controls:
            assert control.accessible_name, control.get_attribute("outerHTML")
        roles = {id: page.driver.find_element(By.ID, id).aria_role for id in ("status", "log")}
        assert roles == {"status": "status", "log": "log"}
        assert page.driver.find_element(By.TAG_NAME, "fieldset").accessible_name == (
            "Which <b>one</b>?"
        )
        for scheme, canvas in (("light", "#ffffff"), ("dark", "#121212")):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)  # pyright: ignore[reportUnknownMemberType]
            for selector in ("body", "#none", "legend", "#leave", "fieldset button", "#token"):
                ratio = page.driver.execute_script(CONTRAST, selector, canvas)  # pyright: ignore[reportUnknownMemberType]
                assert float(str(ratio)) >= 4.5, (scheme, selector)
        await page.press("the right")


# of the text to what is behind it, as WCAG 2 counts it
CONTRAST = """
const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
function light(colours) {
  for (const colour of colours) { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1) }
  const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map(value => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
const text = document.querySelector(arguments[0])
const behind = []
for (let one = text; one; one = one.parentElement) behind.unshift(getComputedStyle(one).backgroundColor)
behind.unshift(arguments[1])
const [low, high] = [light(behind), light([...behind, getComputedStyle(text).color])].sort((a, b) => a - b)
return (high + 0.05) / (low + 0.05)
"""
