"""Fields and values that a release does not know; the table of fields is compared with the CRDs of upstream."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from migrations_app.conversion.refusals import CrdRefusal
from migrations_app.conversion.source_lint import lint_texts
from migrations_app.conversion.sources.fields import UNKNOWN, unknown_fields
from migrations_app.karpenter import kinds
from migrations_app.karpenter.tables.field_rows import FIELD_ROWS
from migrations_app.karpenter.versions import release, within
from migrations_app.manifests.writer import text_of
from tests import upstream

FILES = {"NodePool": "karpenter.sh_nodepools", "EC2NodeClass": "karpenter.k8s.aws_ec2nodeclasses"}
SERVED = [
    (tag, api)
    for tag, versions in {
        "v0.32.10": ("v1beta1",),
        "v0.37.8": ("v1beta1",),
        "v1.0.14": ("v1beta1", "v1"),
        "v1.1.9": ("v1",),
        "v1.14.1": ("v1",),
    }.items()
    for api in FIELD_ROWS
    if api.partition("/")[2].partition(" ")[0] in versions
]


def crd_fields(schema: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, frozenset[str]]]:
    """Each field without fields of its own, and the values of its enumeration."""
    inner = schema.get("properties") or schema.get("items", {}).get("properties")
    if not inner:
        yield above, frozenset(schema.get("enum", ()))
        return
    dot = "." if above else ""
    for name, field in inner.items():
        is_list = "properties" in field.get("items", {})
        yield from crd_fields(field, f"{above}{dot}{name}{'[]' if is_list else ''}")


@pytest.mark.parametrize(("tag", "api"), SERVED)
def test_the_table_is_that_of_the_crds(tag: str, api: str) -> None:
    version, kind = api.partition("/")[2].split(" ")
    versions = upstream.crd(tag, FILES[kind])["spec"]["versions"]
    schema = next(row["schema"]["openAPIV3Schema"] for row in versions if row["name"] == version)
    fields = {path.removesuffix(".requests"): values for path, values in crd_fields(schema["properties"]["spec"])}
    of_release = release(tag.removeprefix("v"))
    rows = [row for row in FIELD_ROWS[api] if within(of_release, first=row.first, last="")]
    assert {row.path for row in rows} == fields.keys()
    for row in rows:
        for value, first in row.later.items() if fields[row.path] else ():
            assert (row.path, value, value in fields[row.path]) == (
                row.path,
                value,
                within(of_release, first=first, last=""),
            )


def pool(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": spec}


def node_class(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "c"}, "spec": spec}


def gte(operator: str) -> dict[str, Any]:
    return pool(template={"spec": {"requirements": [{"key": "a", "operator": operator, "values": ["1"]}]}})


OPERATOR = ("spec", "template", "spec", "requirements", 0, "operator")


@pytest.mark.parametrize(
    ("body", "to", "path", "what"),
    [
        (
            pool(template={"spec": {"terminationGracePeirod": "1h"}}),
            "1.14.1",
            ("spec", "template", "spec", "terminationGracePeirod"),
            "spec.template.spec.terminationGracePeirod is in no known release",
        ),
        (pool(replicas=2), "1.7.6", ("spec", "replicas"), "spec.replicas is not in Karpenter 1.7.6, but from 1.8 on"),
        (
            node_class(cpuOptions={"nestedVirtualization": "enabled"}),
            "1.12.2",
            ("spec", "cpuOptions"),
            "spec.cpuOptions is not in Karpenter 1.12.2, but from 1.13 on",
        ),
        (
            node_class(amiSelectorTerms=[{"ssmParameter": "/a"}]),
            "1.3.3",
            ("spec", "amiSelectorTerms", 0, "ssmParameter"),
            "spec.amiSelectorTerms.0.ssmParameter is not in Karpenter 1.3.3, but from 1.4 on",
        ),
        (
            gte("Gte"),
            "1.8.8",
            OPERATOR,
            f"{'.'.join(map(str, OPERATOR))} Gte is not in Karpenter 1.8.8, but from 1.9 on",
        ),
        (
            {**pool(disruption={"budgets": []}), "apiVersion": "karpenter.sh/v1beta1"},
            "0.33.5",
            ("spec", "disruption", "budgets"),
            "spec.disruption.budgets is not in Karpenter 0.33.5, but from 0.34 on",
        ),
    ],
)
def test_what_the_release_does_not_know(body: dict[str, Any], to: str, path: tuple[str | int, ...], what: str) -> None:
    assert list(unknown_fields(body, release(to))) == [CrdRefusal(UNKNOWN, path, what)]


@pytest.mark.parametrize(
    ("body", "to"),
    [
        (pool(replicas=2, limits={"cpu": 1, "own.example/thing": 2}), "1.8.0"),
        (gte("Gte"), "1.9.0"),
        (pool(disruption={"expireAfter": "1h"}), "1.4.0"),  # the finding for older fields says more
        (pool(template={"metadata": {"labels": {"a": "b"}}}, **{"$patch": "replace"}), "1.4.0"),
        (pool(**{"+(weight)": 1, "{{ .Values.key }}": 2}), "1.4.0"),
        (node_class(tags={"a": "b"}, kubelet={"kubeReserved": {"cpu": 1}}), "1.0.0"),
        ({**pool(), "spec": "odd"}, "1.4.0"),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {"a": 1}}, "1.4.0"),
    ],
)
def test_what_the_release_knows(body: dict[str, Any], to: str) -> None:
    assert list(unknown_fields(body, release(to))) == []


def test_a_misspelled_field_is_a_finding_at_its_line() -> None:
    body = pool(template={"spec": {"requirements": [], "startupTaint": []}})
    findings = lint_texts([("pools.yaml", text_of(body))], release("1.4.0"), patches=["pools.yaml"])
    assert [(finding.line, finding.code) for finding in findings] == [(9, UNKNOWN)]


def test_kinds_of_the_table() -> None:
    groups = {api.partition("/")[0] for api in FIELD_ROWS}
    assert groups == {kinds.CORE_GROUP, kinds.AWS_GROUP}
