"""A plan: its steps in order, frozen, and identified by the digest of everything that is approved (A01-A04)."""

import hashlib
import unicodedata
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from migrations_app.actions.changes import RISKS, ActionValue, ObjectTarget, PlannedRequest, RbacNeed, Risk
from migrations_app.actions.conditions import Condition, Field, all_hold, content_digest, value_at
from migrations_app.actions.gate import Gate
from migrations_app.actions.running_controller import PlannedController
from migrations_app.errors import InvalidInput
from migrations_app.inventory.aws_facts.capacity_room import CapacityLine
from migrations_app.manifests import JsonMap

PLANNER_VERSION = 1
"""Incremented whenever the meaning of a plan changes: plans with another number are never executed."""
LIFETIME_SECONDS = 4 * 3600
MAX_STEPS = 2000


class ClusterIdentity(ActionValue, frozen=True):
    """The identity of a cluster, independent of its name (A05). `ca` is the fingerprint of its CA."""

    kube_system_uid: str
    ca: str
    endpoint: str


class RolloutLimits(ActionValue, frozen=True):
    """How much may be changed at once (A33)."""

    batch: int = 1
    per_hour: int = 60
    pool_percent: int = 10


class SourceObject(ActionValue, frozen=True):
    """An object that a request was computed from, other than the one it changes. `digest`: see `content_digest`."""

    target: ObjectTarget
    digest: str

    def difference(self, read: JsonMap | None) -> str:
        """How the object differs from the object that was read for the plan, as text; empty if it does not."""
        uid = str(value_at(read, ("metadata", "uid")) or "")
        if uid != self.target.uid:
            return f"{self.target.display_name} {'is gone' if read is None else 'was deleted and created again'}"
        return "" if content_digest(read) == self.digest else f"{self.target.display_name} was changed"


class EarlierResult(ActionValue, frozen=True):
    """What an earlier step brings, and a later one rests on: its object and what a read of it shows."""

    target: ObjectTarget
    conditions: tuple[Condition, ...]

    def difference(self, read: JsonMap | None) -> str:
        """That the object is not as the earlier step left it, as text; empty if it is."""
        if all_hold(self.conditions, read, uid=self.target.uid):
            return ""
        return f"{self.target.display_name} is not as an earlier step left it"


class ListLimit(ActionValue, frozen=True):
    """The most objects that one list may hold when a request is sent: those that its preview counted."""

    group: str
    version: str
    plural: str
    what: str
    """What is counted, as text in the plural, such as `nodes of Provisioner web`."""
    most: int = 0
    label_selector: str = ""

    def difference(self, count: int) -> str:
        """How many more there are than were previewed, as text; empty if there are not more."""
        return f"{self.what}: {count} now, {self.most} at the preview" if count > self.most else ""


_STORED_NAMES = {"preconditions": "rests_on", "postconditions": "brings", "undo_postconditions": "undo_brings"}
"""The names of these fields in stored plans, whose digests cover them."""


class Step(ActionValue, frozen=True, rename=_STORED_NAMES):
    """One request; with `change` None, a watch that only waits for the effect of earlier steps.

    `preconditions` are the fields that the decision depends on, `digest` is their digest at that time (empty: the
    preview sets it); `postconditions` is what a read can verify afterwards; `undo` reverts the change (None: nothing
    does); `after` must hold before the next step starts.
    """

    id: str
    title: str
    change: PlannedRequest | None = None
    preconditions: tuple[Field, ...] = ()
    digest: str = ""
    postconditions: tuple[Condition, ...] = ()
    undo: PlannedRequest | None = None
    undo_postconditions: tuple[Condition, ...] = ()
    risk: Risk = "low"
    skippable: bool = False
    after: Gate | None = None
    note: str = ""
    """A note for the approver: what cannot be undone, which pods restart."""
    manager: str = ""
    """The tool that manages the object and would revert a direct write: the approver accepts that explicitly."""
    computed_from: tuple[SourceObject, ...] = ()
    """The request is sent only while these objects are unchanged since it was computed."""
    at_most: tuple[ListLimit, ...] = ()
    """The request is sent only while these lists hold no more objects than the preview counted: it takes them along."""
    undo_after: Gate | None = None
    """What has to hold after the undo, as `after` does after the change."""
    earlier: tuple[EarlierResult, ...] = ()
    """The request is sent only while the results of these earlier steps are there: it takes away what they replace."""


