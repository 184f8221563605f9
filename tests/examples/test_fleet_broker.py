"""examples/fleet: how agents log in at the broker, what they may there, and what is wrong with settings."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import trio

from sliphook import PluginHost, PluginSpec
from tests.examples.fleet_agents import (
    PLUGIN,
    agent,
    denied,
    fleet,
    gaps,
    told,
)
from tests.examples.redis_server import broker_in, needs_redis
from tests.free_ports import free_port
from tests.programs import WAIT_S

ACL = """\
user default off
user agent on >{password} resetchannels -@all +hello +auth +ping +time +multi +exec \
+xadd +xread +getrange +set +expire ~fleet:events %R~fleet:control* %R~fleet:policy \
~fleet:agent:* ~fleet:replies:*
user operator on >{password} allkeys allchannels +@all
"""


@needs_redis
async def test_an_agent_may_no_more_than_it_needs_and_no_log_has_the_password(
    tmp_path: Path,
) -> None:
    password = "correct-horse-7"
    readme = (PLUGIN.parent / "README.md").read_text(encoding="utf-8")
    assert ACL.format(password="PASSWORD").splitlines()[1] in readme
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "acl").write_text(ACL.format(password=password))
    with (
        trio.fail_after(WAIT_S),
        broker_in(tmp_path / "b", "--aclfile", str(tmp_path / "b/acl")) as broker,
    ):
        await broker.start()
        good, bad = {"FLEET_PASSWORD": password}, {"FLEET_PASSWORD": "wrong-battery-8"}
        async with agent(broker.url, tmp_path / "a", user="agent", env=good) as one:
            assert (await denied(one), one.logs[1:]) == (None, ["the broker is there"])
            status, said = await fleet(broker, "top", env={**good, "FLEET_USER": "operator"})
            assert (status, said.splitlines()[-1]) == (0, "1 agents")
            status, said = await fleet(broker, "stop", "--all", env={**good, "FLEET_USER": "agent"})
            assert status == 1
            assert "scan" in said
        async with agent(broker.url, tmp_path / "c", user="agent", env=bad) as one:
            assert "never reached" in (await denied(one) or "")
            assert any("invalid username-password pair" in line for line in one.logs)
        broker.log_in("operator", password)
        assert gaps(told(broker.client)) == {}
    texts = [(tmp_path / one / "logs" / "fleet.log").read_text() for one in ("a", "c")]
    assert [text for text in texts if password in text or "battery" in text] == []


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (
            {"url": "redis://agent:hunter2@box"},
            "url is an address alone: the name is `user`, the password FLEET_PASSWORD",
        ),
        ({"url": "http://box"}, "url begins with redis://, rediss:// (TLS) or unix://"),
        (
            {"url": "redis://box", "ca_file": "/ca.pem"},
            "ca_file, cert_file and key_file are for rediss://",
        ),
    ],
)
async def test_settings_that_cannot_be_used_are_said(
    tmp_path: Path, config: dict[str, object], why: str
) -> None:
    with trio.fail_after(WAIT_S):
        async with PluginHost([PluginSpec(PLUGIN, config=config)], data_home=tmp_path) as host:
            (plugin,) = host.plugins
            assert plugin.state == "self_disabled"
            assert plugin.why is not None
            assert plugin.why.endswith(f"the broker's settings cannot be used: {why}")
            assert "hunter2" not in plugin.why


def certificate(folder: Path) -> tuple[Path, Path]:
    """Of 127.0.0.1, signed by itself: the certificate and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=broker", "-addext"),
            *("subjectAltName=IP:127.0.0.1", "-out", str(cert), "-keyout", str(key)),
        ],
        check=True,
        capture_output=True,
    )
    return cert, key


@needs_redis
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
async def test_tls(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    stranger, _ = certificate(other)
    port = free_port()
    tls = (
        *("--tls-port", str(port), "--bind", "127.0.0.1", "--tls-auth-clients", "no"),
        *(
            "--tls-cert-file",
            str(cert),
            "--tls-key-file",
            str(key),
            "--tls-ca-cert-file",
            str(cert),
        ),
    )
    with trio.fail_after(WAIT_S), broker_in(tmp_path / "b", *tls) as broker:
        await broker.start()
        url = f"rediss://127.0.0.1:{port}"
        async with agent(url, tmp_path / "a", ca_file=str(cert)) as one:
            assert await denied(one) is None
        async with agent(url, tmp_path / "c", ca_file=str(stranger)) as one:
            assert "never reached" in (await denied(one) or "")
            assert any("certificate verify failed" in line for line in one.logs)
        assert gaps(told(broker.client)) == {}
