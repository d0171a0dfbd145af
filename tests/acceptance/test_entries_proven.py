"""Each fix of a planted entry of the coverage, made: the check passes, and no other one fails. What cannot be shown is
listed here with the reason, beside what test_fixes_proven.py lists for the faults."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from itertools import chain

import pytest

from migrations_app.checks.base import Finding
from migrations_app.checks.changes import HelmChange, PersonTask, leaves
from migrations_app.checks.shared.drift_hold import is_held
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.inventory import Inventory
from migrations_app.readiness.runbook.effects.effect import effect_of_all
from tests.acceptance.entries_planted import PLANTED_ENTRIES
from tests.acceptance.judged_faults import ONE_WORKER
from tests.acceptance.judging import at
from tests.acceptance.planted_entries import PlantedEntry, before_and_after, scanned
from tests.acceptance.proofs import FAILS, PROVEN, TEXT, Proof, changes_of, proof_of

pytestmark = ONE_WORKER

PERSON: Mapping[str, str] = {
    "alpha_behaviour_kept": "what the alpha object left open has to be chosen for the new one",
    "consolidation_stated": "how soon nodes are consolidated is a choice",
    "controller_rights_minimal": "who else uses a role of somebody's own is not told by the cluster",
    "controller_sidecars_fit": "only the owner of the sidecar knows what it may do",
    "expiry_stated": "how old a node may become is a choice",
    "isolated_vpc_needs_no_iam": "role or instance profile is a choice",
    "known_fixes_running": "the hop brings the fix: its landing is the change, and the walk makes that",
    "limits_and_weights_valid": "the number is a choice",
    "namespace_move_prepared": "whether the controller moves at all is a choice",
    "optional_crds_installed": "which of two Helm releases keeps a CRD is for their owners",
    "pools_replace_provisioners_alike": "what the Provisioner left open has to be chosen for the NodePool",
    "zones_of_volumes_served": "which subnets a zone has stands in AWS",
}
"""Why no command can make the fix."""
LOOKS: Mapping[str, str] = {
    "image_matches_records": "which of two releases was meant is not told by the cluster",
    "karpenter_lists_answer": "why the server cannot answer is read first",
    "provisioners_hold_no_nodes": "the nodes go by the fixes of old_provisioners_fenced and legacy_machines_gone",
    "rollback_loses_nothing": "an export keeps what a rollback loses, and changes nothing",
}
"""Fixes that read and change nothing, and what settles the cause."""
ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "kubernetes_inside_window": ("in_aws", "the control plane is raised in AWS; test_fixes_proven.py says why"),
    "metrics_port_followed": ("value_not_applied", "the port of a Service is rendered by the chart"),
    "open_reservations_selected": (TEXT, "it tells a person what to look for in AWS and never fails"),
}
"""What no effect shows, as which outcome, and why."""
PACED: Mapping[str, str] = {
    "hashes_carry_over": "they are replaced whatever is done; the change lets none go before the landing is seen",
}
"""Fixes that leave the cause and hold what follows from it."""
BOTH = frozenset({"metrics_port_followed", "optional_crds_installed"})
"""Checks with one entry that is proven and another one that is listed above."""


def finding_of(entry: PlantedEntry) -> Finding:
    _, after = before_and_after(entry)
    return next(one for one in at(after, entry.at) if one.id == entry.check)


@cache
def proof(entry: PlantedEntry) -> Proof:
    _, after = before_and_after(entry)
    return proof_of(finding_of(entry), before=after, collected=scanned(entry), hop=entry.at)


@pytest.mark.parametrize("entry", PLANTED_ENTRIES, ids=lambda entry: entry.name)
def test_no_fix_leaves_its_check_failing_or_makes_another_fail(entry: PlantedEntry) -> None:
    found = proof(entry)
    assert found.outcome != FAILS or entry.check in PACED
    assert found.beside == frozenset()


def test_what_is_not_proven_is_listed_with_its_reason() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for entry in PLANTED_ENTRIES:
        found[entry.check].add(proof(entry).outcome)
    wanted: dict[str, str] = dict.fromkeys(PERSON, "for_a_person")
    wanted |= dict.fromkeys(LOOKS, "reads_only")
    wanted |= {name: outcome for name, (outcome, _) in ELSEWHERE.items()}
    wanted |= dict.fromkeys(PACED, FAILS)
    assert {name: outcomes - {PROVEN} for name, outcomes in found.items() if outcomes != {PROVEN}} == {
        name: {outcome} for name, outcome in wanted.items()
    }
    assert {name for name, outcomes in found.items() if len(outcomes) > 1} == BOTH


def test_what_is_for_a_person_says_why() -> None:
    for entry in PLANTED_ENTRIES:
        if proof(entry).outcome == "for_a_person":
            steps = list(chain.from_iterable(map(leaves, changes_of(finding_of(entry)))))
            told = [one.why for one in steps if isinstance(one, PersonTask)]
            told += [one.why or str(one.given) for one in steps if isinstance(one, HelmChange)]
            assert told, entry.name
            assert all(told), entry.name


@pytest.mark.parametrize("entry", [one for one in PLANTED_ENTRIES if one.check in PACED], ids=lambda one: one.name)
def test_what_only_paces_holds_every_pool(entry: PlantedEntry) -> None:
    before = scanned(entry).inventory
    after = effect_of_all(before, changes_of(finding_of(entry)))
    assert isinstance(after, Inventory)
    assert not all(map(is_held, own_pools(before)))
    assert all(map(is_held, own_pools(after)))


def test_most_of_what_has_a_change_is_proven() -> None:
    assert len({entry.name for entry in PLANTED_ENTRIES if proof(entry).outcome == PROVEN}) >= 19
