"""Which actions a report calls for, in words with counts, and why others are not offered."""

import pytest

from migrations_app.actions.registry import all_actions, find
from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.registry import all_checks
from migrations_app.readiness.action_offers import (
    LOOKS_ONLY,
    MAY_NOT,
    NEVER_SCANNED,
    NOT_BY_HELM,
    OLDER,
    ROLL_BACK,
    Offer,
    by_check,
    offers,
    reason_disabled,
)
from migrations_app.readiness.action_order import CONTROLLER_ACTIONS
from migrations_app.readiness.report import PartLine
from tests.builders.rows import a_finding, a_report

SEEN = tuple(PartLine(name=name, seen=True) for name in sorted({part for one in all_actions() for part in one.parts}))
CHECK = "crds_owned_by_helm"


def report(*checks, parts=SEEN, **more):
    return a_report(checks=checks or (a_finding("x", status="pass"),), parts=parts, **more)


def offer_of(a_report, action_id: str) -> Offer | None:
    return next((one for one in offers(a_report) if one.action_id == action_id), None)


ADOPT = find("adopt_crds")


def offer(*checks, **more) -> Offer | None:
    return offer_of(report(*checks, **more), "adopt_crds")


def an_offer(**more) -> Offer:
    return Offer(action_id="adopt_crds", purpose=ADOPT.why, risk=ADOPT.risk, **more)


def test_a_failing_check_enables_the_action_that_resolves_it():
    assert offer(a_finding(CHECK)) == an_offer(
        label="Adopt 2 CRDs into the Helm release karpenter-crd", enabled=True, checks=(CHECK,)
    )


def test_a_lower_bound_is_said_to_be_one():
    found = offer(a_finding(CHECK, evidence_exact=False))
    assert found.label == "Adopt at least 2 CRDs into the Helm release karpenter-crd"


def test_the_largest_count_of_several_checks_is_said():
    every = (a_finding("hop_crds_installed"), a_finding("crd_fields_current", evidence_total=9))
    found = offer_of(report(*every), "upgrade_crds")
    assert (found.label, found.checks) == (
        "Upgrade 9 CRDs to the next release", ("hop_crds_installed", "crd_fields_current"),
    )  # fmt: skip


def test_objects_of_different_kinds_are_added_up():
    """Who confirms a deletion reads the number: one Provisioner and two AWSNodeTemplates are three objects."""
    counts = {"legacy_provisioners_gone": ("Provisioner", 1), "legacy_node_templates_gone": ("AWSNodeTemplate", 2)}
    checks = [
        a_finding(name, evidence=(Evidence(kind=kind, name="a"),), evidence_total=count)
        for name, (kind, count) in counts.items()
    ]
    found = offer_of(report(*checks, legacy={}), "remove_legacy")
    assert found.label == "Delete 3 legacy alpha objects"


def test_the_findings_of_one_upgrade_are_counted_alone():
    near, far = a_finding("hop_crds_installed"), a_finding("hop_crds_installed", hop="1.0", evidence_total=5)
    told = {name: offers(report(near, far), findings=rows) for name, rows in (("near", (near,)), ("none", ()))}
    labels = {name: next(one.label for one in rows if one.action_id == "upgrade_crds") for name, rows in told.items()}
    assert labels == {"near": "Upgrade 2 CRDs to the next release", "none": find("upgrade_crds").title}


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ((), "not needed for the upgrades that were checked"),
        ((a_finding(CHECK, status="pass"),), "not needed for the upgrades that were checked"),
        (
            (a_finding(CHECK, status="unknown", summary="crds: forbidden"),),
            "not known yet: Crds owned by helm: crds: forbidden",
        ),
    ],
)
def test_without_a_failure_it_says_why_not(checks, why):
    assert offer(*checks) == an_offer(label=ADOPT.title, enabled=False, why=why)


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ((), "crds could not be read: not asked"),
        ((PartLine(name="crds", seen=False, why="forbidden"),), "crds could not be read: forbidden"),
        ((PartLine(name="crds", seen=True, quarantined=2),), "2 of crds could not be read"),
    ],
)
def test_on_parts_that_were_not_read_whole_nothing_is_offered(parts, why):
    found = offer(a_finding(CHECK), parts=(*parts, PartLine(name="version", seen=True)))
    assert (found.enabled, found.why) == (False, why)


def test_nodes_are_counted_where_they_are_known():
    check = a_finding("provisioners_hold_no_nodes")
    known, unknown = (
        offer_of(report(check, legacy={"Node": many}), "roll_nodes").label for many in (12, None)
    )  # fmt: skip
    assert (known, unknown) == ("Roll 12 nodes in batches", find("roll_nodes").title)


# Which check names which action.

NAMED = {name for check in all_checks() for name in check.resolved_by}


