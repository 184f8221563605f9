"""Each model API that Hermes speaks, against the scripted server."""

# pyright: basic, reportMissingImports=false
# mypy: ignore-errors

from __future__ import annotations

import json
import time

import pytest

from tests.bridges.hermes.real.test_one_process import BEGIN, CALL, WHOLE, go, told
from tests.bridges.hermes.real.world import Ran

APIS = {
    "chat_completions": {},
    "anthropic_messages": {},
    "codex_responses": {},
    "bedrock_converse": {"provider": "bedrock", "model": "fake.model-v1:0"},
}


@pytest.fixture(params=APIS)
def api(request, world, monkeypatch):
    if request.param == "anthropic_messages":
        pytest.importorskip("anthropic")
    if request.param == "bedrock_converse":
        pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", world.server.address)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "fake")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return {"api_mode": request.param, **APIS[request.param]}


def test_a_run(world, new_agent, api):
    text = 'TOOL terminal {"command":"echo there"} TOOL probe_echo {"text":"hi"}'
    result, before = go(world, new_agent(**api), text)
    assert result["final_response"] == "ok: 2"
    assert "there" in told(result)[0]
    assert told(result)[1] == "probe says hi"
    story = [*BEGIN, *WHOLE, *CALL, *WHOLE, *CALL, *WHOLE, "stop", "turn_end"]
    assert world.story(before) == story
    ends = [one for one in world.lines(before) if one["name"] == "post_llm_call"]
    assert [one["input_tokens"] for one in ends] == [10, 10, 10]
    sent = json.dumps(world.server.requests[-1])
    for one in ("[probe] SYSTEM-TEXT", "[probe] USER-TEXT", "[probe] CALL-TEXT"):
        assert sent.count(one) == 1
    heard = [one for one in world.lines(before) if one["name"] == "pre_llm_call"][-1]
    assert [role for role in heard["roles"] if role != "system"] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]


@pytest.mark.parametrize(
    ("word", "final", "outcome"),
    [
        ("DENYLLM", "The model call was denied: probe: no model today", "denied"),
        ("SUBSTLLM", "SUBSTITUTED", "completed"),
        ("SUBSTCALL", "ok: 1", "completed"),
        ("REPLACEMESSAGES", "ok: 0", "completed"),
        ("OTHERMODEL", "ok: 0", "completed"),
    ],
)
def test_answers_about_model_calls(world, new_agent, api, word, final, outcome):
    before = len(world.server.requests)
    result, since = go(world, new_agent(**api), word + ' TOOL terminal {"command":"echo a"}')
    if word in ("DENYLLM", "SUBSTLLM"):
        assert len(world.server.requests) == before
    else:
        sent = world.server.requests[before]
        if word == "REPLACEMESSAGES":
            assert "EXCHANGED" in json.dumps(sent)
        if word == "OTHERMODEL" and "model" in sent:
            assert sent["model"] == "another-model"
    if word != "OTHERMODEL":
        assert result["final_response"] == final
    assert world.wait("turn_end", since)["outcome"] == outcome


def test_a_bad_request_is_told(world, new_agent, api):
    result, before = go(world, new_agent(**api), "HTTP 400")
    assert result["failed"]
    failed = ["pre_llm_call", "llm_call_failed"]
    # of Bedrock's errors Hermes knows too little to give up at the first
    times = 3 if api["api_mode"] == "bedrock_converse" else 1
    assert world.story(before) == [*BEGIN, *failed * times, "turn_end"]
    again = [one["will_retry"] for one in world.lines(before) if one["name"] == "llm_call_failed"]
    assert again == [True, True, False][-times:]
    assert world.wait("turn_end", before)["outcome"] == "failed"


@pytest.mark.parametrize("text", ["THINK 5", "DRIP 5"])
def test_an_interrupt(world, new_agent, api, text):
    agent, before = new_agent(**api), len(world.lines())
    run = Ran(lambda: agent.run_conversation(text))
    world.wait("pre_llm_call", before)
    time.sleep(1)
    agent.interrupt("Stop requested")
    run.end()
    assert world.wait("turn_end", before)["outcome"] == "interrupted"
    assert world.story(before)[-2:] == ["agent_loop_stopped", "turn_end"]
