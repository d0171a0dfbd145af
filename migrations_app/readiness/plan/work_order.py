"""Where in a hop the work of each check stands: before the landing, with it or after it, and what comes first."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import UNSET, UnsetType

from migrations_app.checks.base import PHASES, Finding, Phase
from migrations_app.checks.changes import DeliveryResume, HelmChange, ObjectPatch, Observation, PersonTask, leaves

OPEN = ("fail", "unknown", "manual")
Part = Literal["before", "land", "after", "verify"]
BEFORE: tuple[Phase, ...] = ("preflight", "iam", "crds", "controller")
AFTER: tuple[Phase, ...] = ("resources", "workloads", "rollout", "cleanup")
LANDS: Final = "hop_crds_installed"
"""The check that the landing itself answers: its evidence says what the new CRDs bring."""
SUCCESSOR: Final = "pools_admit_provisioner_pods"
"""Passes where every Provisioner has a ready NodePool; from alpha to beta nothing is removed before that."""
SUCCESSION: Final[tuple[str, ...]] = (
    SUCCESSOR,
    "old_provisioners_fenced",
    "drift_enabled_for_rollout",
    "nodes_owned_by_nodeclaims",
    "legacy_machines_gone",
    "provisioners_hold_no_nodes",
    "legacy_provisioners_gone",
    "legacy_node_templates_gone",
    "alpha_crds_gone",
)
"""From alpha to beta, in this order: NodePools, fence, nodes, Provisioners, AWSNodeTemplates, CRDs.

P@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md.
"""
CONVERTED_FROM: Final = ("legacy_provisioners_gone", "legacy_node_templates_gone")
"""Open while there are objects that NodePools and EC2NodeClasses can be made of."""
HOLDS: Final = ("drift_not_held_off", "hashes_carry_over")
"""Budgets that hold drift over the landing: set last, so that they do not hold up what has to go before it."""
ROLL_PREPARED: Final = frozenset(
    {
        "aws_has_room",
        "budgets_let_nodes_go",
        "claims_not_drifted",
        "disruption_paced",
        "expired_claims_gone",
        "grace_period_spares_protected_pods",
        "local_data_left_behind",
        "one_budget_per_pod",
        "pdbs_allow_disruption",
        "pods_have_controllers",
        "pools_have_room",
        "pools_replace_provisioners_alike",
        "protected_pods_off_rolled_nodes",
        "workloads_keep_a_pod",
        "zones_of_volumes_served",
    }
)
"""What is of use only before nodes are replaced, and the controller replaces them as soon as it has landed."""
ASKED_OF_ALPHA: Final = frozenset({"instance_profiles_have_roles"})
"""What has to be known of an alpha object while it is there."""
WHILE_SERVED: Final = frozenset({"gitops_applies_current_versions"})
"""What is still applied in a version has to be written anew before the landing takes that version away."""
JUST_BEFORE: Final = frozenset({"crd_conversion_cleared"})
"""Nothing may stand between it and the landing: nothing converts from then on."""
WITH_LANDING: Final = frozenset({"log_settings_kept", "removed_env_names_unused", "removed_helm_keys_unused"})
"""Values that are given to the chart of the hop's release: by the same upgrade, once its CRDs are there."""


def by_work(finding: Finding) -> tuple[int, int, int, int, str]:
    """Sorts by phase; inside one by succession, then blockers first, failures before what is not known."""
    severity = ("blocker", "warning", "info").index(finding.severity)
    known = OPEN.index(finding.status) if finding.status in OPEN else len(OPEN)
    rank = SUCCESSION.index(finding.id) + 1 if finding.id in SUCCESSION else 0
    return PHASES.index(finding.phase), rank, severity, known, finding.id


def in_turn(findings: Sequence[Finding]) -> list[Finding]:
    """In the given order, but each after those that its changes need first; a circle stays as it is given."""
    left, done = list(findings), list[Finding]()
    needs = {finding.id: _needs(finding) for finding in findings}
    while left:
        waiting = {finding.id for finding in left}
        free = next((finding for finding in left if not needs[finding.id] & (waiting - {finding.id})), left[0])
        left.remove(free)
        done.append(free)
    return done


