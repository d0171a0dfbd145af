"""The steps of a journey, made of the runbooks of the sample fleet."""

from functools import cache

import msgspec
import pytest

from migrations_app.checks.base import Finding
from migrations_app.cli import plan as cli_plan
from migrations_app.cli.sources import scan_source
from migrations_app.journeys.compose import (
    DRIFT_CHECK,
    DRIFT_HOLD_CHECK,
    TAINT_CHECK,
    Choices,
    journey_steps,
    settled_by_upgrade,
)
from migrations_app.journeys.disruption_hold import HOLD, RELEASE
from migrations_app.journeys.plan import JourneyStep
from migrations_app.readiness.report import Report
from migrations_app.readiness.runbook.runbook import RunbookHop, runbook
from migrations_app.readiness.runbook.stages import _UNDO_HOLDS
from migrations_app.readiness.runbook.work_order import DRIFT_HOLD_CHECKS
from migrations_app.samples import fleet

pytestmark = pytest.mark.xdist_group("journey-steps")  # the samples are judged once, in one worker

NAMES = [story.name for story in fleet.stories()]
NO_CHOICES = Choices({}, 600)


@cache
def report(name: str) -> Report:
    import tempfile
    from pathlib import Path

    story = fleet.find(name)
    assert story is not None
    with tempfile.TemporaryDirectory() as folder:
        fleet.write(story, Path(folder))
        return scan_source(cli_plan.make_parser().parse_args(["--bundle", folder])).report


def hops(name: str) -> tuple[RunbookHop, ...]:
    return runbook(report(name)).hops


def steps(name: str, place: int = 0, choices: Choices = NO_CHOICES) -> tuple[JourneyStep, ...]:
    return journey_steps(hops(name)[place], installed=report(name).cluster.installed, choices=choices)


def open_blockers(hop: RunbookHop) -> set[str]:
    return {one.id for one in hop.steps if isinstance(one, Finding) and one.open_blocker}


@pytest.mark.parametrize("name", NAMES)
def test_every_open_blocker_is_held_by_a_step_that_protects(name):
    for place, hop in enumerate(hops(name)):
        found = steps(name, place)
        assert open_blockers(hop) <= {check for one in found if one.protects for check in one.checks}
        assert [one.id for one in found] == [f"j{number:02d}" for number in range(1, len(found) + 1)]


@pytest.mark.parametrize("name", NAMES)
def test_every_hop_lands_waits_and_ends_with_a_scan(name):
    for place, hop in enumerate(hops(name)):
        found, release = steps(name, place), hop.path_hop.release
        landing = [number for number, one in enumerate(found) if one.kind == "outside" and one.release == release]
        assert len(landing) == 2
        assert landing[1] == len(found) - 1
        after = [one for one in found[landing[0] + 1 :] if one.action != "remove_stale_webhooks"]
        assert (after[0].kind, after[0].seconds) == ("wait", 600)
        assert all(found[number].protects for number in landing)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_destroys_is_ever_chosen(name):
    every = [one for place in range(len(hops(name))) for one in steps(name, place)]
    assert "forced_deletion" not in {one.action for one in every}
    assert all((one.kind == "rollout") is bool(one.action) for one in every)


def test_the_halfway_cluster_from_its_first_step_to_its_last():
    release = hops("halfway_032")[0].path_hop.release
    assert [(one.kind, one.action or one.phase, one.protects) for one in steps("halfway_032")] == [
        ("person", "crds", True),
        ("outside", "iam", True),
        ("person", "iam", False),
        ("outside", "crds", True),
        ("person", "controller", False),
        ("person", "resources", False),
        ("rollout", "rename_markers", True),
        ("person", "rollout", False),
        ("rollout", "roll_nodes", True),
        ("rollout", "remove_legacy", True),
        ("outside", "crds", True),
        ("outside", "controller", True),
        ("wait", "controller", True),
        ("person", "resources", False),
        ("person", "cleanup", True),
        ("outside", "cleanup", True),
    ]
    assert {one.release for one in steps("halfway_032")} == {"", release}


def test_only_the_step_that_deletes_has_the_line_of_no_return():
    found = steps("halfway_032")
    assert [one.action for one in found if any("are deleted" in what for what in one.no_return)] == ["remove_legacy"]
    (hop,) = (one for one in hops("halfway_032") if one.path_hop.name == "0.33+")
    (stage,) = (one for one in hop.stages if (one.part, one.phase) == ("before", "cleanup"))
    other = next(one for one in hop.steps if one.id == "controller_permitted")
    wider = msgspec.structs.replace(stage, checks=(*stage.checks, other.id))
    stages = tuple(wider if one is stage else one for one in hop.stages)
    installed = report("halfway_032").cluster.installed
    mixed = journey_steps(msgspec.structs.replace(hop, stages=stages), installed=installed, choices=NO_CHOICES)
    beside = [one for one in mixed if other.id in one.checks and "legacy_provisioners_gone" not in one.checks]
    assert beside
    assert [what for one in beside for what in one.no_return if "are deleted" in what] == []


