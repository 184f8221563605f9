"""Pure: a picture as one HTML file to zoom into.

It runs only its own script, and its policy forbids the network.
"""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import Final

import msgspec

from .picture import Picture
from .svg import LOOK, svg_of

__all__ = ["page_of"]

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
<header>
<h1>{title}</h1>
<p>{subtitle}</p>
<p class="help">The wheel zooms, dragging moves, a click holds a message;
<kbd>+</kbd> <kbd>-</kbd> <kbd>←</kbd> <kbd>→</kbd>, and <kbd>0</kbd> for all</p>
</header>
<main>
<div id="chart"></div>
<div id="panel"><p class="dim">Point at something to see its messages.</p></div>
</main>
<noscript>{still}</noscript>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</html>
"""


def page_of(picture: Picture) -> str:
    """The file's text. Without JavaScript it shows the picture as `svg` draws it."""
    return _PAGE.format(
        title=escape(picture.title),
        subtitle=escape(picture.subtitle),
        style=LOOK + _asset("page.css"),
        still=svg_of(picture),
        data=_in_script(msgspec.json.encode(picture)),
        script=_asset("page.js"),
    )


def _asset(name: str) -> str:
    return (
        resources.files("sliphook.trace.views.timeline").joinpath(name).read_text(encoding="utf-8")
    )


def _in_script(data: bytes) -> str:
    """JSON without `<`, `>` and `&`, so that no `</script>` or `<!--` in a string ends the script.

    JSON has these characters only in strings, where an escape means the same.
    """
    return data.decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
