"""Whether a tool's arguments fit its JSON Schema, by the library `jsonschema`, which is only loaded when a tool is called."""

from __future__ import annotations

from typing import Any

from .quoting import quote


def why_arguments_do_not_fit(arguments: object, schema: dict[str, Any]) -> str | None:
    """One line that the model can act on, or None where the arguments fit. A schema that is itself broken is said to be so."""
    if schema == {"type": "object"} and isinstance(arguments, dict):
        return None
    import jsonschema
    from jsonschema.exceptions import SchemaError, ValidationError, best_match

    try:
        cls = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        cls.check_schema(schema)
        error = best_match(cls(schema).iter_errors(arguments))
    except SchemaError as broken:
        return f"the tool's input_schema is broken: {quote(broken.message, 200)}"
    except Exception as broken:  # references that cannot be resolved, patterns that are none: the schema is the plugin's
        return f"the tool's input_schema cannot be used: {quote(str(broken), 200)}"
    if not isinstance(error, ValidationError):
        return None
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    return quote(f"{where}: {error.message}" if where else error.message, 400)