def test_crds_are_brought_by_karpdash_unless_a_delivery_keeps_them():
    ours = [one for one in steps("beta_037") if one.action == "upgrade_crds"]
    assert [(one.parameters, one.checks) for one in ours] == [({"release": "1.0.14"}, ("hop_crds_installed",))]
    assert [one.action for one in steps("halfway_032") if one.checks == ("hop_crds_installed",)] == [""]


@pytest.mark.parametrize("name", NAMES)
def test_crds_that_end_a_version_are_brought_with_their_release(name):
    """Those of 1.0 serve what those of 1.1 serve, so that their check passes; beside 1.1 they fail another one."""
    for place, hop in enumerate(hops(name)):
        if hop.path_hop.name == "1.1+":
            every = steps(name, place)
            (landing, *_) = (number for number, one in enumerate(every) if one.release == hop.path_hop.release)
            found = next(one for one in reversed(every[:landing]) if one.phase == "crds")
            proof = () if found.kind == "person" else ("hop_crds_installed",)
            assert (found.protects, found.checks) == (True, proof)


def test_crds_of_a_delivery_that_end_a_version_wait_for_a_person():
    """Their check passes already, so that a scan would end the step before anything was done."""
    for name, place in (("v1_beta_stored", 0), ("halfway_032", 2)):
        hop, found = hops(name)[place], [one for one in steps(name, place) if one.phase == "crds"]
        assert hop.path_hop.name == "1.1+"
        assert ("person", (), True) in [(one.kind, one.checks, one.protects) for one in found]
        assert "outside" not in {one.kind for one in found if one.checks == ("hop_crds_installed",)}


def test_crds_that_stay_as_they_are_take_no_step():
    (hop,) = (one for one in hops("old_settings") if one.path_hop.name == "0.33+")
    found = journey_steps(hop, installed=report("old_settings").cluster.installed, choices=NO_CHOICES)
    assert [one for one in found if "hop_crds_installed" in one.checks] == []


def test_choices_of_the_author_are_kept():
    chosen = Choices({"upgrade_crds": {"source": "here"}}, 0)
    found = steps("beta_037", choices=chosen)
    assert [one.parameters for one in found if one.action == "upgrade_crds"] == [
        {"release": "1.0.14", "source": "here"}
    ]
    assert "wait" not in {one.kind for one in found}


def test_stored_versions_are_waited_for_before_the_next_hop():
    waits = [one for one in steps("beta_037") if one.checks == ("stored_versions_clean",)]
    assert [(one.kind, one.protects) for one in waits] == [("outside", True)]


def test_the_controller_is_karpdashs_step_only_where_helm_keeps_it_and_it_is_allowed():
    """By installation and policy; Flux and Argo CD keep theirs, and a person is asked there."""
    kept = {name: installed.kept_by for name in NAMES if (installed := report(name).cluster.installed)}
    assert {"helm"} < set(kept.values())
    for name, by in kept.items():
        for place, hop in enumerate(hops(name)):
            asked = steps(name, place, Choices({"upgrade_controller": {"source": "mine.tgz"}}, 600, by_helm=True))
            found = [one for one in asked if one.action == "upgrade_controller" and one.release]
            release = hop.path_hop.release
            given = {"source": "mine.tgz", "chart": "karpenter", "release": release}
            assert [(one.release, one.parameters, one.protects) for one in found] == [(release, given, True)] * (
                by == "helm"
            )
            assert "upgrade_controller" not in {one.action for one in steps(name, place)}


def test_the_chart_of_the_crds_is_upgraded_by_helm_where_a_release_of_it_is_installed():
    installed = report("beta_037").cluster.installed
    assert installed is not None
    for crd_release, action in (("", "upgrade_crds"), ("kube-system/karpenter-crd", "upgrade_controller")):
        here = msgspec.structs.replace(installed, crds_kept_by="helm", crd_release=crd_release)
        found = journey_steps(hops("beta_037")[0], installed=here, choices=Choices({}, 0, by_helm=True))
        landing = [one for one in found if one.checks == ("hop_crds_installed",)]
        assert [(one.kind, one.action, one.parameters.get("chart")) for one in landing] == [
            ("rollout", action, "karpenter-crd" if crd_release else None)
        ]


def test_several_hops_take_several_charts():
    choices = Choices({"upgrade_crds": {"source": "karpenter-{release}"}}, 600)
    every = [one for name in NAMES for place in range(len(hops(name))) for one in steps(name, place, choices)]
    found = [one.parameters for one in every if one.action == "upgrade_crds"]
    assert len({one["release"] for one in found}) > 1
    assert [one["source"] for one in found] == [f"karpenter-{one['release']}" for one in found]


def test_nobody_fences_by_hand_what_karpdash_taints():
    every = [steps(name, place) for name in NAMES for place in range(len(hops(name)))]
    tainting = [found for found in every if any(one.action in ("taint_and_drift", "roll_nodes") for one in found)]
    assert tainting
    by_hand = [one for found in tainting for one in found if (one.kind, one.phase) == ("person", "rollout")]
    assert [one.title for one in by_hand if not one.checks and not one.release and "Provisioners" in one.title] == []


