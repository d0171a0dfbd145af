"""Writes a report as JSON for other tools, and derives its JSON Schema from the types, so that both always agree."""

import inspect
import json
import re
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from migrations_app.checks.base import KubernetesAnswer, Reason
from migrations_app.checks.changes import Change, ChangeTarget, HelmValue
from migrations_app.conversion.chart_values.side_by_side import ValueRow
from migrations_app.inventory.facts.delivery_sources import GitSource
from migrations_app.readiness.iam_sheet.values import SCHEMA, IamSheet
from migrations_app.readiness.outputs.plain import escaped_json
from migrations_app.readiness.published_fields import INTERNAL, PLAN, TYPED_PLAN, published
from migrations_app.readiness.report import Carrier, GivenChart, InstallationFacts, LegacyObject, Report, ReportHop
from migrations_app.readiness.runbook.chart_values import ChartHop
from migrations_app.readiness.runbook.rollback import IrreversibleEffect
from migrations_app.readiness.runbook.runbook import Runbook
from migrations_app.readiness.runbook.stages import RunbookStage

_LONE = re.compile("[\ud800-\udfff]")


def render(report: Report) -> str:
    """Returns indented JSON with the fields in a fixed order and a line break at the end."""
    return written(published(report))


def written(value: object) -> str:
    """Returns any value as indented JSON. Invisible characters are escaped; half surrogates become U+FFFD."""
    text = json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False)
    return escaped_json(_LONE.sub("\ufffd", text)) + "\n"


REFERENCES = "#/$defs/{name}"


def definitions(template: str = REFERENCES) -> dict[str, Any]:
    """Returns the schema of each type of a report by name; `template` is the format of references between them."""
    schemas = _of(Report, template)
    schemas["Report"]["properties"]["schema"] = {"const": "karpdash/scan/v1"}
    return schemas


def sheet_definitions(template: str = REFERENCES) -> dict[str, Any]:
    """As `definitions`, for the IAM sheet."""
    schemas = _of(IamSheet, template)
    schemas["IamSheet"]["properties"]["schema"] = {"const": SCHEMA}
    return schemas


def plan_definitions(template: str = REFERENCES) -> dict[str, Any]:
    """As `definitions`, for the runbook."""
    schemas = _of(Runbook, template)
    schemas["Runbook"]["properties"]["schema"] = {"const": PLAN}
    return schemas


ONLY_IN_VERSION_2 = ("change", "values")
"""Fields that version 2 of the plan JSON has and version 1 does not."""


def typed_plan_schema() -> dict[str, Any]:
    """Returns the published docs/schema/plan-v2.json."""
    internal_fields = {
        name: tuple(field for field in fields if field not in ONLY_IN_VERSION_2) for name, fields in INTERNAL.items()
    }
    hidden = (Reason.__name__, KubernetesAnswer.__name__, GivenChart.__name__, Carrier.__name__, GitSource.__name__)
    schemas = _of(Runbook, REFERENCES, internal=internal_fields, dropped=hidden)
    schemas["Runbook"]["properties"]["schema"] = {"const": TYPED_PLAN}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": TYPED_PLAN,
        "description": "What `karpdash plan -o json` prints: the hops, and for each fix the change that it makes.",
        "$ref": REFERENCES.format(name="Runbook"),
        "$defs": schemas,
    }


def scan_schema() -> dict[str, Any]:
    """Returns the published docs/schema/scan-v1.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "karpdash/scan/v1",
        "description": "What `karpdash scan -o json` prints and what the API serves as a snapshot.",
        "$ref": REFERENCES.format(name="Report"),
        "$defs": definitions(),
    }


PUBLISHED_NAMES: Mapping[str, str] = {
    InstallationFacts.__name__: "Installed",
    IrreversibleEffect.__name__: "Lost",
    ReportHop.__name__: "PathStep",
    RunbookStage.__name__: "Stage",
}
"""Names of types in published schemas that are not those of the classes."""
_CHANGES = tuple(change_type.__name__ for change_type in (ChangeTarget, HelmValue, *get_args(Change)))


def _of(
    kind: type,
    template: str,
    *,
    internal: Mapping[str, tuple[str, ...]] = INTERNAL,
    dropped: tuple[str, ...] = (
        Reason.__name__,
        KubernetesAnswer.__name__,
        GivenChart.__name__,
        Carrier.__name__,
        GitSource.__name__,
        ChartHop.__name__,
        ValueRow.__name__,
        LegacyObject.__name__,
        *_CHANGES,
    ),
) -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components([kind], ref_template=template)
    for inner in dropped:
        schemas.pop(inner, None)
    schemas = _under_published_names(schemas, template)
    for name, schema in schemas.items():
        if "description" in schema:  # Python 3.13 and newer remove the indentation themselves
            schema["description"] = inspect.cleandoc(schema["description"])
        for field in internal.get(name, ()):
            del schema["properties"][field]
        if name not in _CHANGES:  # a change writes only the fields that it sets
            _tighten(schema)
    if "Finding" in schemas:
        schemas["Finding"]["required"].remove("asked_at")
    if "change" not in internal.get("Remedy", ()) and "Remedy" in schemas:
        schemas["Remedy"]["required"].remove("change")
    return schemas


def _under_published_names(schemas: dict[str, Any], template: str) -> dict[str, Any]:
    references = {template.format(name=name): template.format(name=new) for name, new in PUBLISHED_NAMES.items()}
    renamed = {}
    for name, schema in schemas.items():
        new = PUBLISHED_NAMES.get(name, name)
        renamed[new] = _with_references(schema | {"title": new} if new != name else schema, references)
    return renamed


def _with_references(value: Any, references: Mapping[str, str]) -> Any:  # noqa: ANN401 - a part of a JSON Schema
    match value:
        case {"$ref": str(reference), **others}:
            return {"$ref": references.get(reference, reference), **others}
        case dict():
            return {key: _with_references(part, references) for key, part in value.items()}
        case list():
            return [_with_references(part, references) for part in value]
    return value


def _tighten(schema: dict[str, Any]) -> None:
    """Makes every field required: every field is written, also defaults, and a reader may rely on that."""
    schema["required"] = sorted(schema.get("properties", {}))
    schema.pop("default", None)
    for field in schema.get("properties", {}).values():
        field.pop("default", None)
