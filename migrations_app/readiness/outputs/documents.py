"""The report as JSON, which is the contract with other tools; its JSON Schema is `schema.py`."""

import msgspec

from migrations_app.readiness.outputs.plain import escaped_json
from migrations_app.readiness.report import Report


def render(report: Report) -> str:
    """Indented JSON in the fixed order of the fields, ending in a line break."""
    return written(report)


def written(value: object) -> str:
    """Any value of ours as indented JSON whose invisible characters are escapes."""
    return escaped_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n"
