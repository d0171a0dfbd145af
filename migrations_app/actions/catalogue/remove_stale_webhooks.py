"""Deletes admission webhooks of Karpenter that the running release no longer ships. Each deletion can be undone."""

from collections.abc import Iterator

import msgspec

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, RbacNeed, creation, deletion
from migrations_app.actions.conditions import Deleted, Exists
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.crds import release_for
from migrations_app.actions.targets.pools import reverting_tool
from migrations_app.actions.undo import restorable
from migrations_app.inventory.facts.controller import installation
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import WebhookConfiguration
from migrations_app.karpenter import kinds
from migrations_app.karpenter.release_facts import admission_row, admits
from migrations_app.karpenter.versions import Release
from migrations_app.manifests import JsonMap

ROWS = (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS)
RELEASE = "release"

action = Action(
    __name__,
    title="Delete orphaned admission webhooks",
    button="Delete {count} orphaned admission webhooks",
    why="They fail closed: every write to pools, claims and node classes is refused while nobody answers them.",
    risk="high",
    parts=("webhooks", "controller"),
    parameters=(Parameter(RELEASE, "Release (default: the running one). A journey plans so ahead of it", False, ""),),
    may=tuple(RbacNeed(verb=verb, group=row.group, plural=row.plural) for row in ROWS for verb in ("create", "delete")),
    sources=(
        "aws/karpenter-provider-aws@v0.37.8:charts/karpenter/templates/webhooks.yaml",
        "aws/karpenter-provider-aws#6982",
    ),
)


@action.reads
def reads(inventory: Inventory, _parameters: Parameters) -> Iterator[ObjectTarget]:
    return (_target(configuration) for configuration in _ours(inventory))


@action.prepare
def prepare(context: PlanningContext, parameters: Parameters) -> Iterator[Step]:
    running = context.running.release
    if running is None:
        raise Unavailable(
            "the running release is not known, so its webhooks are not known either", code="unknown_release"
        )
    release, off = release_for(context, parameters) if parameters.get(RELEASE) else running, _webhooks_off(context)
    for configuration in _ours(context.inventory):
        read = context.objects.get(_target(configuration))
        if read is not None and _is_stale(configuration, release, webhooks_off=off):
            yield _delete(configuration, read, release=release, running=running)


def _ours(inventory: Inventory) -> Iterator[WebhookConfiguration]:
    """The configurations that some Karpenter chart shipped; configurations created by users are left out."""
    return (webhook for webhook in inventory.webhooks.items if admission_row(webhook.name) is not None)


def _webhooks_off(context: PlanningContext) -> bool:
    controller = installation(context.inventory)
    return controller is not None and controller.webhook_disabled


def _is_stale(configuration: WebhookConfiguration, release: Release, *, webhooks_off: bool) -> bool:
    """Whether that release does not serve the webhook; False if the tables do not know the release."""
    row, answers = admission_row(configuration.name), admits(release, webhooks_off=webhooks_off)
    return row is not None and answers is not None and not (answers and row.shipped_by(release))


def _target(configuration: WebhookConfiguration, uid: str = "") -> ObjectTarget:
    row = next(row for row in ROWS if row.kind == configuration.kind)
    return ObjectTarget(row.group, row.versions[0], row.plural, row.kind, configuration.name, uid=uid)


def _delete(configuration: WebhookConfiguration, read: JsonMap, *, release: Release, running: Release) -> Step:
    ahead = "" if release == running else f"{running} runs: delete it only once {release} runs. "
    target = _target(configuration, configuration.metadata.uid or "")
    return Step(
        id="",
        title=f"Delete {target.display_name}",
        change=deletion(target),
        preconditions=(("webhooks",),),
        postconditions=(Deleted(),),
        undo=creation(msgspec.structs.replace(target, uid=""), restorable(read)),
        undo_postconditions=(Exists(),),
        risk="high",
        manager=reverting_tool(configuration.metadata),
        note=f"{ahead}{release} does not answer it. Its undo creates it again as it was, and it refuses writes again.",
    )
