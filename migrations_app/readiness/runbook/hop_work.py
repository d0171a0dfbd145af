"""Applies the effects of the work of one hop to an inventory: fixes before the upgrade, the upgrade, fixes after it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import UNSET

from migrations_app.checks.base import Finding
from migrations_app.checks.changes import Change, HelmChange, KarpdashAction
from migrations_app.checks.remedies.successors import CONVERTS
from migrations_app.inventory.inventory import AWS_PREFIX, Inventory, TrackedInventory, track_reads
from migrations_app.inventory.parts import AHEAD, Seen, UnparsableObject, Unseen
from migrations_app.karpenter.upgrade_path import PathHop
from migrations_app.readiness.runbook.effects.chart_upgrade import after_upgrade
from migrations_app.readiness.runbook.effects.effect import effect_of_all
from migrations_app.readiness.runbook.effects.object_lookup import with_parts
from migrations_app.readiness.runbook.effects.successors import with_successors
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown
from migrations_app.readiness.runbook.work_order import (
    DRIFT_HOLD_CHECKS,
    HopPart,
    in_work_order,
    parts_by_check,
    reverted_after_upgrade,
)

NODE_CLAIM_PARTS = ("machines", "nodeclaims")
REPLACED_NODE_PARTS = ("nodeclaims", "aws.instances")
"""Parts whose objects are not known after nodes were replaced."""
SUCCESSOR_PARTS = ("nodepools", "ec2nodeclasses")
"""Parts whose objects are not known after a person has converted the alpha objects."""
FIRST_WITHOUT_ALPHA = "0.33"
PREDECESSOR_PARTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("provisioners", "awsnodetemplates"), SUCCESSOR_PARTS),
    (("machines",), REPLACED_NODE_PARTS),
)
"""Parts whose objects are replaced before the minor FIRST_WITHOUT_ALPHA, each with the parts of the new objects.
If the first ones were not read, the second ones will hold unknown objects: checks of these may fail, but not pass."""
_TO_FIX = ("fail", "manual")


@dataclass(frozen=True, slots=True)
class MadeFix:
    """One fix of a hop, or a part of one: the check that asks for it, and the state after it. `complete`: the effect of
    every change of it is known."""

    check: str
    after: TrackedInventory
    complete: bool


@dataclass(slots=True)
class HopWork:
    """Applies the fixes of a hop one after the other, each change once. `inventory` is the state after the last one."""

    inventory: TrackedInventory
    hop: PathHop
    fixes: list[MadeFix] = field(default_factory=list)
    """The fixes that were applied, in order."""
    changed: frozenset[str] = frozenset()
    """The fields of the inventory that the last call of `prepare` changed."""
    _upgrade_values: list[HelmChange] = field(default_factory=list)
    """Changes of chart values that the upgrade makes."""
    _applied: set[Change] = field(default_factory=set)
    """Changes that were applied: another finding may ask for the same one."""
    _tried: set[tuple[str, Change]] = field(default_factory=set)
    """Check and change, applied or not: the next round does not try them again."""

    def prepare(self, findings: Sequence[Finding]) -> None:
        """Applies the fixes before the upgrade, but no holds of drift; collects the values that the upgrade sets."""
        self.changed = frozenset()
        self._fix_in_order(
            [finding for finding in findings if finding.id not in DRIFT_HOLD_CHECKS], findings, parts=("before", "land")
        )

    def fix_before_upgrade(self, findings: Sequence[Finding]) -> None:
        """Applies all fixes before the upgrade, without the values that the upgrade sets."""
        self._fix_in_order(findings, findings, parts=("before",))

    def upgrade(self, findings: Sequence[Finding]) -> None:
        """Applies the remaining fixes before the upgrade, the holds of drift, the upgrade, the end of temporary
        holds, and the work after the upgrade.

        Blockers are fixed before an upgrade by somebody, so fixes that need another one are applied even where the
        effect of that one is not known."""
        self.prepare(findings)
        self._fix_in_order(
            [finding for finding in findings if finding.id in DRIFT_HOLD_CHECKS], findings, parts=("before", "land")
        )
        self._set_state(after_upgrade(self.inventory, self.hop.release, values=self._upgrade_values))
        for change in reverted_after_upgrade(findings):
            self._apply([change])
        self._fix_in_order(findings, findings, parts=("after",))
        if FIRST_WITHOUT_ALPHA in self.hop.entered:
            for predecessors, successors in PREDECESSOR_PARTS:
                unread = [name for name in predecessors if isinstance(self.inventory.part(name), Unseen)]
                if unread:
                    self._set_state(self._with_unknown_objects(successors, unread=unread[0]))

    def _fix_in_order(
        self, selected: Iterable[Finding], findings: Sequence[Finding], *, parts: tuple[HopPart, ...]
    ) -> None:
        """Applies the fixes of the selected findings in the order of work; `findings` are all findings of the hop."""
        part_by_check = parts_by_check(findings, release=str(self.hop.release))
        ordered = in_work_order(candidate for candidate in selected if candidate.status in _TO_FIX)
        for part in parts:
            for finding in (candidate for candidate in ordered if part_by_check[candidate.id] == part):
                self._fix(finding)

    def _fix(self, finding: Finding) -> None:
        """Applies the changes of the finding that were not tried yet; values of the upgrade are only collected."""
        changes = [
            change
            for change in changes_of(finding)
            if change not in self._applied and (finding.id, change) not in self._tried
        ]
        self._tried.update((finding.id, change) for change in changes)
        with_upgrade = [
            change for change in changes if isinstance(change, HelmChange) and self._is_made_by_upgrade(change)
        ]
        self._upgrade_values += with_upgrade
        self._applied.update(with_upgrade)
        before_upgrade = [change for change in changes if change not in with_upgrade]
        if before_upgrade:
            effects_known = self._apply(before_upgrade)
            self.fixes.append(MadeFix(finding.id, self.inventory, complete=effects_known and not with_upgrade))

    def _is_made_by_upgrade(self, change: HelmChange) -> bool:
        return change.when == "landing" or change.reaches(str(self.hop.release))

    def _apply(self, changes: list[Change]) -> bool:
        """Applies these changes; returns whether the effect of all of them is known."""
        conversions = [change for change in changes if isinstance(change, KarpdashAction) and change.action == CONVERTS]
        if conversions:
            converted = with_successors(self.inventory)
            self._set_state(self._with_parts_unseen(SUCCESSOR_PARTS) if isinstance(converted, NotShown) else converted)
        after = effect_of_all(self.inventory, (change for change in changes if change not in conversions))
        if isinstance(after, NotShown):
            return False
        self._applied.update(changes)
        replaced = any(len(after.part(name).items) < len(self.inventory.part(name).items) for name in NODE_CLAIM_PARTS)
        self._set_state(after)
        if replaced:
            self._set_state(self._with_parts_unseen(REPLACED_NODE_PARTS))
        return not conversions

    def _set_state(self, after: Inventory) -> None:
        """Makes this the reached state; cached facts that read no changed field are kept."""
        reached = track_reads(after)
        self.changed |= reached.after(self.inventory)
        self.inventory = reached

    def _with_parts_unseen(self, names: Sequence[str]) -> Inventory:
        """The inventory with these parts unseen: their objects are not known before the hop is done."""
        unseen = Unseen(AHEAD, self.hop.name)
        aws = self.inventory.aws
        if "aws.instances" in names and isinstance(aws.instances, Seen):
            aws = replace(aws, instances=unseen)
        parts = {name: unseen for name in names if not name.startswith(AWS_PREFIX)}
        return with_parts(replace(self.inventory, aws=aws), parts)

    def _with_unknown_objects(self, names: Sequence[str], *, unread: str) -> Inventory:
        """The inventory with an unparsable object in each of these parts, for what replaces those of `unread`."""
        subject = f"what the unread {unread} become"
        unknown_object = UnparsableObject("", "", subject, f"hop {self.hop.name}", "its predecessors were not read")
        aws = self.inventory.aws
        if "aws.instances" in names and isinstance(aws.instances, Seen):
            aws = replace(aws, instances=_with_unknown_object(aws.instances, unknown_object))
        parts = {name: self.inventory.part(name) for name in names if not name.startswith(AWS_PREFIX)}
        doubtful = {
            name: _with_unknown_object(part, unknown_object) for name, part in parts.items() if isinstance(part, Seen)
        }
        return with_parts(replace(self.inventory, aws=aws), doubtful)


def _with_unknown_object(part: Seen[Any], unknown_object: UnparsableObject) -> Seen[Any]:
    return replace(part, quarantined=(*part.quarantined, unknown_object))


def state_before_upgrade(inventory: TrackedInventory, findings: Sequence[Finding], *, hop: PathHop) -> TrackedInventory:
    """The state directly before the upgrade: after every fix whose effect is known."""
    work = HopWork(inventory, hop)
    work.fix_before_upgrade(findings)
    return work.inventory


def state_after_upgrade(inventory: TrackedInventory, findings: Sequence[Finding], *, hop: PathHop) -> TrackedInventory:
    """The state after the hop: after the upgrade and every fix whose effect is known."""
    work = HopWork(inventory, hop)
    work.upgrade(findings)
    return work.inventory


def changes_of(finding: Finding) -> list[Change]:
    """The changes of the remedies, each once: the remedies for different tools carry the same changes."""
    return list(dict.fromkeys(remedy.change for remedy in finding.remedies if remedy.change is not UNSET))
