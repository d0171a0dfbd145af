"""A plan: its steps in order, frozen, and addressed by the digest of everything a person approves (A01-A04)."""

import hashlib
import unicodedata
from collections.abc import Iterable
from typing import Any

import msgspec

from migrations_app.actions.changes import RISKS, ActionValue, Change, ObjectTarget, RbacNeed, Risk
from migrations_app.actions.conditions import Condition, Field
from migrations_app.actions.gate import Gate
from migrations_app.errors import InvalidInput

PLANNER = 1
"""Grows with every change of what a plan means: plans of another number are never carried out."""
LIFETIME_SECONDS = 4 * 3600
MOST_STEPS = 2000


class ClusterIdentity(ActionValue, frozen=True):
    """Which cluster it is, whatever its name says (A05). `ca` is the fingerprint of the CA it proves itself with."""

    kube_system_uid: str
    ca: str
    endpoint: str


class RolloutLimits(ActionValue, frozen=True):
    """How much may be done at once (A33)."""

    batch: int = 1
    per_hour: int = 60
    pool_percent: int = 10


class Step(ActionValue, frozen=True):
    """One request, or with `change` None a watch over what earlier ones set going.

    `rests_on` are the fields the decision rests on and `digest` what they were when it was taken (empty: at preview);
    `brings` is what a read can check afterwards; `undo` takes it back, None: nothing does; `after` has to be true
    before the next step begins.
    """

    id: str
    title: str
    change: Change | None = None
    rests_on: tuple[Field, ...] = ()
    digest: str = ""
    brings: tuple[Condition, ...] = ()
    undo: Change | None = None
    undo_brings: tuple[Condition, ...] = ()
    risk: Risk = "low"
    skippable: bool = False
    after: Gate | None = None
    note: str = ""
    """What a person should know of it: what cannot be undone, which pods restart."""
    manager: str = ""
    """Who keeps the object, where a direct write would be reverted: the approver accepts that by name."""


class Forecast(ActionValue, frozen=True):
    """What it will mean, in numbers; None where it could not be counted, `at_least` where a list was read in part."""

    nodes: int | None = 0
    pods: int | None = 0
    pods_without_budget: int | None = 0
    blocked: tuple[str, ...] = ()
    """Budgets and marks that will hold it up, in words."""
    at_least: bool = False
    cannot_be_undone: tuple[str, ...] = ()


class Plan(ActionValue, frozen=True):
    """Everything that is approved. The digest covers all of it but the moment it was made and when it ends."""

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
    """Number of the cluster's policy that it was made under."""
    planner: int = PLANNER
    made_at: str = ""
    expires_at: str = ""

    @property
    def risk(self) -> Risk:
        """The highest risk of its steps."""
        return max((step.risk for step in self.steps), key=RISKS.index, default="low")

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical text without volatile values (A03)."""
        lasting = msgspec.structs.replace(self, made_at="", expires_at="")
        return hashlib.sha256(canonical(lasting)).hexdigest()

    @property
    def needs(self) -> tuple[RbacNeed, ...]:
        """The rights that its requests and their undoing ask for, each once."""
        changes = [change for step in self.steps for change in (step.change, step.undo) if change]
        return tuple(sorted({change.need for change in changes}))

    @property
    def targets(self) -> tuple[ObjectTarget, ...]:
        """The objects it touches, each once, in the order of the steps."""
        return tuple(dict.fromkeys(step.change.target for step in self.steps if step.change))


def canonical(value: object) -> bytes:
    """Canonical JSON: sorted keys, UTF-8 in NFC, no floats. Raises BadInput for a float or two keys that NFC joins."""
    return msgspec.json.encode(_normal(msgspec.to_builtins(value, order="deterministic")), order="sorted")


def _normal(value: Any) -> Any:  # noqa: ANN401 - plain JSON
    if isinstance(value, float):
        raise InvalidInput("a plan holds no fractions", code="bad_plan", where="plan")
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        found = {_normal(key): _normal(item) for key, item in value.items()}
        if len(found) != len(value):
            raise InvalidInput("two keys are the same but for their spelling", code="bad_plan", where="plan")
        return found
    return [_normal(item) for item in value] if isinstance(value, list | tuple) else value


def numbered(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps with ids by their place: s001, s002, ... Raises BadInput for more than a plan may hold."""
    found = tuple(steps)
    if len(found) > MOST_STEPS:
        raise InvalidInput(f"more than {MOST_STEPS} steps", code="too_many_steps", where="plan")
    return tuple(msgspec.structs.replace(step, id=f"s{number:03d}") for number, step in enumerate(found, 1))


def stored_digest(raw: bytes) -> str:
    """The digest of a plan as it is stored: fields that later releases took out count, for they were approved."""
    lasting = msgspec.json.decode(raw, type=dict[str, Any]) | {"made_at": "", "expires_at": ""}
    return hashlib.sha256(canonical(lasting)).hexdigest()
