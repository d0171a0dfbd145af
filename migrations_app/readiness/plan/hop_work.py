"""The work of one hop, made by its effects: the fixes before the landing, the landing, and the fixes after it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import UNSET

from migrations_app.checks.base import Finding
from migrations_app.checks.changes import Change, HelmChange, KarpdashAction
from migrations_app.checks.remedies.successors import CONVERTS
from migrations_app.inventory.inventory import AWS_PREFIX, Inventory, NotingInventory, noting
from migrations_app.inventory.parts import AHEAD, Seen, UnparsableObject, Unseen
from migrations_app.karpenter.upgrade_path import PathHop
from migrations_app.readiness.plan.effects.effect import after_all
from migrations_app.readiness.plan.effects.landing import landed
from migrations_app.readiness.plan.effects.not_shown import NotShown
from migrations_app.readiness.plan.effects.places import with_parts
from migrations_app.readiness.plan.effects.succession import succeeded
from migrations_app.readiness.plan.work_order import HOLDS, Part, by_work, in_turn, parts_of, taken_back

CLAIMS = ("machines", "nodeclaims")
REPLACED = ("nodeclaims", "aws.instances")
"""Parts that nobody knows once nodes are replaced."""
SUCCESSORS = ("nodepools", "ec2nodeclasses")
"""Parts that nobody knows once a person has made them."""
FIRST_WITHOUT_ALPHA = "0.33"
PREDECESSORS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("provisioners", "awsnodetemplates"), SUCCESSORS),
    (("machines",), REPLACED),
)
"""Parts whose objects are made anew before that minor, and what they become. Where they were not seen there will be
more than was seen: what fails among the others is certain, and nothing passes."""
_ASKS = ("fail", "manual")


@dataclass(frozen=True, slots=True)
class MadeFix:
    """One fix of a hop, or a part of it: the check that asked for it, and the state after it. `whole`: each of its
    changes has an effect that was shown."""

    check: str
    after: NotingInventory
    whole: bool


@dataclass(slots=True)
class HopWork:
    """Makes the fixes of a hop one after the other, each change once. `inventory` is the state reached."""

    inventory: NotingInventory
    step: PathHop
    fixes: list[MadeFix] = field(default_factory=list)
    """What was made before the landing, in order."""
    changed: frozenset[str] = frozenset()
    """The fields of the inventory that `prepare` changed last."""
    _landing: list[HelmChange] = field(default_factory=list)
    """Changes of values that the landing makes."""
    _done: set[Change] = field(default_factory=set)
    """Changes that are made: another finding may ask for the same one."""
    _tried: set[tuple[str, Change]] = field(default_factory=set)
    """Changes by the check that asked for them, made or not: the next round does not try them again."""

    def prepare(self, findings: Sequence[Finding]) -> None:
        """What stands before the landing or is given with it, but for what is held over it."""
        self.changed = frozenset()
        self._make_parts(
            [finding for finding in findings if finding.id not in HOLDS], findings, parts=("before", "land")
        )

    def make_ready(self, findings: Sequence[Finding]) -> None:
        """What stands before the landing, without what is given with it."""
        self._make_parts(findings, findings, parts=("before",))

    def land(self, findings: Sequence[Finding]) -> None:
        """What is held over the landing, the landing with its values, and the work after it. Blockers are cleared
        before a hop lands, whoever does it, so what waits for another fix is made after it, even if that has no effect
        to show."""
        self.prepare(findings)
        self._make_parts([finding for finding in findings if finding.id in HOLDS], findings, parts=("before", "land"))
        self._take(landed(self.inventory, self.step.release, values=self._landing))
        for change in taken_back(findings):
            self._make([change])
        self._make_parts(findings, findings, parts=("after",))
        if FIRST_WITHOUT_ALPHA in self.step.entered:
            for before, after in PREDECESSORS:
                unread = [name for name in before if isinstance(self.inventory.part(name), Unseen)]
                if unread:
                    self._take(self._doubted(after, unread=unread[0]))

    def _make_parts(self, mine: Iterable[Finding], every: Sequence[Finding], *, parts: tuple[Part, ...]) -> None:
        part = parts_of(every, release=str(self.step.release))
        order = in_turn(sorted((candidate for candidate in mine if candidate.status in _ASKS), key=by_work))
        for here in parts:
            for finding in (candidate for candidate in order if part[candidate.id] == here):
                self._fix(finding)

    def _fix(self, finding: Finding) -> None:
        changes = [
            change
            for change in changes_of(finding)
            if change not in self._done and (finding.id, change) not in self._tried
        ]
        self._tried.update((finding.id, change) for change in changes)
        with_landing = [change for change in changes if isinstance(change, HelmChange) and self._lands(change)]
        self._landing += with_landing
        self._done.update(with_landing)
        now = [change for change in changes if change not in with_landing]
        if now:
            every_effect = self._make(now)
            self.fixes.append(MadeFix(finding.id, self.inventory, whole=every_effect and not with_landing))

    def _lands(self, change: HelmChange) -> bool:
        return change.when == "landing" or change.reaches(str(self.step.release))

    def _make(self, changes: list[Change]) -> bool:
        """Whether the effect of these changes was shown."""
        converts = [change for change in changes if isinstance(change, KarpdashAction) and change.action == CONVERTS]
        if converts:
            with_successors = succeeded(self.inventory)
            self._take(self._ahead(SUCCESSORS) if isinstance(with_successors, NotShown) else with_successors)
        after = after_all(self.inventory, (change for change in changes if change not in converts))
        if isinstance(after, NotShown):
            return False
        self._done.update(changes)
        replaced = any(len(after.part(name).items) < len(self.inventory.part(name).items) for name in CLAIMS)
        self._take(after)
        if replaced:
            self._take(self._ahead(REPLACED))
        return not converts

    def _take(self, after: Inventory) -> None:
        """Goes on with that state, and with every fact that it leaves as it was."""
        reached = noting(after)
        self.changed |= reached.after(self.inventory)
        self.inventory = reached

    def _ahead(self, names: Sequence[str]) -> Inventory:
        """With these parts as what nobody knows before the hop is done."""
        unseen = Unseen(AHEAD, self.step.hop)
        aws = self.inventory.aws
        if "aws.instances" in names and isinstance(aws.instances, Seen):
            aws = replace(aws, instances=unseen)
        own = {name: unseen for name in names if not name.startswith(AWS_PREFIX)}
        return with_parts(replace(self.inventory, aws=aws), own)

    def _doubted(self, names: Sequence[str], *, unread: str) -> Inventory:
        """With these parts as read but for what the unread part becomes."""
        subject = f"what the unread {unread} become"
        more = UnparsableObject("", "", subject, f"hop {self.step.hop}", "its predecessors were not read")
        aws = self.inventory.aws
        if "aws.instances" in names and isinstance(aws.instances, Seen):
            aws = replace(aws, instances=_with_unread(aws.instances, more))
        own = {name: self.inventory.part(name) for name in names if not name.startswith(AWS_PREFIX)}
        doubted = {name: _with_unread(part, more) for name, part in own.items() if isinstance(part, Seen)}
        return with_parts(replace(self.inventory, aws=aws), doubted)


def _with_unread(part: Seen[Any], more: UnparsableObject) -> Seen[Any]:
    return replace(part, quarantined=(*part.quarantined, more))


def ready_to_land(inventory: NotingInventory, findings: Sequence[Finding], *, step: PathHop) -> NotingInventory:
    """The state after every fix before the landing whose effect can be told."""
    work = HopWork(inventory, step)
    work.make_ready(findings)
    return work.inventory


def landed_after(inventory: NotingInventory, findings: Sequence[Finding], *, step: PathHop) -> NotingInventory:
    """The state after every fix whose effect can be told, and the landing of the step."""
    work = HopWork(inventory, step)
    work.land(findings)
    return work.inventory


def changes_of(finding: Finding) -> list[Change]:
    """Each change of the remedies once: those of all tools carry the same ones."""
    return list(dict.fromkeys(remedy.change for remedy in finding.remedies if remedy.change is not UNSET))
