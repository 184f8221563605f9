"""Pure: the tools and commands of plugins: what each one is, and which plugin owns which name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgspec

from sliphook.schemas import (
    SchemaError,
    TooManySchemas,
    check_schema,
    tool_for,
    why_tool_is_refused,
)
from sliphook_sdk.protocol import ToolSpec
from sliphook_sdk.protocol.limits import (
    MAX_SCHEMA_BYTES,
    MAX_SCHEMA_PARTS,
    MAX_TOOLS,
    TOOL_TIMEOUT_S,
)

from .checks import ManifestError, check_name, check_timeout, refuse_doubles


class PluginTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool of a plugin, with every default filled in; `timeout_s` is in seconds."""

    name: str
    description: str
    input_schema: dict[str, Any]
    timeout_s: float


class ToolOffer(PluginTool, frozen=True, kw_only=True):
    """One tool that the agent can offer the model, with the plugin that owns it."""

    plugin: str

    def openai(self) -> dict[str, Any]:
        """The tool in the shape of OpenAI's chat completions."""
        description, schema = tool_for("openai", self.description, self.input_schema)
        function = {"name": self.name, "description": description, "parameters": schema}
        return {"type": "function", "function": function}

    def anthropic(self) -> dict[str, Any]:
        """The tool in the shape of Anthropic's messages."""
        description, schema = tool_for("anthropic", self.description, self.input_schema)
        return {"name": self.name, "description": description, "input_schema": schema}

    def why_refused(self, provider: str) -> str | None:
        """Why the provider (`openai`, `anthropic`) refuses a request with this tool, or None.

        Leave such a tool out: the provider refuses the whole request for it.
        """
        return why_tool_is_refused(provider, self.name, self.input_schema)


class CommandOffer(msgspec.Struct, frozen=True, kw_only=True):
    """One slash command, with the plugin that owns it."""

    name: str
    description: str
    plugin: str


def read_tools(specs: Sequence[ToolSpec]) -> tuple[PluginTool, ...]:
    """Check a set of tools, from the manifest or `host/tools`, and fill in the defaults.

    Raises:
        ManifestError: there are too many tools; a name, a schema or a timeout is not allowed; or a
            name is declared twice.
    """
    if len(specs) > MAX_TOOLS:
        raise ManifestError(f"it offers {len(specs):,} tools; at most {MAX_TOOLS} are allowed")
    parts = 0
    for spec in specs:
        check_name("tool", spec.name)
        schema = spec.input_schema
        if schema is None:
            continue
        what = f"the input_schema of the tool {spec.name}"
        if schema.get("type", "object") != "object":
            raise ManifestError(f"{what} must describe an object")
        check_size(schema, what)
        try:
            parts += check_declared(schema, what, MAX_SCHEMA_PARTS - parts)
        except TooManySchemas:
            raise ManifestError(
                f"the schemas of its tools have more than {MAX_SCHEMA_PARTS:,} schemas in them, an"
                " expression counted as several; offer fewer tools, or simpler ones"
            ) from None
    refuse_doubles("tool", (spec.name for spec in specs))
    return tuple(
        PluginTool(
            name=spec.name,
            description=spec.description or "",
            input_schema={"type": "object", **(spec.input_schema or {})},
            timeout_s=TOOL_TIMEOUT_S
            if spec.timeout_s is None
            else check_timeout(spec.timeout_s, f"the tool {spec.name}"),
        )
        for spec in specs
    )


def check_size(schema: dict[str, Any], what: str) -> None:
    """Look at the bytes of a schema.

    Raises:
        ManifestError: there are too many.
    """
    size = len(msgspec.json.encode(schema))
    if size > MAX_SCHEMA_BYTES:
        raise ManifestError(f"{what} is {size:,} bytes, over {MAX_SCHEMA_BYTES:,}")


def check_declared(schema: dict[str, Any], what: str, at_most: int = MAX_SCHEMA_PARTS) -> int:
    """The number of schemas in a schema that can be used.

    Raises:
        TooManySchemas: there are more than `at_most`.
        ManifestError: it cannot be used.
    """
    try:
        return check_schema(schema, at_most)
    except TooManySchemas:
        raise
    except SchemaError as error:
        raise ManifestError(f"{what} cannot be used: {error}") from None


class ToolTable:
    """The tools of all plugins, by plugin and scope: a session's id, or None for every session.

    Args:
        reserved: the names of the agent's own tools.
        changed: called when a scope may have others.
    """

    def __init__(
        self, reserved: Iterable[str] = (), changed: Callable[[], None] = lambda: None
    ) -> None:
        self._reserved = frozenset(reserved)
        self._changed = changed
        # by name at last: fifty plugins may have 512 each, and every call looks for its own
        self._tools: dict[str, dict[str | None, dict[str, ToolOffer]]] = {}

    def is_reserved(self, name: str) -> bool:
        """True if the name belongs to a tool of the agent."""
        return name in self._reserved

    def replace(self, plugin: str, session_id: str | None, tools: Sequence[PluginTool]) -> None:
        """Replace the plugin's tools of one scope by `tools`."""
        self._tools.setdefault(plugin, {})[session_id] = {
            tool.name: ToolOffer(**msgspec.structs.asdict(tool), plugin=plugin) for tool in tools
        }
        self._changed()

    def remove(self, plugin: str) -> None:
        """Remove the plugin's tools of every scope."""
        if self._tools.pop(plugin, None):
            self._changed()

    def end_session(self, session_id: str) -> None:
        """Remove the tools of a session that has ended."""
        for scopes in self._tools.values():
            scopes.pop(session_id, None)

    def holders(self, names: Collection[str], *, besides: str) -> dict[str, str]:
        """Which of the names are taken: by a plugin other than `besides`, or by "the agent"."""
        found = {name: "the agent" for name in names if name in self._reserved}
        wanted = frozenset(names)
        for plugin, scopes in self._tools.items():
            if plugin != besides:
                for tools in scopes.values():
                    for name in wanted & tools.keys():
                        found.setdefault(name, plugin)
        return found

    def offers(self, session_id: str | None) -> list[ToolOffer]:
        """The tools of a session: a session's tool hides a global one of the same name."""
        found: dict[str, ToolOffer] = {}
        for scopes in self._tools.values():
            # the session last, so that its tools win; `fromkeys`, since `session_id` may be None
            for scope in dict.fromkeys((None, session_id)):
                found.update(scopes.get(scope, {}))
        return list(found.values())

    def find(self, name: str, session_id: str | None) -> ToolOffer | None:
        """The tool of that name in the session, or None."""
        for scope in dict.fromkeys((session_id, None)):
            for scopes in self._tools.values():
                if (offer := scopes.get(scope, {}).get(name)) is not None:
                    return offer
        return None
