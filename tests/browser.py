"""Headless Chromium, for pages."""

from __future__ import annotations

import shutil

import pytest
from selenium import webdriver

WAIT_S = 120.0

_CHROMIUM = shutil.which("chromium")
_DRIVER = shutil.which("chromedriver")
needs_chromium = pytest.mark.skipif(
    _CHROMIUM is None or _DRIVER is None,
    reason="needs chromium and chromedriver (Debian: apt install chromium chromium-driver)",
)


def chromium(*arguments: str) -> webdriver.Chrome:
    """A window; the caller quits it."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(_CHROMIUM)
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"):
        options.add_argument(argument)
    for argument in arguments:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(str(_DRIVER)))
    driver.set_page_load_timeout(WAIT_S)
    return driver


def faults(driver: webdriver.Chrome) -> list[str]:
    """What the browser complains of."""
    return [line["message"] for line in driver.get_log("browser")]  # type: ignore[no-untyped-call]
