"""Sentences and limits of protocol.md that no test here tries, by the reason why."""

from __future__ import annotations

from typing import Final

UNTRIED: Final[dict[str, tuple[str, ...]]] = {
    "what a word means, or how the page is to be read": (
        "This page is all that you need to write a plugin, or an SDK for plugins, in any language.",
        "The **agent** is the program with the LLM loop; the **host** is the library in it that"
        " runs plugins.",
        "A **session** is one conversation.",
        "A **turn** lasts from a user's message until control is back with the user.",
        "A **model call** is one round trip to the model inside a turn.",
        "Durations that are set end in `_s` (seconds, also fractions), those that were measured in"
        " `_ms`.",
        "They bind the plugin, or the SDK that it is written with.",
        "What the host does stands in the present tense.",
        "In examples, messages are broken into lines for reading, and `…` stands for the [common"
        " fields](#common-fields).",
        "Below them stands each field: its name, with `?` if it may be absent; its type; what it is.",
        "[docs/processes.md](docs/processes.md#secrets) says how a value is found, and when it is"
        " not.",
        "The states of a plugin are drawn in [docs/processes.md](docs/processes.md#states).",
    ),
    "cannot be tried: it says what the words of RFC 2119 mean": (
        "The key words MUST, MUST NOT, SHOULD, SHOULD NOT and MAY mean what RFC 2119 says.",
    ),
    "test_quotes.py is what it tells of": (
        "Tests quote the sentences of this page, and try them (`tests/docs/protocol_sentences`).",
    ),
    "what authors of SDKs may do with the vectors, and what is left to a plugin": (
        "Have your encoder make what `results.json` calls valid, and refuse what it calls invalid;"
        " what is `by` the host is for your decoder.",
        "A field of null is one that is left out; a whole result of null is the answer of no"
        " opinion.",
        "An SDK that checks params answers such a request with -32602 and leaves out such an event;"
        " one that does not check lives on.",
        "Those of a plugin are for its encoder to refuse.",
        "how a second one is answered does not matter.",
        "What it does then is up to it:",
    ),
    "tests/vectors and tests/docs/test_generated.py compare them with the definition": (
        "| file | holds |",
        "| [tests/vectors/framing.json](tests/vectors/framing.json) | `host_writes`: streams of a host"
        " and the messages in them. `plugin_may_write`: streams that a host reads, with the messages"
        " and the stray output in them. `ends_the_connection`: streams that it gives up on, as"
        " hexadecimal digits |",
        "| [tests/vectors/params.json](tests/vectors/params.json) | for every method, valid messages,"
        " one of them with a field of tomorrow, and invalid ones with what is wrong |",
        "| [tests/vectors/results.json](tests/vectors/results.json) | for every request, results that"
        " are valid and results that are not; `by` says who writes them |",
        "| [tests/vectors/author_values.json](tests/vectors/author_values.json) | what the SDKs make"
        " of an author's values: `results`, as expressions of Python and JavaScript, with the text"
        " and the data that go out; `arguments` and `refused_arguments`, as they come in, with what"
        " a handler sees or the model is told |",
    ),
}
"""By reason. A sentence with MUST or SHOULD needs one that begins with "cannot be tried: "."""

UNTRIED_LIMITS: Final[dict[str, str]] = {}
"""The reason by the first cell of the row."""
