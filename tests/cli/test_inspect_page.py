"""The page of `sliphook inspect`, in headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.browser import chromium, faults, needs_chromium
from tests.cli.test_inspect import PATIENCE_S, Page, page

__all__ = ["page"]

pytestmark = needs_chromium


class Browser:
    """A window that shows the page."""

    def __init__(self, page: Page, downloads: Path) -> None:
        self.driver = chromium("--window-size=1400,1000")
        to = {"behavior": "allow", "downloadPath": str(downloads)}
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", to)  # pyright: ignore[reportUnknownMemberType]
        self.driver.get(page.url)

    def wait_for(self, id: str, text: str) -> str:
        """Wait until the element with that id has the text in it; returns all its text."""
        WebDriverWait(self.driver, PATIENCE_S).until(lambda _: text in self.text(id))
        return self.text(id)

    def text(self, id: str) -> str:
        return str(self[id].text)

    def __getitem__(self, id: str) -> WebElement:
        return self.driver.find_element(By.ID, id)

    def choose(self, thing: str) -> None:
        Select(self["thing"]).select_by_value(thing)

    def press(self, text: str, within: WebElement) -> None:
        buttons = within.find_elements(By.TAG_NAME, "button")
        wanted = next(
            button for button in buttons if text in (button.get_attribute("textContent") or "")
        )
        WebDriverWait(self.driver, PATIENCE_S).until(lambda _: wanted.is_displayed())
        wanted.click()

    def wire(self, part: str) -> WebElement:
        """The line of the wire that has `part`, opened."""

        def find(driver: webdriver.Chrome) -> WebElement | None:
            lines = driver.find_elements(By.CSS_SELECTOR, "#wire li")
            return next((line for line in lines if part in line.text), None)

        line = WebDriverWait(self.driver, PATIENCE_S).until(find)
        assert line is not None
        summary = line.find_element(By.TAG_NAME, "summary")
        show = "arguments[0].scrollIntoView()"
        self.driver.execute_script(show, summary)  # pyright: ignore[reportUnknownMemberType]
        summary.click()
        return line


@pytest.fixture
def browser(page: Page, tmp_path: Path) -> Iterator[Browser]:
    browser = Browser(page, tmp_path)
    try:
        browser.wait_for("state", "ready")
        yield browser
    finally:
        browser.driver.quit()


def test_a_hook_is_filled_in_sent_changed_and_saved(browser: Browser, tmp_path: Path) -> None:
    browser.choose("hook/pre_tool_call")
    arguments = browser["field-arguments"]
    arguments.clear()
    arguments.send_keys('{"command": "rm"}')
    arguments.send_keys(Keys.CONTROL, Keys.ENTER)
    browser.wait_for("answer", "deny: no trees")
    WebDriverWait(browser.driver, PATIENCE_S).until(lambda _: browser["picture"].is_displayed())

    browser.wire("← tried  hook/pre_tool_call")  # it is shown a little after the answer itself
    line = browser.wire("→ tried  hook/pre_tool_call")
    browser.press("Save as a test", line)
    saved = tmp_path / "test_tried_hook_pre_tool_call.py"
    WebDriverWait(browser.driver, PATIENCE_S).until(lambda _: saved.exists() and saved.read_text())
    assert "{'decision': 'deny', 'reason': 'no trees'}" in saved.read_text()

    browser.press("Change and send again", line)
    params = browser["params"]
    WebDriverWait(browser.driver, PATIENCE_S).until(lambda _: params.is_displayed())
    changed = params.get_attribute("value")
    assert changed is not None
    params.clear()
    params.send_keys(changed.replace('"rm"', '"ls"'))
    browser["send-again"].click()
    browser.wait_for("answer", '"result": null')
    assert faults(browser.driver) == []


def test_forms_are_made_of_schemas(browser: Browser) -> None:
    browser.choose("tool/add")
    assert browser["field-first"].get_attribute("type") == "number"
    assert "first *" in browser.text("fields")
    assert "second *" not in browser.text("fields")
    browser["field-first"].send_keys("40")
    browser.press("Send", browser["form"])
    browser.wait_for("answer", '"content": "42"')

    browser["as-json"].click()
    area = browser["field-json"]
    area.clear()
    area.send_keys("[1]")
    browser.press("Send", browser["form"])
    browser.wait_for("answer", "give an object")


def test_a_crash_a_question_and_a_stop(browser: Browser) -> None:
    browser.choose("tool/slow")
    browser.press("Send", browser["form"])
    browser.wait_for("log", "50% halfway")
    browser["stop"].click()
    browser.wait_for("answer", "told to stop")

    browser.choose("tool/asks")
    browser.press("Send", browser["form"])
    browser.wait_for("prompt", "Which one?")
    Select(browser["question-field-answer"]).select_by_visible_text("b")
    browser.press("Answer", browser["question-form"])
    browser.wait_for("answer", "'b'")

    browser.choose("hook/pre_tool_call")
    arguments = browser["field-arguments"]
    arguments.clear()
    arguments.send_keys('{"command": "crash"}')
    browser.press("Send", browser["form"])
    browser.wait_for("answer", "exited with status 7")
    browser.wait_for("log", "exited with status 7")
    browser["restart"].click()
    browser.wait_for("state", "ready")


def test_every_control_has_a_name(browser: Browser) -> None:
    browser.choose("hook/pre_tool_call")
    for summary in browser.driver.find_elements(By.CSS_SELECTOR, "#fields summary"):
        summary.click()
    found = browser.driver.find_elements(By.CSS_SELECTOR, "input, select, textarea, button")
    shown = [control for control in found if control.is_displayed()]
    assert len(shown) > 20
    for control in shown:
        assert control.accessible_name, control.get_attribute("outerHTML")
