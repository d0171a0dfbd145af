import pytest

from migrations_app.checks.base import Evidence
from migrations_app.karpenter.crds import FIELD_MARKS, has, pruned, sketched
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    finding_of,
    helm_crds,
    reads,
    remedies,
    result_of,
    result_without,
)
from tests.builders.newest import NEWEST_MINOR

CHECK = "crd_fields_current"
GOOD = ("pass", "Every CRD has the fields of the running version", ())


def a_row(crd: str, version: str, field: str, *, loss: str, first: str) -> Evidence:
    return Evidence(
        kind="CustomResourceDefinition",
        name=crd,
        path=f"spec.versions[{version}].schema {field}",
        seen=f"absent: {loss}",
        wanted=f"as {first} and later have it",
    )


def skewed(running: str, crds: str, *, kubernetes: str = "1.29"):
    return a_cluster(running, kubernetes=kubernetes).without("crds").with_docs(*helm_crds(crds))


def test_crds_of_the_running_release():
    assert result_of(CHECK, "1.0", a_cluster()) == GOOD


def test_crds_of_a_later_release():
    assert result_of(CHECK, NEWEST_MINOR, skewed("1.9.0", "1.13.1", kubernetes="1.33")) == GOOD


def test_node_classes_that_cannot_become_ready():
    row = a_row(
        "ec2nodeclasses.karpenter.k8s.aws",
        "v1beta1",
        "status.conditions",
        loss="no node class becomes ready, nothing is launched",
        first="0.37",
    )
    found = result_of(CHECK, "1.0", skewed("0.37.8", "0.36.9"))
    assert found == ("fail", "1 field is missing from a CRD", (row,))


def test_claims_that_are_refused():
    rows = (
        a_row(
            "nodepools.karpenter.sh",
            "v1",
            "spec.template.spec.requirements[].operator=Gte",
            loss="pools cannot use the operators Gte and Lte",
            first="1.9",
        ),
        a_row(
            "nodeclaims.karpenter.sh",
            "v1",
            "spec.requirements[].operator=Gte",
            loss="claims with Gte are refused, nothing is launched",
            first="1.9",
        ),
    )
    found = result_of(CHECK, NEWEST_MINOR, skewed("1.9.0", "1.8.2", kubernetes="1.33"))
    assert found == ("fail", "2 fields are missing from CRDs", rows)


def test_a_later_hop_whose_first_step_brings_the_crds_is_not_held_up():
    found = finding_of(CHECK, NEWEST_MINOR, skewed("1.9.0", "1.8.2", kubernetes="1.33"))
    assert (found.status, found.severity) == ("fail", "warning")
    assert finding_of(CHECK, "1.0", skewed("0.37.8", "0.36.9")).severity == "blocker"


def test_a_schema_that_was_not_seen_leaves_it_open():
    docs = helm_crds("0.37.8")
    for doc in docs:
        for version in doc["spec"]["versions"]:
            version.pop("schema")
    status, summary, rows = result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(*docs))
    assert (status, summary, rows) == ("unknown", "nodepools.karpenter.sh: the schema of v1beta1 was not seen", ())


@pytest.mark.parametrize("odd", [{}, {"openAPIV3Schema": []}, {"openAPIV3Schema": {"properties": 5}}, "x"])
def test_odd_schemas_do_not_break_it(odd):
    docs = helm_crds("0.37.8")
    docs[0]["spec"]["versions"][1]["schema"] = odd
    assert result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(*docs))[0] in ("unknown", "fail")


def test_without_such_crds_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_a_sketch_has_what_it_was_drawn_with():
    paths = [mark.path for mark in FIELD_MARKS]
    for kept in (paths, paths[:3], paths[5:6], []):
        schema = sketched(kept)
        assert [path for path in paths if has(schema, path)] == kept
        assert pruned(schema, paths) == schema


def test_the_remedy_brings_the_crds_of_the_release():
    assert "--version 0.37.8" in remedies(CHECK, "1.0", skewed("0.37.8", "0.36.9"))[0].text
