"""The definition of an action: its purpose, the permissions it may use, and how it becomes steps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.actions.changes import ObjectTarget, RbacNeed, Risk
from migrations_app.actions.helm.request import HelmOperation, HelmProposal
from migrations_app.actions.plan import Forecast, RolloutLimits, Step
from migrations_app.errors import InvalidInput
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Part, Unseen
from migrations_app.karpenter.detection import DetectedRelease
from migrations_app.manifests import JsonMap


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """The input of a plan: a fresh inventory, the running release, and the complete objects of `Action.reads`."""

    inventory: Inventory
    running: DetectedRelease
    objects: Mapping[ObjectTarget, JsonMap]
    """By target without uid: the objects of `Action.reads` that exist."""
    now: str
    limits: RolloutLimits = field(default_factory=RolloutLimits)
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files fetched for the plan, such as the CRDs of a release, by name."""
    applied: tuple[Step, ...] = ()
    """For a rollback: the steps of the rollout that took effect, newest first."""
    unsettled: tuple[Step, ...] = ()
    """For a rollback: the steps of which nobody knows whether they took effect, newest first."""
    made: Mapping[str, str] = field(default_factory=dict)
    """The uid of the object that each of those steps created, by step id."""
    helm: HelmProposal | None = None
    """What helm would do, for an action with `needs_helm`; None where helm was not run, as in a rehearsal."""
    edits: tuple[tuple[str, str], ...] | None = None
    """For an action with `needs_edits`, the chart values that the hop changes: dotted keys with the new value as JSON,
    empty where the key is removed. None where the changes were not computed, as in a rehearsal."""


class Unavailable(InvalidInput):
    """The action cannot be offered for this cluster; the message is the reason shown at the disabled button."""

    code = "unavailable"


Parameters = Mapping[str, Any]
Prepare = Callable[[PlanningContext, Parameters], Iterable[Step]]
Forecaster = Callable[[PlanningContext, Parameters], Forecast]
Reads = Callable[[Inventory, Parameters], Iterable[ObjectTarget]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input of the user."""

    name: str
    question: str
    required: bool = True
    default: str | int | bool | None = None
    of: str = ""
    """The inventory part whose object names may be chosen; empty for free text or a number."""
    many: bool = False
    excludes: str = ""
    """The other parameter, whose objects this one may not name."""


@dataclass(slots=True)
class Action:
    """Declared once in each catalogue module as `action`; `prepare`, `forecasts` and `reads` are decorators.

    `may` lists the permissions that its requests may need. They are published in the ClusterRole, and a test compares
    them with the requests. `parts` are the inventory parts that must be read before the action is offered.
    """

    module: str
    title: str
    button: str
    """The effect as text, filled with counts: `Taint Provisioner {name} ({nodes} nodes)`."""
    why: str
    risk: Risk
    parts: tuple[str, ...]
    may: tuple[RbacNeed, ...]
    parameters: tuple[Parameter, ...] = ()
    hops: tuple[str, ...] = ("*",)
    typed: bool = False
    """The cluster's name must be typed before the plan is submitted."""
    sources: tuple[str, ...] = ()
    needs_chart: bool = False
    """The plan needs a chart: `source` and `release` select the chart, and `PlanningContext.files` holds its files."""
    needs_helm: HelmOperation | None = None
    """The plan needs the dry run of a real helm: `PlanningContext.helm`."""
    needs_edits: bool = False
    """The plan needs the changes of chart values that the hop asks for: `PlanningContext.edits`."""
    role: str = ""
    """The published role that has the permissions; empty: `karpdash-act`."""
    beside: bool = False
    """The action may run while another rollout or a journey of the cluster is paused."""
    _prepare: Prepare | None = None
    _forecaster: Forecaster | None = None
    _reads: Reads | None = None

    @property
    def id(self) -> str:
        return self.module.rpartition(".")[2]

    def prepare(self, function: Prepare) -> Prepare:
        """Decorator: the function yields Steps in order, or raises Unavailable with the reason."""
        self._prepare = function
        return function

    def forecasts(self, function: Forecaster) -> Forecaster:
        """Decorator: the function computes the forecast of the steps."""
        self._forecaster = function
        return function

    def reads(self, function: Reads) -> Reads:
        """Decorator: the function returns the complete objects that planning needs besides the inventory."""
        self._reads = function
        return function

    def objects_to_read(self, inventory: Inventory, parameters: Parameters) -> tuple[ObjectTarget, ...]:
        """The objects to read before planning; empty by default."""
        return tuple(self._reads(inventory, parameters)) if self._reads else ()

    def steps(self, context: PlanningContext, parameters: Parameters) -> tuple[Step, ...]:
        """Returns the steps, not yet numbered. Raises Unavailable, also if a required part was not read completely."""
        if self._prepare is None:
            raise TypeError(f"{self.module} prepares nothing")
        for name in self.parts:
            refuse_unread(context.inventory.part(name), name)
        all_steps = tuple(self._prepare(context, parameters))
        if not all_steps:
            raise Unavailable("there is nothing to do", code="nothing_to_do")
        return all_steps

    def forecast(self, context: PlanningContext, parameters: Parameters) -> Forecast:
        return self._forecaster(context, parameters) if self._forecaster else Forecast()


def refuse_unread(part: Part[object], name: str) -> None:
    """Raises Unavailable unless the part was read completely: no plan is made on partial knowledge."""
    if isinstance(part, Unseen):
        raise Unavailable(f"{name} could not be read: {part.why}", code="not_seen")
    if part.quarantined:
        raise Unavailable(f"{len(part.quarantined)} of {name} could not be read", code="not_seen")