class Forecast(ActionValue, frozen=True):
    """The effect in numbers; None if it could not be counted, `at_least` if a list was only partly read."""

    nodes: int | None = 0
    pods: int | None = 0
    pods_without_budget: int | None = 0
    blocked: tuple[str, ...] = ()
    """Budgets and annotations that will delay the steps, as text."""
    at_least: bool = False
    beside: tuple[str, ...] = ()
    """What Karpenter does by itself because of the steps, outside their batches, as text."""
    cannot_be_undone: tuple[str, ...] = ()
    capacity: tuple[CapacityLine, ...] | UnsetType = UNSET
    """What the new nodes need at the peak, compared with what is free; unset where no node is replaced, and in plans of
    older releases."""


class Plan(ActionValue, frozen=True):
    """Everything that is approved. The digest covers all of it except `made_at` and `expires_at`."""

    action: str
    title: str
    parameters: dict[str, Any]
    cluster: str
    identity: ClusterIdentity
    steps: tuple[Step, ...]
    limits: RolloutLimits
    forecast: Forecast
    author: str
    snapshot: str
    policy: int
    """Number of the cluster's policy under which the plan was made."""
    planner: int = PLANNER_VERSION
    made_at: str = ""
    expires_at: str = ""
    controllers: tuple[PlannedController, ...] | UnsetType = UNSET
    """The Deployments of the controller at the preview: nothing is sent once another release runs. Unset in plans of
    older releases and in rehearsals."""

    @property
    def risk(self) -> Risk:
        """The highest risk of its steps."""
        return max((step.risk for step in self.steps), key=RISKS.index, default="low")

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical text without volatile values (A03)."""
        lasting = msgspec.structs.replace(self, made_at="", expires_at="")
        return hashlib.sha256(canonical(lasting)).hexdigest()

    @property
    def needs(self) -> tuple[RbacNeed, ...]:
        """The permissions for its requests and their undo, each once."""
        changes = [change for step in self.steps for change in (step.change, step.undo) if change]
        return tuple(sorted({change.need for change in changes}))

    @property
    def changes_controller(self) -> bool:
        """Whether a step installs another release of the controller, or has it installed by a delivery."""
        gates = [step.after for step in self.steps if step.after is not None]
        return any(gate.controller is not None or gate.delivery is not None for gate in gates)

    @property
    def targets(self) -> tuple[ObjectTarget, ...]:
        """The objects that it changes, each once, in step order."""
        return tuple(dict.fromkeys(step.change.target for step in self.steps if step.change))


def canonical(value: object) -> bytes:
    """Canonical JSON: sorted keys, UTF-8 in NFC, no floats. Raises InvalidInput for a float, or two keys that are
    equal in NFC.
    """
    return msgspec.json.encode(_normal(msgspec.to_builtins(value, order="deterministic")), order="sorted")


def _normal(value: Any) -> Any:  # noqa: ANN401 - plain JSON
    if isinstance(value, float):
        raise InvalidInput("a plan holds no fractions", code="bad_plan", where="plan")
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        fields = {_normal(key): _normal(item) for key, item in value.items()}
        if len(fields) != len(value):
            raise InvalidInput("two keys are the same but for their spelling", code="bad_plan", where="plan")
        return fields
    return [_normal(item) for item in value] if isinstance(value, list | tuple) else value


def numbered(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps with ids by position: s001, s002, ... Raises InvalidInput if there are more than a plan may hold."""
    all_steps = tuple(steps)
    if len(all_steps) > MAX_STEPS:
        raise InvalidInput(f"more than {MAX_STEPS} steps", code="too_many_steps", where="plan")
    return tuple(msgspec.structs.replace(step, id=f"s{number:03d}") for number, step in enumerate(all_steps, 1))


def stored_digest(raw: bytes) -> str:
    """The digest of a stored plan: fields that later releases removed are included, because they were approved."""
    lasting = msgspec.json.decode(raw, type=dict[str, Any]) | {"made_at": "", "expires_at": ""}
    return hashlib.sha256(canonical(lasting)).hexdigest()
