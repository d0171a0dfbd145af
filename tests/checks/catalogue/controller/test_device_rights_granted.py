import json

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    finding_of,
    helm_values_of,
    reads,
    remedies,
    result_of,
    result_without,
)

CHECK = "device_rights_granted"
GOOD = ("pass", "A controller that allocates devices may read them", ())
IGNORES = ("not_applicable", "IGNORE_DRA_REQUESTS is not false, so the controller reads no devices", ())
READ = ["list", "watch"]
STARTS = "waits at its start until it has read them"


def allocating(version="1.12.1", *, ignores="false", kubernetes="1.34", rules=()):
    env = {"CLUSTER_NAME": "test"} | ({"IGNORE_DRA_REQUESTS": ignores} if ignores is not None else {})
    cluster = a_cluster(version, kubernetes=kubernetes, env=env)
    granted = [{"apiGroups": ["resource.k8s.io"], "resources": [one], "verbs": READ} for one in rules]
    return cluster.with_docs(
        doc("rbac.authorization.k8s.io/v1", "ClusterRole", metadata=meta("devices"), rules=granted)
    )


def a_row(resource, why):
    target = f"{resource}.resource.k8s.io"
    seen = f"list, watch of {target} not granted"
    return Evidence(kind="ClusterRole", name="bound to the controller", path=f"rules[{target}]", seen=seen, wanted=why)


@pytest.mark.parametrize("ignores", [None, "true", "1", "", "no"])
def test_a_controller_that_ignores_claims_reads_no_devices(ignores):
    assert result_of(CHECK, "1.13", allocating(ignores=ignores)) == IGNORES


def test_no_chart_grants_what_it_reads_from_then_on():
    told = "The controller cannot read devices: list, watch of resourceclaims.resource.k8s.io not granted"
    assert result_of(CHECK, "1.13", allocating()) == ("fail", told, (a_row("resourceclaims", STARTS),))
    assert finding_of(CHECK, "1.13", allocating()).severity == "blocker"
    (given,) = remedies(CHECK, "1.13", allocating())
    assert "karpenter-devices" in given.text
    assert "resourceclaims" in given.text


@pytest.mark.parametrize("ignores", ["false", "0", "F"])
def test_rights_that_are_granted(ignores):
    assert result_of(CHECK, "1.13", allocating(ignores=ignores, rules=("resourceclaims",))) == GOOD


def test_the_next_minor_reads_more():
    rows = (
        a_row("resourceslices", "lists them before it launches any node"),
        a_row("deviceclasses", "looks up the classes that claims name"),
    )
    found = result_of(CHECK, "1.14", allocating("1.13.1", rules=("resourceclaims",)))
    assert found == ("fail", "The controller cannot read 2 kinds of devices", rows)


def rules_given(cluster, hop="1.14"):
    """The rules of the role that the first remedy applies, and those of its undo."""
    first = next(iter(leaves(remedies(CHECK, hop, cluster)[0].change)))
    return first.manifest["rules"], first.undo


def test_another_fix_takes_nothing_from_a_role_of_that_name():
    """kubectl apply replaces the rules of a role."""
    own = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get", *READ]}
    named = doc("rbac.authorization.k8s.io/v1", "ClusterRole", metadata=meta("karpenter-devices"), rules=[own])
    more = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices", "deviceclasses"], "verbs": READ}
    rules, undo = rules_given(allocating("1.13.1").with_docs(named))
    assert rules == [own, more]
    assert undo.manifest["rules"] == [own]


def test_the_role_grants_the_whole_set_whatever_other_roles_grant():
    rules, undo = rules_given(allocating("1.13.1", rules=("resourceclaims",)))
    assert rules == [
        {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims", "resourceslices", "deviceclasses"],
         "verbs": READ},
    ]  # fmt: skip
    assert undo.target.name == "karpenter-devices"


def values_given(cluster):
    return helm_values_of(remedies(CHECK, "1.13", cluster)[0], when="before")


def added(*rows, settings=None):
    """The switch is false because the chart's values add it to the controller's variables."""
    values = {"controller": {"env": list(rows)}} | ({"settings": settings} if settings else {})
    return allocating(kubernetes="1.33", rules=("resourceclaims",)).with_values(values, version="1.12.1")


FALSE = {"name": "IGNORE_DRA_REQUESTS", "value": "false"}
LEVEL = {"name": "LOG_LEVEL", "value": "info"}


def test_a_variable_that_the_values_add_is_taken_out_there():
    """The chart writes controller.env last, so its own setting would change nothing."""
    assert values_given(added(LEVEL, FALSE)) == {"controller.env": json.dumps([LEVEL])}
    both = values_given(added(FALSE, settings={"ignoreDRARequests": "false"}))
    assert both == {"controller.env": "[]", "settings.ignoreDRARequests": "true"}


def test_a_variable_beside_one_that_was_not_read_is_taken_out_by_a_person():
    secret = {"name": "HTTPS_PROXY", "valueFrom": {"secretKeyRef": {"name": "proxy", "key": "url"}}}
    first = remedies(CHECK, "1.13", added(FALSE, secret))[0]
    assert helm_values_of(first, when="person") == {}
    assert "take IGNORE_DRA_REQUESTS out of controller.env" in first.text


def test_otherwise_the_setting_is_changed():
    assert values_given(added(LEVEL)) == {"settings.ignoreDRARequests": "true"}
    unread = remedies(CHECK, "1.13", allocating(kubernetes="1.33", rules=("resourceclaims",)))[0].text
    assert "where controller.env has IGNORE_DRA_REQUESTS, take it out there" in unread


def test_a_kubernetes_that_does_not_serve_them():
    cluster = allocating(kubernetes="1.33", rules=("resourceclaims",))
    status, _, (row,) = result_of(CHECK, "1.13", cluster)
    assert (status, row.kind, row.seen, row.wanted) == (
        "fail", "Deployment", "false", "true: Kubernetes serves resource.k8s.io/v1 from 1.34 on",
    )  # fmt: skip
    assert "settings.ignoreDRARequests" in "".join(one.text for one in remedies(CHECK, "1.13", cluster))


@pytest.mark.parametrize("variable", ["IGNORE_DRA_REQUESTS", ""])
def test_a_switch_that_is_set_elsewhere_is_open_and_no_more(variable):
    found = finding_of(CHECK, "1.13", allocating(ignores=None).with_hidden(variable))
    told = ("unknown", "info", "IGNORE_DRA_REQUESTS may be taken from an object that is not read")
    assert (found.status, found.severity, found.summary) == told


def test_without_a_controller_there_is_nothing_to_ask():
    none = ("not_applicable", "there is no Karpenter Deployment", ())
    assert result_of(CHECK, "1.13", an_empty_cluster(), start="1.12.1") == none


def test_it_is_asked_from_the_first_release_that_reads_them():
    assert asked_hops(CHECK)[0] == "1.13"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.13", allocating(), part=part) == ("unknown", f"{part} could not be read: forbidden")
