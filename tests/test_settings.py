"""The user's config.toml: what may stand in it, and what it does to a plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from sliphook.files.toml import TomlError
from sliphook.plugin.spec import Override, PluginSpec
from sliphook.process.limits import Limits
from sliphook.settings import Provider, Settings, read_settings, settings_file, with_settings


def read(folder: Path, text: str) -> Settings:
    file = folder / "config.toml"
    file.write_text(text)
    return read_settings(file)


def test_without_a_file_everything_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert settings_file() == tmp_path / "sliphook" / "config.toml"
    assert read_settings() == Settings()
    assert read_settings().new_message == "queue"


def test_every_key(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
        model = "gpt-5-mini"
        base_url = "http://127.0.0.1:8080/v1"
        max_model_calls = 20
        new_message = "interrupt"
        plugin_messages = "refuse"
        timeout_cap_s = 10
        [providers.local]
        base_url = "http://127.0.0.1:8080/v1"
        [providers.router-2]
        base_url = "https://openrouter.ai/api"
        api = "anthropic"
        key_env = "ROUTER_KEY"
        model = "qwen/qwen3"
        parameters = {temperature = 0.2, provider.order = ["groq"]}
        [plugins.guard]
        timeout_cap_s = 1.5
        [plugins.guard.hooks.pre_tool_call]
        priority = 100
        on_failure = "open"
        [plugins.guard.hooks.stop]
        off = true
        """,
    )
    assert settings.model == "gpt-5-mini"
    assert settings.base_url == "http://127.0.0.1:8080/v1"
    assert settings.max_model_calls == 20
    assert (settings.new_message, settings.timeout_cap_s) == ("interrupt", 10.0)
    local, router = settings.providers["local"], settings.providers["router-2"]
    assert local == Provider(base_url="http://127.0.0.1:8080/v1")
    assert (router.api, router.key_env, router.model) == ("anthropic", "ROUTER_KEY", "qwen/qwen3")
    assert router.parameters == {"temperature": 0.2, "provider": {"order": ["groq"]}}
    assert settings.plugin_messages == "refuse"
    guard = settings.plugins["guard"]
    assert guard.timeout_cap_s == 1.5
    assert guard.hooks["pre_tool_call"].priority == 100
    assert guard.hooks["pre_tool_call"].on_failure == "open"
    assert guard.hooks["pre_tool_call"].off is False
    assert guard.hooks["stop"].off


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('modle = "x"', ", line 1: modle: there is no such key; did you mean model?"),
        ("\n# mine\nmodel = 3", ", line 3: model: it must be text in quotes, and is 3"),
        ('model = " "', ", line 1: model: it is empty; leave the key out, or name a model"),
        ('base_url = "localhost"', ", line 1: base_url: it must begin with http:// or https://"),
        ("timeout_cap_s = 0", ", line 1: timeout_cap_s: 0 is no timeout: give 0.05 to 600 seconds"),
        (
            "timeout_cap_s = nan",
            ", line 1: timeout_cap_s: nan is no timeout: give 0.05 to 600 seconds",
        ),
        (
            'timeout_cap_s = "1"',
            ", line 1: timeout_cap_s: it must be a number, and is the text '1'",
        ),
        (
            "[limits]\nmemory_mib = 5",
            ", line 2: limits.memory_mib: 5 is out of range: give 16 to 1,073,741,824",
        ),
        (
            "[plugins.guard.limits]\ncpu = 5",
            ", line 2: plugins.guard.limits.cpu: there is no such key; did you mean cpu_s?",
        ),
        ("max_model_calls = 0", ", line 1: max_model_calls: 0 is out of range: give 1 to 10,000"),
        (
            "max_model_calls = true",
            ", line 1: max_model_calls: it must be a whole number, and is true",
        ),
        (
            'new_message = "interupt"',
            ", line 1: new_message: the text 'interupt' does not go there; did you mean interrupt?",
        ),
        ("[providers.a]", ", line 1: providers.a: the key base_url is missing"),
        (
            "[providers.a]\nbase_url = 'localhost'",
            ", line 2: providers.a.base_url: it must begin with http:// or https://",
        ),
        (
            "[providers.a]\nbase_url = 'https://me:secret@a.example/v1'",
            ", line 2: providers.a.base_url: it holds a login; put the key into a variable, and "
            "name that in key_env",
        ),
        (
            "[providers.'a/b']\nbase_url = 'http://a.example'",
            ", line 1: providers.a/b: a provider's name has letters, digits, '.', '_' and '-', at "
            "most 64, and is not scripted",
        ),
        (
            "[providers.scripted]\nbase_url = 'http://a.example'",
            ", line 1: providers.scripted: a provider's name has letters, digits, '.', '_' and "
            "'-', at most 64, and is not scripted",
        ),
        (
            "[providers.a]\nbase_url = 'http://a.example'\nkey_env = 'sk-123'",
            ", line 3: providers.a.key_env: it must be the name of an environment variable, not "
            "the key itself",
        ),
        (
            "[providers.a]\nbase_url = 'http://a.example'\nmodel = ''",
            ", line 3: providers.a.model: it is empty; leave the key out, or name a model",
        ),
        (
            "[providers.a]\nbase_url = 'http://a.example'\napi = 'openia'",
            ", line 3: providers.a.api: the text 'openia' does not go there; did you mean openai?",
        ),
        (
            "[providers.a]\nbase_url = 'http://a.example'\nparameters.stream = false",
            ", line 3: providers.a.parameters: it may not have 'stream': the agent writes that",
        ),
        (
            "[providers.a]\nbase_url = 'http://a.example'\nparameters.n = nan",
            ", line 3: providers.a.parameters.n: nan is no number that JSON has",
        ),
        ("plugins = 3", ", line 1: plugins: it must be a table, and is 3"),
        ("[plugins]\nguard = 1", ", line 2: plugins.guard: it must be a table, and is 1"),
        (
            "[plugins.guard]\ntimeout_cap_s = 601",
            ", line 2: plugins.guard.timeout_cap_s: 601 is no timeout: give 0.05 to 600 seconds",
        ),
        (
            "[plugins.guard]\ntimeout = 1",
            ", line 2: plugins.guard.timeout: there is no such key; did you mean timeout_cap_s?",
        ),
        (
            "[plugins.guard.hooks.stop]\npriorty = 1",
            ", line 2: plugins.guard.hooks.stop.priorty: there is no such key; did you mean "
            "priority?",
        ),
        (
            "[plugins.guard.hooks.pre_tool]\noff = true",
            ", line 1: plugins.guard.hooks.pre_tool: there is no such hook or event; did you "
            "mean pre_tool_call?",
        ),
        (
            '[plugins.guard.hooks.stop]\non_failure = "closed"',
            ", line 2: plugins.guard.hooks.stop.on_failure: closed needs a hook that can "
            "deny, and stop cannot",
        ),
        ("model", ", at its end: it is no TOML: expected '=' after a key in a key/value pair"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(TomlError) as told:
        read(tmp_path, text)
    assert str(told.value) == f"{tmp_path / 'config.toml'}{says}"
    assert (tmp_path / "config.toml").read_text() == text


def test_a_file_that_others_can_change_is_not_believed(tmp_path: Path) -> None:
    read(tmp_path, "")
    (tmp_path / "config.toml").chmod(0o646)
    with pytest.raises(TomlError) as told:
        read_settings(tmp_path / "config.toml")
    file = tmp_path / "config.toml"
    assert str(told.value) == (
        f"{file} is not believed, as it can take guards away: everybody may change {file} "
        f"(-rw-r--rw-); run: chmod o-w {file}"
    )


def test_what_the_user_has_decided_goes_over_the_plugins_own_file(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        "timeout_cap_s = 0.1\n"
        "[plugins.guard]\ntimeout_cap_s = 2\n"
        "[plugins.guard.hooks.pre_tool_call]\npriority = 5\n"
        "[plugins.guard.hooks.stop]\non_failure = 'open'\n"
        "[plugins.guard.hooks.turn_start]\noff = true\n",
    )
    own = {"pre_tool_call": Override(priority=1, on_failure="open"), "turn_end": Override(off=True)}
    spec = with_settings(
        PluginSpec(Path("/guard"), name="guard", timeout_cap_s=3.0, overrides=own), settings
    )
    assert spec.timeout_cap_s == 2.0
    assert spec.overrides == {
        "pre_tool_call": Override(priority=5, on_failure="open"),
        "turn_end": Override(off=True),
        "stop": Override(on_failure="open"),
        "turn_start": Override(off=True),
    }
    off = {"stop": Override(off=True)}
    assert with_settings(
        PluginSpec(Path("/guard"), name="guard", overrides=off), settings
    ).overrides["stop"] == Override(on_failure="open", off=True), "off in either place is off"
    for other in (PluginSpec(Path("/guard")), PluginSpec(Path("/guard"), name="other")):
        assert with_settings(other, settings) == other


def test_limits_of_one_plugin_beat_those_for_all(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
        [limits]
        memory_mib = 256
        cpu_s = 600
        [plugins.guard.limits]
        memory_mib = 1024
        """,
    )
    guard = with_settings(PluginSpec(Path("/guard"), name="guard"), settings)
    assert guard.limits == Limits(memory_mib=1024, cpu_s=600)
    for other in (None, "other"):
        spec = with_settings(PluginSpec(Path("/other"), name=other), settings)
        assert spec.limits == Limits(memory_mib=256, cpu_s=600)
