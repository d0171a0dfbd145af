"""The report as JSON, which is the contract with other tools; its JSON Schema is `schema.py`."""

import json
import re

import msgspec

from migrations_app.readiness.outputs.plain import escaped_json
from migrations_app.readiness.published import published
from migrations_app.readiness.report import Report

_LONE = re.compile("[\ud800-\udfff]")


def render(report: Report) -> str:
    """Indented JSON in the fixed order of the fields, ending in a line break."""
    return written(published(report))


def written(value: object) -> str:
    """Any value of ours as indented JSON whose invisible characters are escapes; half characters become U+FFFD."""
    text = json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False)
    return escaped_json(_LONE.sub("\ufffd", text)) + "\n"