def of_hop(hop: RunbookHop, choices: Choices = NO_CHOICES) -> list[tuple[str, str, tuple[str, ...]]]:
    """Kind, action and checks of the steps that replace nodes before the upgrade."""
    found = journey_steps(hop, installed=None, choices=choices)
    return [(one.kind, one.action, one.checks) for one in found if one.phase == "rollout" and one.checks]


def with_findings(hop: RunbookHop, *findings: Finding) -> RunbookHop:
    """The hop with these in place of its own, in the stage that replaces nodes."""
    names = tuple(one.id for one in findings)
    steps_left = tuple(one for one in hop.steps if one.id not in names)
    stages = tuple(
        msgspec.structs.replace(one, checks=tuple(dict.fromkeys((*one.checks, *names))))
        if (one.part, one.phase) == ("before", "rollout") and one.checks
        else one
        for one in hop.stages
    )
    return msgspec.structs.replace(hop, stages=stages, steps=(*steps_left, *findings))


def test_where_drift_replaces_nothing_nodes_are_rolled():
    """Without its gate a plan of taint_and_drift is refused each time, so such a step could never be done."""
    hop = next(one for one in hops("halfway_032") if one.path_hop.name == "0.33+")
    drift = next(one for one in hop.steps if one.id == DRIFT_CHECK)
    moved = ("nodes_owned_by_nodeclaims", "legacy_machines_gone", "provisioners_hold_no_nodes")
    assert drift.status == "fail"
    assert ("rollout", "roll_nodes", moved) in of_hop(hop)
    assert DRIFT_CHECK not in {check for _, _, checks in of_hop(hop) for check in checks}
    on = with_findings(hop, msgspec.structs.replace(drift, status="pass", evidence=()))
    assert ("rollout", "taint_and_drift", moved) in of_hop(on)
    expiry = NO_CHOICES._replace(parameters={"taint_and_drift": {"by": "expiry"}})
    assert ("rollout", "taint_and_drift", moved) in of_hop(hop, expiry)


@pytest.mark.parametrize(("names", "rolled"), [(("default",), True), (("default", "empty"), False)])
def test_a_provisioner_without_nodes_is_not_fenced_by_rolling_those_of_others(names, rolled):
    hop = next(one for one in hops("halfway_032") if one.path_hop.name == "0.33+")
    owner = next(one for one in hop.steps if one.id == "provisioners_hold_no_nodes")
    row = owner.evidence[0]
    owning = msgspec.structs.replace(owner, evidence=(msgspec.structs.replace(row, name="default"),))
    rows = tuple(msgspec.structs.replace(row, name=name) for name in names)
    open_one = msgspec.structs.replace(
        owner, id=TAINT_CHECK, severity="warning", evidence=rows, evidence_total=len(rows)
    )
    found = of_hop(with_findings(hop, owning, open_one))
    (step,) = (one for one in found if TAINT_CHECK in one[2])
    assert step[:2] == (("rollout", "roll_nodes") if rolled else ("person", ""))


def _with(check: str) -> list[tuple[str, int]]:
    """Sample and number of each hop at which that check fails."""
    return [
        (name, place)
        for name in NAMES
        for place, hop in enumerate(hops(name))
        if any(one.id == check and one.status == "fail" for one in hop.steps)
    ]


def test_drift_is_held_over_the_landing_by_karpdash_where_it_may():
    held = 0
    for name, place in _with(DRIFT_HOLD_CHECK):
        by_hand, ours = steps(name, place), steps(name, place, NO_CHOICES._replace(holds=True))
        assert HOLD not in {one.action for one in by_hand}
        actions = [one.action for one in ours]
        if HOLD in actions:
            held += 1
            landing = next(number for number, one in enumerate(ours) if one.release)
            assert actions.index(HOLD) < landing < actions.index(RELEASE)
            assert ours[actions.index(RELEASE)].settled
            assert len(ours) == len(by_hand)
    assert held


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_ended_that_no_step_holds(name):
    for place in range(len(hops(name))):
        found = steps(name, place)
        ends = [
            one for one in found if one.title == _UNDO_HOLDS and any(each.tool == "kubectl" for each in one.commands)
        ]
        assert not ends or any(set(one.checks) & set(DRIFT_HOLD_CHECKS) for one in found)


@pytest.mark.parametrize("name", NAMES)
def test_what_an_upgrade_before_the_landing_settles_is_asked_once(name):
    for place, hop in enumerate(hops(name)):
        found = steps(name, place)
        for stage in hop.stages:
            proof = settled_by_upgrade(stage, hop) if stage.commands else ()
            mine = [one for one in found if set(one.checks) & set(proof)]
            assert len(mine) == (1 if proof else 0)
            assert all(one.commands and one.protects for one in mine)
