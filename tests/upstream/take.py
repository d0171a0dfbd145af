"""Takes the CRDs of a release over from a checkout of aws/karpenter-provider-aws: their structure, without their prose.

python -m tests.upstream.take v1.15.0 CHECKOUT/pkg/apis/crds
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from tests.upstream import CRDS, Document

PROSE = frozenset({"description", "title", "example", "externalDocs"})
RULE_PROSE = frozenset({"message", "messageExpression"})
HEAD = "# {name} of aws/karpenter-provider-aws@{tag}, changed: descriptions and messages are left out (README.md).\n"


def without_prose(crd: Document) -> Document:
    """The CRD as it is, but for descriptions of fields and columns and for messages of validation rules."""
    versions = [_version(version) for version in crd["spec"]["versions"]]
    return crd | {"spec": crd["spec"] | {"versions": versions}}


def _version(version: Document) -> Document:
    found = version | {"schema": {"openAPIV3Schema": _schema(version["schema"]["openAPIV3Schema"])}}
    if "additionalPrinterColumns" in version:
        columns = version["additionalPrinterColumns"]
        found["additionalPrinterColumns"] = [_without(column, PROSE) for column in columns]
    return found


def _schema(schema: Document) -> Document:
    """A property may be called `description` as well, so names are told from keywords."""
    found = {key: _keyword(key, value) for key, value in schema.items() if key not in PROSE}
    if "properties" in schema:
        found["properties"] = {name: _schema(value) for name, value in schema["properties"].items()}
    return found


def _keyword(key: str, value: Any) -> Any:
    if key == "x-kubernetes-validations":
        return [_without(rule, RULE_PROSE) for rule in value]
    if key in ("allOf", "anyOf", "oneOf"):
        return [_schema(one) for one in value]
    if key in ("items", "additionalProperties", "not") and isinstance(value, dict):
        return _schema(value)
    return value


def _without(part: Document, names: frozenset[str]) -> Document:
    return {key: value for key, value in part.items() if key not in names}


def take(tag: str, folder: Path) -> list[Path]:
    """Writes each CRD of the folder, and returns the files. Raises OSError where the folder cannot be read."""
    (CRDS / tag).mkdir(parents=True, exist_ok=True)
    return [_take(tag, path) for path in sorted(folder.glob("*.yaml"))]


def _take(tag: str, path: Path) -> Path:
    crd = without_prose(yaml.safe_load(path.read_text(encoding="utf-8")))
    text = yaml.safe_dump(crd, sort_keys=False, width=118, default_flow_style=None)
    target = CRDS / tag / path.name
    target.write_text(HEAD.format(name=crd["metadata"]["name"], tag=tag) + text, encoding="utf-8")
    return target


if __name__ == "__main__":
    for written in take(sys.argv[1], Path(sys.argv[2])):
        sys.stdout.write(f"{written}\n")
