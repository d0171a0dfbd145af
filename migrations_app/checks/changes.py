"""Types for what a fix does: one for each kind of change, with its target, its time and its undo.

No text for tools belongs here: `checks/render` has one module per tool that writes the commands.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from migrations_app.karpenter.versions import parse
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_undo, merge_patched, under_patch

ChangeTime = Literal["before", "landing", "after", "person"]
"""When a change is made: before the upgrade of the hop, together with it (`landing`), after it, or once a `person` has
filled something in."""
Propagation = Literal["background", "foreground", "orphan"]


class ChangeTarget(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is changed. `resource` is what kubectl calls the kind, for objects of Kubernetes; `name` is as it is."""

    kind: str
    name: str
    namespace: str = ""
    resource: str = ""


class ChangeBase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """The fields of every change. Changes are compared by content and hashable, although they hold JSON."""

    when: ChangeTime = "before"
    what: str = ""
    """What the change does, in a few words that begin with a verb; if a tool manages the object, what to do in its
    source."""
    notes: tuple[str, ...] = ()
    """What to read before the change is made; written as comments before the command."""
    needs: tuple[str, ...] = ()
    """Ids of checks that have to pass first."""
    undo: "Change | None" = None
    final: str = ""
    """If `undo` is None: why the change cannot be undone. Both are empty if no undo is known."""
    done: str = ""
    """What the cluster or AWS shows after the change."""

    def __hash__(self) -> int:
        return hash(msgspec.json.encode(self, order="deterministic"))


class HelmValue(msgspec.Struct, frozen=True):
    """One value of a chart. `key` is a dotted Helm key; `text` is the value as JSON, empty for one to be removed."""

    key: str
    text: str = ""
    why: str = ""


class HelmChange(ChangeBase, frozen=True, kw_only=True, tag="helm"):
    """The changes of one Helm release. `version` is the Karpenter release that the chart is upgraded to; empty if the
    version stays, or if the upgrade of the hop installs it. With the chart of the CRDs and a version it is the upgrade
    of the CRDs.
    """

    chart: str
    release: str
    namespace: str
    why: str = ""
    version: str = ""
    values: tuple[HelmValue, ...] = ()

    @property
    def target(self) -> ChangeTarget:
        """The Helm release; its kind is not a kind of Kubernetes."""
        return ChangeTarget("Release", self.release, self.namespace)

    @property
    def given(self) -> Mapping[str, str]:
        """Each key with its value as JSON, in the form that `yaml_of` takes."""
        return {helm_value.key: helm_value.text for helm_value in self.values}

    def reaches(self, target_release: str) -> bool:
        """Whether the change needs the target version of the hop, or a later one: the upgrade of the hop itself
        installs that."""
        release, target = parse(self.version), parse(target_release)
        return release is not None and target is not None and release >= target


class ObjectPatch(ChangeBase, frozen=True, kw_only=True, tag="patch"):
    """A patch of one object: a map is a merge patch (null removes a field), a list a JSON patch (RFC 6902)."""

    target: ChangeTarget
    body: JsonMap | tuple[JsonMap, ...]
    subresource: str = ""
    seen: JsonMap | None = None
    """For a merge patch: what the scan saw at the fields that it changes, without those that were missing. The lines
    for kubectl are refused if the object has something else there by then. None if it was not read."""
    guard: tuple[tuple[str, ...], ...] = ()
    """Read-only programs, piped into each other: the patch is made only if the last one succeeds. Empty if nothing has
    to be checked first."""


class ObjectApply(ChangeBase, frozen=True, kw_only=True, tag="apply"):
    """A complete object, created or changed to what `manifest` says."""

    manifest: JsonMap

    @property
    def target(self) -> ChangeTarget:
        metadata = self.manifest.get("metadata", {})
        return ChangeTarget(self.manifest.get("kind", ""), metadata.get("name", ""), metadata.get("namespace", ""))


class ObjectDelete(ChangeBase, frozen=True, kw_only=True, tag="delete"):
    """The deletion of one object. `finalizers` says which finalizer holds it, and until when; empty if none does.

    `alone`: it has to be gone before the next object is deleted. `guard` is that of a patch.
    """

    target: ChangeTarget
    propagation: Propagation = "background"
    finalizers: str = ""
    alone: bool = False
    guard: tuple[tuple[str, ...], ...] = ()


class ObjectLabels(ChangeBase, frozen=True, kw_only=True, tag="labels"):
    """Labels of one object: those that are set, and the keys that are removed."""

    target: ChangeTarget
    given: dict[str, str] = {}
    removed: tuple[str, ...] = ()


class ObjectAnnotations(ChangeBase, frozen=True, kw_only=True, tag="annotations"):
    """Annotations of one object: those that are set, and the keys that are removed. `guard` is that of a patch."""

    target: ChangeTarget
    given: dict[str, str] = {}
    removed: tuple[str, ...] = ()
    guard: tuple[tuple[str, ...], ...] = ()


class NodeTaint(ChangeBase, frozen=True, kw_only=True, tag="taint"):
    """A taint added to a node, or removed if `removed` is set; without an effect every taint of that key is removed."""

    target: ChangeTarget
    key: str
    value: str = ""
    effect: str = ""
    removed: bool = False


class QueryRename(ChangeBase, frozen=True, kw_only=True, tag="rename"):
    """New names of metrics in the queries of one object (a rule of Prometheus, a monitor or a ConfigMap of dashboards):
    old name to new name, each the full name of a metric.
    """

    target: ChangeTarget
    names: dict[str, str]


