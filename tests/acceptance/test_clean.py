"""On clean clusters nothing is found but what an operator would agree to, and nothing stays open."""

import jsonschema  # type: ignore[import-untyped]  # its stubs are not among the locked packages
import pytest

from migrations_app.checks.base import Finding
from tests.acceptance import cluster_crds
from tests.acceptance.clusters import CLEAN, Clean, find, objects
from tests.acceptance.judging import at, crashes, judged, loud, open_questions

NAMES = [clean.name for clean in CLEAN]
AGREED = {
    # Drift is off by default on 0.32 and on by default from 0.33 on: nodes begin to be replaced.
    "finished-032": {"feature_gates_in_force"},
    # 1.12 hashes the CA bundle: by the guide every node drifts once.
    "v1-13": {"hashes_carry_over"},
    "v1-16": {"hashes_carry_over"},
    "v1-18": {"hashes_carry_over"},
}
BY_HAND = {
    "iam_change_known",  # what the controller is granted stands in IAM
    "instance_profiles_have_roles",  # the role of aws.defaultInstanceProfile stands in IAM
    "controller_role_named",  # associations of Pod Identity stand in EKS
    "metadata_reachable_for_pods",  # whether a pod asks metadata is seen by nobody
}
"""What only a person can settle."""
CUSTOM = {"NodePool", "NodeClaim", "EC2NodeClass", "Provisioner", "Machine", "AWSNodeTemplate"}


@pytest.fixture(params=CLEAN, ids=NAMES)
def clean(request: pytest.FixtureRequest) -> Clean:
    found: Clean = request.param
    return found


@pytest.fixture
def findings(clean: Clean) -> tuple[Finding, ...]:
    return at(judged(clean, objects(clean)), clean.hop)


def test_nothing_is_found_but_what_an_operator_agrees_to(clean: Clean, findings: tuple[Finding, ...]) -> None:
    assert loud(findings) == AGREED.get(clean.name, set())


def test_nothing_stays_open_that_a_dump_shows(findings: tuple[Finding, ...]) -> None:
    assert open_questions(findings) == {}


def test_by_hand_is_only_what_no_dump_shows(findings: tuple[Finding, ...]) -> None:
    left = {one.id for one in findings if one.status == "manual" and one.severity != "info"}
    assert left - BY_HAND == set()


def test_the_release_and_the_next_hop_are_told(clean: Clean) -> None:
    report = judged(clean, objects(clean))
    assert (report.cluster.karpenter_version, report.cluster.disagreements) == (clean.version, ())
    assert (report.target.path[0].name if report.target.path else "") == clean.hop
    assert report.scanned_at == "2026-09-28T10:04:00Z"
    assert crashes(report) == []


def test_what_is_read_is_read_whole(clean: Clean) -> None:
    report = judged(clean, objects(clean))
    assert {(one.name, one.why or one.quarantined) for one in report.parts if not one.seen or one.quarantined} == set()


def test_later_hops_are_asked_too_and_do_not_crash(clean: Clean) -> None:
    report = judged(clean, objects(clean))
    # Where no hop is left, the running release itself is asked about.
    assert {one.hop for one in report.checks} == ({hop.name for hop in report.target.path} or {report.hops[-1].hop})


def test_objects_are_what_their_crds_allow(clean: Clean) -> None:
    documents = objects(clean)
    installed = [one for one in documents if one["kind"] == "CustomResourceDefinition"]
    own = [one for one in documents if one["kind"] in CUSTOM]
    assert len(own) == 6
    for one in own:
        jsonschema.validate(one, cluster_crds.schema_of(one, installed))


def test_nodes_of_auto_mode_beside_it_are_left_alone() -> None:
    clean = find("v1-13")
    documents = objects(clean)
    for one in [one for one in documents if one["kind"] in ("NodePool", "NodeClaim")]:
        spec = one["spec"]["template"]["spec"] if one["kind"] == "NodePool" else one["spec"]
        other = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
        auto = {"nodeClassRef": other}
        metadata = one["metadata"] | {"name": f"auto-{one['metadata']['name']}", "uid": "auto", "annotations": {}}
        held = {"template": {"spec": spec | auto}} if one["kind"] == "NodePool" else auto
        documents.append(one | {"metadata": metadata, "spec": one["spec"] | held})
    assert loud(at(judged(clean, documents), clean.hop)) == AGREED["v1-13"]
