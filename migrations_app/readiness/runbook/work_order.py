"""Orders the work of one upgrade hop: which checks are fixed before the upgrade, with it or after it."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import UnsetType

from migrations_app.checks.base import PHASES, Finding, Phase
from migrations_app.checks.changes import DeliveryResume, HelmChange, ObjectPatch, Observation, PersonTask, leaves
from migrations_app.readiness.needs_order import needs_of, ordered_by_needs

OPEN_STATUSES = ("fail", "unknown", "manual")
HopPart = Literal["before", "land", "after", "verify"]
"""The parts of a hop; `land` is the upgrade itself."""
_PART_ORDER: Final[tuple[HopPart, ...]] = ("before", "land", "after", "verify")
PHASES_BEFORE: tuple[Phase, ...] = ("preflight", "iam", "crds", "controller")
PHASES_AFTER: tuple[Phase, ...] = ("resources", "workloads", "rollout", "cleanup")
CRDS_INSTALLED_CHECK: Final = "hop_crds_installed"
"""The check that the upgrade itself fixes; its evidence lists what the new CRDs bring."""
SUCCESSORS_CHECK: Final = "pools_admit_provisioner_pods"
"""The check that passes when every Provisioner has a ready NodePool. From alpha to beta nothing is removed before."""
ALPHA_TO_BETA_CHECKS: Final[tuple[str, ...]] = (
    SUCCESSORS_CHECK,
    "old_provisioners_fenced",
    "drift_enabled_for_rollout",
    "nodes_owned_by_nodeclaims",
    "legacy_machines_gone",
    "provisioners_hold_no_nodes",
    "legacy_provisioners_gone",
    "legacy_node_templates_gone",
    "alpha_crds_gone",
)
"""The checks from alpha to beta in the order of work: NodePools, fence, nodes, Provisioners, AWSNodeTemplates, CRDs.

P@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md.
"""
ALPHA_OBJECT_CHECKS: Final = ("legacy_provisioners_gone", "legacy_node_templates_gone")
"""Checks that are open while there are alpha objects to convert to NodePools and EC2NodeClasses."""
DRIFT_HOLD_CHECKS: Final = ("drift_not_held_off", "hashes_carry_over")
"""Checks whose fix is a budget that stops drift during the upgrade. The budget is set last, so that it does not stop
nodes that have to be replaced before the upgrade."""
BEFORE_NODES_ROLL: Final = frozenset(
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
"""Checks whose fixes help only before nodes are replaced; the new controller replaces nodes as soon as it runs."""
ON_ALPHA_OBJECTS: Final = frozenset({"instance_profiles_have_roles"})
"""Checks of alpha objects, answered while these objects exist."""
WHILE_VERSION_SERVED: Final = frozenset({"gitops_applies_current_versions"})
"""Checks of manifests that are applied in an old API version: rewritten before the upgrade removes that version."""
RIGHT_BEFORE_UPGRADE: Final = frozenset({"crd_conversion_cleared"})
"""Checks fixed directly before the upgrade, because CRDs do not convert between versions after this fix."""
WITH_UPGRADE: Final = frozenset({"log_settings_kept", "removed_env_names_unused", "removed_helm_keys_unused"})
"""Checks fixed by values of the new release's chart: set by the upgrade itself, after its CRDs are installed."""


def work_sort_key(finding: Finding) -> tuple[int, int, int, int, str]:
    """Sort key of the order of work: phase, order from alpha to beta, severity, status (failures first), id."""
    severity = ("blocker", "warning", "info").index(finding.severity)
    status_rank = OPEN_STATUSES.index(finding.status) if finding.status in OPEN_STATUSES else len(OPEN_STATUSES)
    alpha_rank = ALPHA_TO_BETA_CHECKS.index(finding.id) + 1 if finding.id in ALPHA_TO_BETA_CHECKS else 0
    return PHASES.index(finding.phase), alpha_rank, severity, status_rank, finding.id


