"""Each hop is judged by the state that it begins in: fixes made, releases landed, nothing asked for twice."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.registry import all_checks
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.collect import collect
from migrations_app.inventory.inventory import FIELDS, Inventory, once, track_reads
from migrations_app.inventory.parts import AHEAD, Seen, Unseen
from migrations_app.karpenter.upgrade_path import path
from migrations_app.karpenter.versions import release
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.needs_order import ordered_by_needs
from migrations_app.readiness.report import Report
from migrations_app.readiness.runbook.effects.chart_upgrade import after_upgrade
from migrations_app.readiness.runbook.runbook import DoneEarlier, runbook
from migrations_app.readiness.runbook.walk import Walk, findings_of_hops
from migrations_app.readiness.stage import detect_running_release
from migrations_app.readiness.verdict import hop_lines
from migrations_app.samples import fleet
from tests.acceptance.clusters import CLEAN, objects
from tests.acceptance.clusters import find as clean
from tests.acceptance.judging import as_list, collected
from tests.acceptance.planting import helm_values
from tests.readiness.outputs.reports import finding
from tests.samples.test_stories import report_on as report

pytestmark = pytest.mark.xdist_group("stories")  # judged once, in one worker


@cache
def inventory(name: str) -> Inventory:
    one = clean(name)
    return collected(name, as_list(objects(one), kubernetes=one.kubernetes)).inventory


def at(name: str, hop: str) -> dict[str, Finding]:
    return {one.id: one for one in report(name).checks if one.hop == hop}


def test_the_fix_of_a_hop_is_made_before_the_next_one_is_judged() -> None:
    assert at("alpha_030", "0.33+")["legacy_machines_gone"].status == "fail"
    assert at("alpha_030", "1.0")["legacy_machines_gone"].status == "pass"
    assert at("alpha_030", "0.33+")["global_settings_carried_over"].status == "fail"
    assert at("alpha_030", "1.0")["removed_helm_keys_unused"].status == "fail"
    assert at("alpha_030", "1.1+")["removed_helm_keys_unused"].status == "pass"


def test_a_right_is_attached_once_and_only_what_is_new_is_asked_for_later() -> None:
    counts = [at("alpha_030", hop)["controller_permitted"].evidence_total for hop in ("0.32", "0.33+")]
    assert counts == [6, 1]


def test_what_nobody_can_tell_before_is_unknown_and_never_passes() -> None:
    claims = at("alpha_030", "1.0")["claims_not_drifted"]
    assert (claims.status, claims.asked_at, claims.remedies) == ("unknown", "0.33+", ())
    one = clean("alpha-031")
    told = evaluate(collected(one.name, as_list(objects(one), kubernetes=one.kubernetes))).report.checks
    left = {each.hop: each.status for each in told if each.id == "instance_profiles_have_roles"}
    assert left["0.32"] == "manual"
    assert left.get("0.33+") != "pass"


def test_the_work_of_a_person_is_asked_for_once() -> None:
    plan = runbook(report("old_settings"))
    asked = [
        (hop.path_hop.name, one.id) for hop in plan.hops for one in hop.steps if one.id == "metadata_reachable_for_pods"
    ]
    assert asked == [("1.0", "metadata_reachable_for_pods")]
    told = {one.path_hop.name: one.done_earlier for one in runbook(report("alpha_030")).hops}
    assert DoneEarlier("claims_not_drifted", "0.33+", seen_again=True) in told["1.0"]
    assert DoneEarlier("legacy_machines_gone", "0.33+") in told["1.0"]


@pytest.mark.parametrize("name", ["alpha_030", "halfway_032", "beta_037", "old_settings", "v1_beta_stored"])
def test_every_later_hop_begins_with_the_release_that_was_landed(name: str) -> None:
    found = report(name)
    assert {one.status for one in found.checks if one.id == "hop_start_runs"} == {"pass"}
    assert all(
        line.verdict not in ("ready", "ready_with_warnings") for line in found.hops[1:] if line.hop in _later(found)
    )


def _later(found: Report) -> list[str]:
    return [hop.name for hop in found.target.path[1:]]


@pytest.mark.parametrize("name", [one.name for one in CLEAN if one.version.startswith("0.")])
def test_the_landed_controller_is_told_by_all_its_marks(name: str) -> None:
    here = inventory(name)
    for hop in path(detect_running_release(here), kubernetes=clean(name).kubernetes).hops:
        here = after_upgrade(here, hop.release)
        told = detect_running_release(here)
        assert (told.release, told.disagreements) == (hop.release, ())


@pytest.mark.parametrize(("given_port", "served"), [({}, 8000), ({"controller": {"metrics": {"port": 9100}}}, 9100)])
def test_the_landed_service_has_the_port_of_the_values(given_port: dict[str, object], served: int) -> None:
    documents = objects(clean("alpha-028"))
    helm_values(given_port)(documents)
    here = collected("alpha-028", as_list(documents, kubernetes="1.25")).inventory
    after = after_upgrade(here, release("0.31.5"))
    mine = [one.metrics_port for one in after.services.items if one.name == "karpenter"]
    assert mine == [served]


def test_facts_outlive_what_they_did_not_read_and_nothing_else() -> None:
    def nodes(inv: Inventory) -> int:
        asked.append("nodes")
        return len(inv.nodes.items)

    def both(inv: Inventory) -> int:
        asked.append("both")
        return known(inv) + len(inv.pods.items)

    asked: list[str] = []
    known, together = once(nodes), once(both)
    first = track_reads(inventory("alpha-031"))
    assert (together(first), together(first), asked) == (together(first), together(first), ["both", "nodes"])
    second = track_reads(replace(first, pods=Seen()))
    assert second.after(first) == {"pods"}
    assert (known(second), together(second), asked) == (known(first), known(first), ["both", "nodes", "both"])
    third = track_reads(replace(second, nodes=Unseen("forbidden")))
    assert third.after(second) == {"nodes"}
    assert (known(third), asked[-1]) == (0, "nodes")


def test_a_noting_inventory_is_the_same_cluster() -> None:
    one = inventory("beta-037")
    copy = track_reads(one)
    assert all(getattr(copy, name) is getattr(one, name) for name in FIELDS)
    assert track_reads(copy) is copy


@pytest.mark.parametrize("name", ["alpha-031", "beta-033", "v1-10"])
def test_facts_that_were_taken_over_say_what_fresh_ones_say(name: str) -> None:
    start = inventory(name)
    hops = path(detect_running_release(start), kubernetes=clean(name).kubernetes).hops
    walk = Walk(track_reads(start), all_checks())
    for hop in hops:
        last = hop is hops[-1]
        fresh = Walk(track_reads(replace(walk.inventory)), all_checks(), asked=dict(walk.asked))
        assert walk.hop(hop, last=last) == fresh.hop(hop, last=last)


def test_a_walk_of_one_hop_is_what_is_there() -> None:
    start = inventory("v1-10")
    (hop, *_) = path(detect_running_release(start), kubernetes="1.30").hops
    (found,) = findings_of_hops(start, [hop], checks=all_checks())
    assert not any(one.asked_earlier for one in found)
    assert not any(isinstance(part, Unseen) and part.why == AHEAD for part in map(start.part, ("nodepools", "nodes")))


def test_a_later_hop_is_red_for_its_own_findings_alone() -> None:
    found = (
        finding("one", "fail", hop="0.32"),
        finding("one", "unknown", hop="0.33+", asked_at="0.32"),
        finding("two", "pass", hop="0.33+"),
        finding("two", "fail", hop="1.0"),
        finding("one", "pass", hop="1.0"),
    )
    lines = hop_lines(("0.32", "0.33+", "1.0"), found)
    assert [line.verdict for line in lines] == ["blocked", "later", "blocked"]
    assert [line.done_percent for line in lines] == [0, 50, 0]
    assert lines[1].reasons == ("The upgrade to 0.32 has to be made first",)


@given(st.permutations(["a", "b", "c", "d"]), st.dictionaries(st.sampled_from("abcd"), st.sampled_from("abcd")))
def test_work_comes_after_what_it_needs(names: list[str], needs: dict[str, str]) -> None:
    found = [_needing(name, needs.get(name, "")) for name in names]
    order = [one.id for one in ordered_by_needs(found)]
    assert sorted(order) == sorted(names)
    if not _circular(needs):
        assert all(order.index(first) < order.index(name) for name, first in needs.items() if first != name)


def _needing(name: str, first: str) -> Finding:

    change = PersonTask(what="look", needs=(first,) if first else ())
    return finding(name, "fail", remedies=(Remedy(how="kubectl", text="# look", change=change),))


def _circular(needs: dict[str, str]) -> bool:
    for name in needs:
        seen, here = {name}, name
        while (first := needs.get(here)) is not None and first != here:
            if first in seen:
                return True
            seen.add(first)
            here = first
    return False


@pytest.mark.parametrize(
    ("part", "check"),
    [("machines", "condition_reasons_given"), ("provisioners", "drift_not_held_off")],
)
def test_what_was_not_seen_before_it_is_made_anew_does_not_pass_after_it(part: str, check: str) -> None:
    one = clean("alpha-031")
    found = collected(one.name, as_list(objects(one), kubernetes=one.kubernetes))
    unseen = replace(found.inventory, **{part: Unseen("timeout", "no answer")})
    later = {
        each.hop: each.status for each in evaluate(replace(found, inventory=unseen)).report.checks if each.id == check
    }
    assert later["1.0"] == "unknown"
    assert "pass" not in later.values()


def test_what_fails_among_the_others_is_certain_though_provisioners_were_not_seen() -> None:
    found = collect(open_bundle(fleet.files(fleet.find("halfway_032"))), cluster="halfway")
    unseen = replace(found.inventory, provisioners=Unseen("timeout", "no answer"))
    whole, partly = (
        {(one.id, one.status): one.summary for one in evaluate(each).report.checks if one.hop == "1.0"}
        for each in (found, replace(found, inventory=unseen))
    )
    assert {("images_pinned", "fail"), ("consolidation_calm", "fail")} <= whole.keys() & partly.keys()
    assert ("pool_keys_accepted", "pass") in whole
    assert "what the unread provisioners become at hop 0.33+" in partly["pool_keys_accepted", "unknown"]
