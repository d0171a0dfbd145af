"""The data of this folder: whole for every release we know, without contradictions, and missed when it is gone."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.versions import minor_order, release
from tests import upstream
from tests.acceptance import cluster_crds
from tests.house import measures
from tests.upstream import rows
from tests.upstream.take import without_prose

MINORS = [row.minor for row in RELEASES]
MAX_BYTES = 2_000_000
DRAFTS = {
    "v0.30.0": {"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "nodeclasses.compute.k8s.aws"},
    "v0.31.4": {"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"},
}
"""In the source of these tags, and in none of their charts."""
SAME_IN_THE_TEMPLATE = {
    "${AWS::": "${",
    "${KarpenterInterruptionQueue.Arn}": "arn:${Partition}:sqs:${Region}:${AccountId}:${Queue}",
    "${KarpenterNodeRole.Arn}": "arn:${Partition}:iam::${AccountId}:role/${NodeRole}",
    "role/KarpenterNodeRole-${ClusterName}": "role/${NodeRole}",
}


def row_of(minor: str) -> rows.Release:
    (found,) = (row for row in upstream.releases().releases if row.minor == minor)
    return found


def set_of(version: str) -> dict[str, rows.Crd]:
    """The CRDs by name that the charts of that patch ship."""
    shipped = row_of(release(version).minor).crd_sets
    (name,) = (one.set for one in shipped if release(one.first) <= release(version) <= release(one.last))
    return {crd.name: crd for crd in upstream.crd_sets().sets[name].crds}


def as_row(crd: upstream.Document) -> rows.Crd:
    spec = crd["spec"]
    versions = [rows.CrdVersion(one["name"], one["served"], one["storage"]) for one in spec["versions"]]
    return rows.Crd(
        name=crd["metadata"]["name"],
        group=spec["group"],
        kind=spec["names"]["kind"],
        plural=spec["names"]["plural"],
        scope=spec["scope"],
        short_names=tuple(spec["names"].get("shortNames", ())),
        versions=tuple(versions),
    )


def by_name(crds: list[upstream.Document]) -> dict[str, rows.Crd]:
    return {row.name: row for row in map(as_row, crds)}


@pytest.mark.parametrize("minor", MINORS)
def test_every_patch_has_one_set_of_crds(minor: str) -> None:
    patches = [patch.version for patch in row_of(minor).patches]
    assert patches == [str(patch) for row in RELEASES if row.minor == minor for patch in row.releases]
    assert all(set_of(patch) for patch in patches)


@pytest.mark.parametrize("minor", MINORS)
def test_every_release_has_crds_to_install(minor: str) -> None:
    version = row_of(minor).patches[-1].version
    installed = by_name(cluster_crds.crds(version, namespace="kube-system"))
    assert installed == set_of(version)


@pytest.mark.parametrize("tag", upstream.crd_tags())
def test_the_crds_of_a_tag_are_those_of_its_set(tag: str) -> None:
    found = by_name(upstream.crds(tag))
    drafts = DRAFTS.get(tag, set())
    assert drafts <= found.keys()
    assert {name: row for name, row in found.items() if name not in drafts} == set_of(tag.removeprefix("v"))


@pytest.mark.parametrize("tag", upstream.crd_tags())
def test_the_crds_hold_structure_and_no_prose(tag: str) -> None:
    for crd in upstream.crds(tag):
        assert crd == without_prose(crd)
        for version in crd["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            assert schema["properties"]["spec"]["properties"]


def test_descriptions_go_and_fields_of_that_name_stay() -> None:
    schema = {
        "description": "a pool",
        "properties": {"description": {"type": "string", "description": "words"}},
        "items": {"title": "one"},
        "x-kubernetes-validations": [{"rule": "self > 0", "message": "must be more"}],
    }
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    crd = {"spec": {"versions": [version | {"additionalPrinterColumns": [{"name": "A", "description": "b"}]}]}}
    (found,) = without_prose(crd)["spec"]["versions"]
    assert found["schema"]["openAPIV3Schema"] == {
        "properties": {"description": {"type": "string"}},
        "items": {},
        "x-kubernetes-validations": [{"rule": "self > 0"}],
    }
    assert found["additionalPrinterColumns"] == [{"name": "A"}]


Said = tuple[str, str, frozenset[str], frozenset[str], str]


def said(sid: str, effect: str, *, actions: Any, resources: Any, conditions: dict[str, Any]) -> Said:
    """A statement in the one spelling in which two can be compared."""
    tests = {test: {key: sorted(as_list(one)) for key, one in keys.items()} for test, keys in conditions.items()}
    whole = [spelled(one) for one in as_list(resources)]
    return (sid, effect, frozenset(as_list(actions)), frozenset(whole), spelled(json.dumps(tests, sort_keys=True)))


def as_list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def spelled(text: str) -> str:
    for template, ours in SAME_IN_THE_TEMPLATE.items():
        text = text.replace(template, ours)
    return text


def of_document(tag: str, name: str = "controller-policy.json") -> set[Said]:
    return {
        said(one.get("Sid", ""), one["Effect"], actions=one["Action"], resources=one["Resource"],
             conditions=one.get("Condition", {}))
        for one in json.loads(upstream.policy(tag, name))["Statement"]
    }  # fmt: skip


def of_rows(minor: str, policy: str = "") -> set[Said]:
    """The statements of that minor; with `policy` those of one of the several policies."""
    order = minor_order(minor)
    return {
        said(one.sid, one.effect, actions=one.actions, resources=one.resources, conditions=one.conditions)
        for one in upstream.permissions().statements
        if minor_order(one.since) <= order and (one.until is None or order <= minor_order(one.until))
        if policy in ("", one.policy)
    }


@pytest.mark.parametrize("tag", upstream.policy_tags())
def test_the_statements_are_those_of_the_policies(tag: str) -> None:
    assert of_document(tag) == of_rows(release(tag.removeprefix("v")).minor)


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        ("NodeLifecycle", "node-lifecycle"),
        ("IAMIntegration", "iam-integration"),
        ("EKSIntegration", "eks-integration"),
        ("Interruption", "interruption"),
        ("ResourceDiscovery", "resource-discovery"),
        ("ZonalShift", "zonal-shift"),
    ],
)
def test_the_statements_are_in_the_policies_that_they_name(policy: str, name: str) -> None:
    assert of_document("v1.14.1", f"{name}-policy.json") == of_rows("1.14", policy) != set()


def test_every_release_has_statements_and_requests() -> None:
    assert list(upstream.permissions().releases) == MINORS
    assert [minor for minor in MINORS if not of_rows(minor)] == []
    named = {(one.since, one.until) for one in upstream.permissions().requests}
    named |= {(one.since, one.until) for one in upstream.permissions().statements}
    assert {minor for span in named for minor in span if minor} <= set(MINORS)


@pytest.mark.parametrize("tag", [*upstream.crd_tags(), *upstream.policy_tags()])
def test_every_tag_is_a_release_that_we_know(tag: str) -> None:
    assert release(tag.removeprefix("v")) in [patch for row in RELEASES for patch in row.releases]


def test_what_is_missing_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for read in (
        lambda: upstream.crds("v9.9.9"),
        lambda: upstream.policy("v9.9.9"),
        lambda: upstream.crd("v1.1.9", "x"),
    ):
        with pytest.raises(FileNotFoundError):
            read()
    monkeypatch.setattr(upstream, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError):
        upstream.conversion_cases()


def test_a_row_with_a_field_of_its_own_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(upstream, "FOLDER", tmp_path)
    (tmp_path / "pains.yaml").write_text("pains: [{id: CRD-01, severity: high, colour: red}]")
    with pytest.raises(msgspec.ValidationError, match="colour"):
        upstream.pains.__wrapped__()


def test_the_folder_stays_small() -> None:
    ours = [path for path in measures.files() if path.startswith("tests/upstream/")]
    assert sum((measures.ROOT / path).stat().st_size for path in ours) < MAX_BYTES