def _stage_keys(findings: Sequence[Finding], *, release: str) -> dict[str, tuple[int, int, int]]:
    """Maps the id of each finding to the sort key of its stage in the runbook of the hop to that release."""
    parts, late = parts_by_check(findings, release=release), last_before_upgrade(findings, release=release)
    converts = lacks_successors(findings)
    return {
        finding.id: (_PART_ORDER.index(parts[finding.id]), *_place_in_part(finding, late=late, converts=converts))
        for finding in findings
    }


def _place_in_part(finding: Finding, *, late: frozenset[str], converts: bool) -> tuple[int, int]:
    """Phase by phase; then holds of drift, and then what is fixed last. NodePools that take over from Provisioners are
    a stage between those of two phases."""
    if finding.id == SUCCESSORS_CHECK and converts:
        return 0, 2 * PHASES.index("workloads") - 1
    rank = 2 if finding.id in late else 1 if finding.id in DRIFT_HOLD_CHECKS else 0
    return rank, 2 * PHASES.index(finding.phase)


def in_stage_order(findings: Iterable[Finding], *, release: str) -> tuple[Finding, ...]:
    """Returns the findings in the order in which the runbook of the hop to that release handles them."""
    rows = tuple(findings)
    keys = _stage_keys(rows, release=release)
    return tuple(sorted(in_work_order(rows), key=lambda finding: keys[finding.id]))


def in_work_order(findings: Iterable[Finding]) -> list[Finding]:
    """Returns the findings by `work_sort_key`, but each after those that its changes need first."""
    return ordered_by_needs(sorted(findings, key=work_sort_key))


def waits_for(finding: Finding, *, among: Iterable[Finding]) -> bool:
    """Whether a change of the finding needs another one of those findings to pass first."""
    return bool(needs_of(finding) & {other.id for other in among if other.id != finding.id})