class DeliveryPause(ChangeBase, frozen=True, kw_only=True, tag="pause"):
    """Stops the automatic reconciliation of a Kustomization or HelmRelease of Flux, or an Application of Argo CD."""

    target: ChangeTarget


class DeliveryResume(ChangeBase, frozen=True, kw_only=True, tag="resume"):
    """Resumes a paused delivery; an Application gets back its former `syncPolicy.automated`."""

    target: ChangeTarget
    prune: bool = False
    self_heal: bool = False


class IamStatements(ChangeBase, frozen=True, kw_only=True, tag="iam"):
    """Statements that a role gets in a separate policy, or loses if `removed` is set: in a managed policy, or in an
    inline policy if `inline` is set.
    """

    role: str
    """The ARN of the role; empty for the controller's role if its ARN is unknown: then a person attaches the policy."""
    policy: str
    """The name of the policy."""
    statements: tuple[JsonMap, ...]
    inline: bool = False
    removed: bool = False

    @property
    def target(self) -> ChangeTarget:
        return ChangeTarget("Role", self.role)


class AwsCall(ChangeBase, frozen=True, kw_only=True, tag="aws"):
    """One call of AWS that changes something: service and operation as the aws program spells them, and its words."""

    service: str
    operation: str
    words: tuple[str, ...] = ()

    @property
    def target(self) -> ChangeTarget:
        return ChangeTarget(self.service, self.operation)


class KarpdashAction(ChangeBase, frozen=True, kw_only=True, tag="action"):
    """An action of karpdash with what is chosen for it."""

    action: str
    choices: dict[str, str] = {}

    @property
    def target(self) -> ChangeTarget:
        return ChangeTarget("Action", self.action)


class PersonTask(ChangeBase, frozen=True, kw_only=True, tag="person"):
    """What only a person can do. `why` says why no command can, `where` where to look; with a target of Kubernetes the
    object is opened in an editor, or `pipe` prints what is needed for it."""

    target: ChangeTarget | None = None
    why: str = ""
    where: str = ""
    pipe: tuple[tuple[str, ...], ...] = ()
    """Read-only programs, piped into each other."""
    aws: bool = False
    """Whether the task is done in AWS and not in the cluster or a repository."""


class Observation(ChangeBase, frozen=True, kw_only=True, tag="observe"):
    """A command that only reads: it changes nothing and proves nothing. Several programs are piped into each other;
    `into` is the file that takes what the last one prints; the time of the run is added to its name."""

    pipe: tuple[tuple[str, ...], ...]
    into: str = ""

    @property
    def target(self) -> None:
        return None


class ChangeGroup(ChangeBase, frozen=True, kw_only=True, tag="group"):
    """Changes that make one fix together, in this order."""

    steps: tuple["Change", ...]

    @property
    def target(self) -> ChangeTarget | None:
        """The target of the first step that has one."""
        return next((step.target for step in self.steps if step.target is not None), None)


Change: TypeAlias = (
    HelmChange
    | ObjectPatch
    | ObjectApply
    | ObjectDelete
    | ObjectLabels
    | ObjectAnnotations
    | NodeTaint
    | QueryRename
    | DeliveryPause
    | DeliveryResume
    | IamStatements
    | AwsCall
    | KarpdashAction
    | PersonTask
    | Observation
    | ChangeGroup
)


def leaves(change: Change) -> Iterator[Change]:
    """The change itself, or for a group the changes inside it, nested groups included."""
    if isinstance(change, ChangeGroup):
        for step in change.steps:
            yield from leaves(step)
    else:
        yield change


def group(*steps: Change, what: str = "", notes: tuple[str, ...] = ()) -> Change:
    """One change of all steps; a single step is returned unchanged if there are neither `what` nor `notes`. The group
    has the latest time and all needs of its steps. Raises ValueError if there are no steps."""
    if not steps:
        raise ValueError("a change changes something")
    if len(steps) == 1 and not what and not notes:
        return steps[0]
    order: tuple[ChangeTime, ...] = ("person", "before", "landing", "after")
    when = max((step.when for step in steps), key=order.index)
    needs = tuple(dict.fromkeys(name for step in steps for name in step.needs))
    return ChangeGroup(steps=steps, what=what, notes=notes, when=when, needs=needs)


def seen_patch(
    target: ChangeTarget, body: JsonMap, *, tree: JsonMap, done: str, undo_when: ChangeTime = "before"
) -> ObjectPatch:
    """The merge patch of an object that was read, with its undo; `tree` is the object, as far as the patch changes
    it."""
    patch = ObjectPatch(target=target, body=body, done=done)
    return with_seen(patch, tree, undo_when=undo_when)


def with_seen(patch: ObjectPatch, tree: JsonMap, *, undo_when: ChangeTime | None = None) -> ObjectPatch:
    """The patch with what was seen, and with its undo; unchanged if it is a JSON patch, which has its own tests. The
    undo has the time of the patch, if none is given."""
    if not isinstance(patch.body, dict):
        return patch
    undo_body, after = merge_patch_undo(patch.body, tree), merge_patched(tree, patch.body)
    undo = replace(patch, body=undo_body, seen=under_patch(undo_body, after), done="", notes=())
    undo = replace(undo, when=undo_when or patch.when)
    return replace(patch, seen=under_patch(patch.body, tree), undo=undo)
