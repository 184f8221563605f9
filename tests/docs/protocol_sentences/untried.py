"""Sentences and limits of protocol.md that no test here tries, by the reason why."""

from __future__ import annotations

from typing import Final

UNTRIED: Final[dict[str, tuple[str, ...]]] = {
    "what a word means, or how the page is to be read": (
        "This page is all that you need to write a plugin, or an SDK for plugins, in any language.",
        "The words: the **agent** is the program with the LLM loop; the **host** is the library in"
        " it that runs plugins.",
        "A **session** is one conversation.",
        "A **turn** lasts from a user's message until control is back with the user.",
        "A **model call** is one round trip to the model inside a turn.",
        "Durations that are set end in `_s` (seconds, with or without a fraction), those that were"
        " measured in `_ms`.",
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
        "Tests in `tests/docs/protocol_sentences` quote the sentences of this page, and try them.",
    ),
    "the check list says in short what stands below": (
        "Read by headers or by lines, but split at LF only.",
        "Write only messages to standard output, whole ones, flushed, from one place; give the"
        " author's `print` and child processes another standard output ([framing](#framing)).",
        "Read while handlers run: a cancel, a hook during a tool call and `exit` must get through.",
        "Answer `initialize` first ([start](#start)).",
        "Check that a handler exists for every subscription that you declare.",
        "Accept `event/NAME` for every hook that you subscribe to.",
        "On `$/cancelRequest`: stop the handler if you can, and reply when it has ended: -32800 if it"
        " was stopped, else with its result ([cancel](#cancel-and-interrupt)).",
        "Answer unknown requests with -32601, an unknown tool or command with -32602, and `ping` with"
        " anything; ignore unknown notifications and unknown fields.",
        "On `shutdown`: finish the event handlers, then reply.",
        "On `exit` or the end of input: end ([end](#end)).",
        "Take null for absent where you read, and leave out what you have no value for where you"
        " write.",
        "Run the vectors, then `sliphook check` on a plugin that uses everything.",
    ),
    "advice to authors of SDKs": (
        "Feed each stream of `host_writes` to your reader three times: whole, in pieces, and byte by"
        " byte.",
        "It gives the same messages each time.",
        "Put each valid message of `params.json` that the host sends (`hook/…`, `event/…`,"
        " `tool/call` and so on) through your decoder.",
        "Have your encoder make what `results.json` calls valid, and refuse what it calls invalid;"
        " what is `by` the host is for your decoder.",
        "A field of null is one that is left out; a whole result of null is the answer of no"
        " opinion.",
        "The host never sends the invalid messages of `params.json` that are its own.",
        "An SDK that checks params answers such a request with -32602 and leaves out such an event;"
        " one that does not check lives on.",
        "Those of a plugin are for its encoder to refuse.",
        "how a second one is answered does not matter.",
        "What it does then is up to it:",
        "It really calls the tools, so do not use it on a plugin that reaches something which must"
        " not change.",
        "A plugin that makes its own spans uses it as their parent; all others ignore it.",
    ),
    "tests/vectors and tests/docs/test_generated.py compare them with the definition": (
        "[protocol.schema.json](protocol.schema.json) has the same definitions as JSON Schema.",
        "The vectors are made from the same definition as the tables and lists here.",
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
    "tests/check and tests/cli/test_check.py try what check does": (
        "`sliphook check PATH` starts an executable in any language several times.",
        "It sends messages as a host would, and in ways that break small readers, fires every"
        " subscription, calls every tool and command, cancels, and ends the plugin in every possible"
        " way.",
        "Each finding names the section of this document that asks for it; `--json` and `--junit"
        " FILE` are for programs.",
        "Name a sample that the tool takes, and a slow one to cancel, by `examples` in its"
        " `input_schema`.",
    ),
    "tests/plugin and tests/torture try what becomes of such processes": (
        "on Linux also what has a group of its own and is in the plugin's session.",
    ),
}
"""By reason. A sentence with MUST or SHOULD needs one that begins with "cannot be tried: "."""

UNTRIED_LIMITS: Final[dict[str, str]] = {}
"""The reason by the first cell of the row."""