def with_needs(findings: Iterable[Finding], *, among: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns the findings, and those of `among` that have to pass before their changes, and so on."""
    others = {finding.id: finding for finding in among}
    found: dict[str, Finding] = {}
    remaining = list(findings)
    while remaining:
        finding = remaining.pop()
        if finding.id not in found:
            found[finding.id] = finding
            remaining += [others[name] for name in needs_of(finding) if name in others]
    return tuple(found.values())


def parts_by_check(findings: Sequence[Finding], *, release: str) -> dict[str, HopPart]:
    """Maps the id of each finding to the part of the hop in which it is fixed. `release` is the target of the hop."""
    last_open = max(
        (
            ALPHA_TO_BETA_CHECKS.index(finding.id)
            for finding in findings
            if finding.id in ALPHA_TO_BETA_CHECKS and finding.open_blocker
        ),
        default=-1,
    )
    always_before = (
        frozenset((SUCCESSORS_CHECK, *ALPHA_TO_BETA_CHECKS[: last_open + 1], *DRIFT_HOLD_CHECKS))
        | BEFORE_NODES_ROLL
        | ON_ALPHA_OBJECTS
        | WHILE_VERSION_SERVED
    )
    return {
        finding.id: _part(finding, release=release, always_before=finding.id in always_before) for finding in findings
    }


def last_before_upgrade(findings: Sequence[Finding], *, release: str) -> frozenset[str]:
    """The ids of the findings that are fixed last before the upgrade: another fix creates what they change, or they
    need a fix of a later phase, or one that a Helm upgrade of the running release makes."""
    part_by_check = parts_by_check(findings, release=release)
    open_before = {
        finding.id: finding
        for finding in findings
        if part_by_check[finding.id] == "before" and finding.status in OPEN_STATUSES
    }
    upgrade_first = {name for name, finding in open_before.items() if _upgrades_running_release(finding, release)}
    last = {
        name
        for name, finding in open_before.items()
        if (finding.follows and changes_anything(finding)) or name in RIGHT_BEFORE_UPGRADE
    }
    for name, finding in open_before.items():
        needed = [open_before[need] for need in needs_of(finding) if need in open_before and need != name]
        later = [
            other
            for other in needed
            if other.id in upgrade_first or PHASES.index(other.phase) > PHASES.index(finding.phase)
        ]
        last |= {name} if later else set()
    return frozenset(last - {*ALPHA_TO_BETA_CHECKS, *DRIFT_HOLD_CHECKS})


def changes_anything(finding: Finding) -> bool:
    """Whether a remedy changes anything; a remedy that only reads may come earlier."""
    changes = [remedy.change for remedy in finding.remedies if not isinstance(remedy.change, UnsetType)]
    return any(not isinstance(leaf, Observation | PersonTask) for change in changes for leaf in leaves(change))


def only_looks(finding: Finding) -> bool:
    """Whether its remedies only read: none changes anything, asks a person to, or is a text whose effect is not told.
    Buttons of karpdash do not count; without any other remedy there is nothing to look at either."""
    remedies = [remedy for remedy in finding.remedies if remedy.how != "action"]
    changes = [remedy.change for remedy in remedies if not isinstance(remedy.change, UnsetType)]
    looks = all(isinstance(leaf, Observation) for change in changes for leaf in leaves(change))
    return len(changes) == len(remedies) > 0 and looks


def _upgrades_running_release(finding: Finding, release: str) -> bool:
    """Whether a remedy is a Helm upgrade of the running release, made before the upgrade of the hop."""
    changes = (remedy.change for remedy in finding.remedies if isinstance(remedy.change, HelmChange))
    return any(change.when == "before" and not change.reaches(release) for change in changes)


def _part(finding: Finding, *, release: str, always_before: bool) -> HopPart:
    if finding.id == CRDS_INSTALLED_CHECK or finding.id in WITH_UPGRADE or _upgrades_controller(finding, release):
        return "land"
    if _only_after(finding) and not finding.open_blocker:
        return "after"
    return "before" if always_before or finding.phase in PHASES_BEFORE or finding.open_blocker else "after"


def _only_after(finding: Finding) -> bool:
    """Whether all changes of its remedies may be made only after the upgrade."""
    changes = [remedy.change for remedy in finding.remedies if not isinstance(remedy.change, UnsetType)]
    return bool(changes) and all(change.when == "after" for change in changes)


def _upgrades_controller(finding: Finding, release: str) -> bool:
    """Whether a remedy of a controller check upgrades a chart to the hop's target release."""
    changes = (remedy.change for remedy in finding.remedies if isinstance(remedy.change, HelmChange))
    return finding.phase == "controller" and any(change.reaches(release) for change in changes)


def reverted_after_upgrade(findings: Iterable[Finding]) -> tuple[ObjectPatch | DeliveryResume, ...]:
    """The undo changes that are made after the upgrade, each once: they end temporary holds, such as a paused delivery.
    Changes that are made after the upgrade are not undone."""
    changes = dict.fromkeys(
        remedy.change
        for finding in findings
        if finding.status in OPEN_STATUSES
        for remedy in finding.remedies
        if not isinstance(remedy.change, UnsetType)
    )
    undos = dict.fromkeys(leaf.undo for change in changes for leaf in leaves(change) if leaf.when != "after")
    return tuple(undo for undo in undos if isinstance(undo, ObjectPatch | DeliveryResume) and undo.when == "after")


def lacks_successors(findings: Sequence[Finding]) -> bool:
    """Whether alpha objects have to be converted before they may be deleted: a Provisioner has no ready NodePool."""
    status = {finding.id: finding.status for finding in findings}
    return status.get(SUCCESSORS_CHECK, "pass") not in ("pass", "waived") and any(
        status.get(name) in OPEN_STATUSES for name in ALPHA_OBJECT_CHECKS
    )
