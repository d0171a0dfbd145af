"""Which actions a report calls for, in words with counts, and why others are not offered."""

import pytest

from migrations_app.actions.registry import all_actions, find
from migrations_app.checks.registry import all_checks
from migrations_app.readiness.offers import ROLL_BACK, Offer, offer_of, offers
from migrations_app.readiness.report import PartLine
from tests.builders_rows import a_finding, a_report

SEEN = tuple(PartLine(name=name, seen=True) for name in sorted({part for one in all_actions() for part in one.parts}))
CHECK = "crds_owned_by_helm"


def report(*checks, parts=SEEN, **more):
    return a_report(checks=checks or (a_finding("x", status="pass"),), parts=parts, **more)


def offer(*checks, **more) -> Offer | None:
    return offer_of(report(*checks, **more), "adopt_crds")


def test_a_failing_check_enables_the_action_that_resolves_it():
    assert offer(a_finding(CHECK)) == Offer(
        action_id="adopt_crds", label="Mark 2 CRDs for the release karpenter-crd", enabled=True, checks=(CHECK,)
    )


def test_a_lower_bound_is_said_to_be_one():
    found = offer(a_finding(CHECK, evidence_exact=False))
    assert found.label == "Mark at least 2 CRDs for the release karpenter-crd"


def test_the_largest_count_of_several_checks_is_said():
    every = (a_finding("hop_crds_installed"), a_finding("crd_fields_current", evidence_total=9))
    found = offer_of(report(*every), "upgrade_crds")
    assert (found.label, found.checks) == (
        "Bring 9 CRDs to the next release", ("hop_crds_installed", "crd_fields_current"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ((), "nothing calls for it at the hops that were judged"),
        ((a_finding(CHECK, status="pass"),), "nothing calls for it at the hops that were judged"),
        (
            (a_finding(CHECK, status="unknown", summary="crds: forbidden"),),
            "not known yet: Crds owned by helm: crds: forbidden",
        ),
    ],
)
def test_without_a_failure_it_says_why_not(checks, why):
    assert offer(*checks) == Offer(action_id="adopt_crds", label=find("adopt_crds").title, enabled=False, why=why)


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
    assert (known, unknown) == ("Replace 12 nodes one batch at a time", find("roll_nodes").title)


def test_every_action_that_a_check_names_exists():
    named = {name for check in all_checks() for name in check.resolved_by}
    assert named <= {action.id for action in all_actions()} - {ROLL_BACK}
    assert {one.action_id for one in offers(report())} == named
