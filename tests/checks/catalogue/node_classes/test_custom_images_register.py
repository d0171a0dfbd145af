from dataclasses import replace

import pytest

from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from migrations_app.karpenter.versions import release
from tests.builders.clusters import asked_hops, case_at
from tests.builders.newest import NEWEST
from tests.builders.pools import a_claim, a_class, at, parses, row, unseen_is_unknown

CHECK = "custom_images_register"
WANTED = "karpenter.sh/unregistered:NoExecute among the taints the kubelet registers with"
CUSTOM = {"spec.amiFamily": "Custom", "spec.userData": "#!/bin/bash\n/opt/start"}


def landing(version: str, *docs):
    """The finding of a hop to 1.0 that lands on that patch."""
    case = case_at("1.0", at("0.37.8", *docs))
    case = replace(case, hop=replace(case.hop, release=release(version)))
    return run([next(one for one in all_checks() if one.id == CHECK)], case)[0]


def node_class(changes=None):
    return a_class(changes, version="v1beta1")


def untold(seen: str):
    return (row("EC2NodeClass", "default", "spec.userData", seen=seen, wanted=WANTED),)


@pytest.mark.parametrize("version", ["1.0.0", "1.0.8", "1.1.0", "1.1.3", "1.2.0", "1.2.1"])
def test_patches_that_insist(version):
    finding = landing(version, node_class(CUSTOM))
    seen = "amiFamily Custom, and user data without the taint"
    assert (finding.status, finding.severity, finding.evidence) == ("fail", "blocker", untold(seen))


@pytest.mark.parametrize("version", ["1.0.9", "1.0.14", "1.1.4", "1.2.2", "1.3.0", NEWEST])
def test_patches_that_do_not(version):
    finding = landing(version, node_class(CUSTOM))
    assert (finding.status, finding.summary) == ("not_applicable", f"{version} does not insist on the taint")


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"spec.amiFamily": "Custom"}, "Custom, no user data"),
        (
            {"spec.amiFamily": "AL2", "spec.userData": "/etc/eks/bootstrap.sh test"},
            "/etc/eks/bootstrap.sh called without the taint",
        ),
        ({"spec.userData": "nodeadm init -c file:///etc/own.yaml"}, "nodeadm init called without the taint"),
    ],
)
def test_other_ways_to_join(changes, seen):
    assert landing("1.0.5", node_class(changes)).evidence == untold(seen)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"spec.userData": "echo hello"},
        {"spec.userData": "#!/bin/bash\nnodeadm init"},
        CUSTOM | {"spec.userData": "--register-with-taints=karpenter.sh/unregistered=:NoExecute"},
    ],
)
def test_user_data_that_gets_along(changes):
    finding = landing("1.0.5", node_class(changes))
    assert (finding.status, finding.summary) == ("pass", "Nodes with custom user data register")


def test_a_claim_that_was_left_out():
    barred = {"type": "Registered", "status": "False", "reason": "UnregisteredTaintNotFound"}
    made = a_claim({"status.conditions": [barred]}, version="v1beta1")
    name = made[0]["metadata"]["name"]
    finding = landing("1.0.14", *made)
    path = "status.conditions[Registered].reason"
    cause = row("NodeClaim", name, path, seen="UnregisteredTaintNotFound", wanted=WANTED)
    assert (finding.status, finding.evidence) == ("fail", (cause,))
    assert [one.text for one in finding.remedies] == [f"kubectl describe nodeclaims.karpenter.sh {name}"]


@pytest.mark.parametrize("odd", [7, ["x"], {}])
def test_odd_values_are_unknown_by_their_field(odd):
    finding = landing("1.0.5", node_class({"spec.userData": odd}))
    assert (finding.status, finding.summary) == ("unknown", "EC2NodeClass default: spec.userData is not a text")


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")
    assert asked_hops(CHECK)[0] == "1.0"


def test_the_remedy():
    given = landing("1.0.5", node_class(CUSTOM)).remedies
    assert parses(given) == ["kubectl"]
    edit = f"kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # spec.userData; {WANTED}"
    assert given[0].text.splitlines()[1:] == [edit]