def _needs(finding: Finding) -> set[str]:
    changes = [remedy.change for remedy in finding.remedies if remedy.change is not UNSET]
    return {name for change in changes for name in change.needs}


def parts_of(findings: Sequence[Finding], *, release: str) -> dict[str, Part]:
    """By the id of each finding the part of the hop that its work stands in; `release` is what the hop lands on."""
    last = max(
        (SUCCESSION.index(finding.id) for finding in findings if finding.id in SUCCESSION and finding.open_blocker),
        default=-1,
    )
    early = frozenset((SUCCESSOR, *SUCCESSION[: last + 1], *HOLDS)) | ROLL_PREPARED | ASKED_OF_ALPHA | WHILE_SERVED
    return {finding.id: _part(finding, release=release, early=finding.id in early) for finding in findings}


def late_of(findings: Sequence[Finding], *, release: str) -> frozenset[str]:
    """The ids of those that stand before the landing, but last: what they change is brought by another fix, or they
    need one that stands in a later phase or is made by the upgrade of the running release."""
    parts = parts_of(findings, release=release)
    early = {finding.id: finding for finding in findings if parts[finding.id] == "before" and finding.status in OPEN}
    upgraded = {name for name, finding in early.items() if _upgrades(finding, release)}
    late = {name for name, finding in early.items() if (finding.follows and _writes(finding)) or name in JUST_BEFORE}
    for name, finding in early.items():
        needed = [early[other] for other in _needs(finding) if other in early and other != name]
        after = [
            other for other in needed if other.id in upgraded or PHASES.index(other.phase) > PHASES.index(finding.phase)
        ]
        late |= {name} if after else set()
    return frozenset(late - {*SUCCESSION, *HOLDS})


def _writes(finding: Finding) -> bool:
    """Whether a remedy changes anything: what is only looked at may be looked at earlier."""
    changes = [remedy.change for remedy in finding.remedies if not isinstance(remedy.change, UnsetType)]
    return any(not isinstance(leaf, Observation | PersonTask) for change in changes for leaf in leaves(change))


def _upgrades(finding: Finding, release: str) -> bool:
    """Whether a remedy changes the running release by Helm before the hop lands."""
    changes = (remedy.change for remedy in finding.remedies if isinstance(remedy.change, HelmChange))
    return any(change.when == "before" and not change.reaches(release) for change in changes)


def _part(finding: Finding, *, release: str, early: bool) -> Part:
    if finding.id == LANDS or finding.id in WITH_LANDING or _brings_chart(finding, release):
        return "land"
    if _only_after(finding) and not finding.open_blocker:
        return "after"
    return "before" if early or finding.phase in BEFORE or finding.open_blocker else "after"


def _only_after(finding: Finding) -> bool:
    """Whether every change of its remedies may be made only once the hop has landed."""
    changes = [remedy.change for remedy in finding.remedies if not isinstance(remedy.change, UnsetType)]
    return bool(changes) and all(change.when == "after" for change in changes)


def _brings_chart(finding: Finding, release: str) -> bool:
    """Whether a remedy brings the controller, whatever it is about, to the release that the hop lands on."""
    changes = (remedy.change for remedy in finding.remedies if isinstance(remedy.change, HelmChange))
    return finding.phase == "controller" and any(change.reaches(release) for change in changes)


def taken_back(findings: Iterable[Finding]) -> tuple[ObjectPatch | DeliveryResume, ...]:
    """The ways back of what is held over the landing, each once: they are gone after it. What is only changed after it
    stays."""
    changes = dict.fromkeys(
        remedy.change
        for finding in findings
        if finding.status in OPEN
        for remedy in finding.remedies
        if not isinstance(remedy.change, UnsetType)
    )
    held = dict.fromkeys(leaf.undo for change in changes for leaf in leaves(change) if leaf.when != "after")
    return tuple(
        held_change
        for held_change in held
        if isinstance(held_change, ObjectPatch | DeliveryResume) and held_change.when == "after"
    )


def lacks_successors(findings: Sequence[Finding]) -> bool:
    """Whether alpha objects have to be converted before what they stand for may go."""
    status = {finding.id: finding.status for finding in findings}
    return status.get(SUCCESSOR, "pass") not in ("pass", "waived") and any(
        status.get(name) in OPEN for name in CONVERTED_FROM
    )