def test_every_action_that_a_check_names_exists():
    assert NAMED - {action.id for action in all_actions()} - {ROLL_BACK} == set()
    assert ROLL_BACK not in NAMED


def test_every_action_is_named_by_a_check():
    """Taking back alone belongs to no check: it is offered at the rollout that it takes back. Nor do upgrades of
    the controller: no check fails because the next release does not run yet. A hold belongs to a pause.
    """
    assert {action.id for action in all_actions()} - NAMED == {ROLL_BACK, "hold_disruption", *CONTROLLER_ACTIONS}


@pytest.mark.parametrize("action_id", sorted(NAMED))
def test_each_action_stands_at_the_rows_of_its_checks(action_id):
    named = [check.id for check in all_checks() if action_id in check.resolved_by]
    for check_id in named:
        failing = a_finding(check_id, remedies=(Remedy(how="action", text="", action=action_id),))
        rows = by_check(offers(report(failing)), [failing])
        found = next(one for one in rows[check_id] if one.action_id == action_id)
        assert (found.enabled, found.checks, found.why) == (True, (check_id,), "")
        rows = by_check(offers(report(failing, parts=())), [failing])
        found = next(one for one in rows[check_id] if one.action_id == action_id)
        assert found.enabled is False
        assert found.why.endswith(" could not be read: not asked")


@pytest.mark.parametrize(
    ("status", "shown"),
    [("fail", True), ("unknown", True), ("manual", True), ("pass", False), ("not_applicable", False)],
)
def test_buttons_stand_where_something_may_be_to_do(status, shown):
    finding = a_finding(CHECK, status=status)
    assert (CHECK in by_check(offers(report(finding)), [finding])) is shown


def test_a_check_without_an_action_has_no_row():
    without = next(check.id for check in all_checks() if not check.resolved_by)
    assert by_check(offers(report()), [a_finding(without), a_finding("of_another_release")]) == {}


@pytest.mark.parametrize(
    ("remedies", "enabled"), [((), False), ((Remedy(how="action", text="", action="mend_conversion"),), True)]
)
def test_what_mends_only_some_failures_is_offered_where_it_does(remedies, enabled):
    failing = a_finding("karpenter_lists_answer", remedies=remedies)
    assert ("karpenter_lists_answer" in by_check(offers(report(failing)), [failing])) is enabled
    found = offer_of(report(failing), "mend_conversion")
    assert (found.enabled, found.checks) == (enabled, ("karpenter_lists_answer",) if enabled else ())
    assert found.why == ("" if enabled else f"not what puts this right: {failing.title}: {failing.summary}")


# What keeps everybody from it.


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"may_prepare": False, "source": "sample", "is_latest": False}, MAY_NOT),
        ({"may_prepare": True, "source": "sample"}, "A sample is read-only."),
        ({"may_prepare": True, "source": "bundle", "is_latest": False}, "A bundle is read-only."),
        ({"may_prepare": True, "source": "kubeconfig", "is_latest": False}, OLDER),
        ({"may_prepare": True, "source": "eks"}, ""),
        ({"may_prepare": False, "source": "eks", "has_no_action_workers": True}, LOOKS_ONLY),
    ],
)
def test_what_keeps_everybody_from_it(given, why):
    assert reason_disabled(**{"has_no_action_workers": False} | given) == why


def test_what_keeps_everybody_is_told_at_every_action():
    assert {(one.enabled, one.why) for one in offers(report(a_finding(CHECK)), held=OLDER)} == {(False, OLDER)}
    assert {(one.enabled, one.why) for one in offers(None)} == {(False, NEVER_SCANNED)}
    assert {one.why for one in offers(None, held=MAY_NOT)} == {MAY_NOT}


def test_what_is_called_for_comes_first_and_what_destroys_last():
    every = (a_finding("legacy_provisioners_gone"), a_finding("crds_owned_by_helm"))
    found = offers(report(*every))
    assert [(one.enabled, one.risk == "destructive") for one in found] == sorted(
        ((one.enabled, one.risk == "destructive") for one in found), key=lambda row: (not row[0], row[1])
    )
    assert {one.action_id for one in found if one.enabled} == {
        "adopt_crds", "convert_and_apply", "forced_deletion", "remove_legacy",
    }  # fmt: skip


def test_runs_of_helm_are_offered_where_they_are_allowed_and_nothing_keeps_them():
    def told(**more):
        found = offers(report(), **more)
        return {(one.enabled, one.why) for one in found if (action := find(one.action_id)) and action.needs_helm}

    assert told() == {(False, NOT_BY_HELM)}
    assert told(by_helm=True) == {(True, "")}
    assert told(by_helm=True, held=OLDER) == {(False, OLDER)}
