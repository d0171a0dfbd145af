"""The page to create a rollout: an action's parameters as form fields, with objects of the newest snapshot as
choices.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from migrations_app.actions.base import Action, Parameter
from migrations_app.actions.registry import find
from migrations_app.actions.targets.nodes import ALPHA
from migrations_app.errors import Conflict, InvalidInput, KarpdashError, NotFound, PermissionDenied
from migrations_app.manifests.natural_order import natural
from migrations_app.queries.clusters.detail import ClusterHead, cluster_head, nodes_of
from migrations_app.queries.rollouts.detail import rollout_detail
from migrations_app.queries.rollouts.policies import policy_row
from migrations_app.queries.rollouts.rollouts import holder_of
from migrations_app.readiness.rbac.roles import PART_KINDS
from migrations_app.tasks import enqueue_rollout, prepare_rollout
from migrations_app.texts import text as _
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.rollouts.drafts import ROLL_BACK, RolloutRequest, draft
from migrations_app.use_cases.scans.store import kept_objects
from migrations_app.web.access import OPERATE, person_of, require_right, uuid_in
from migrations_app.web.command_forms import refusal_status
from migrations_app.web.double_submit import form_key, submit_once
from migrations_app.web.rollouts.node_table import NODES, karpenter_nodes, node_table, pool_of

FieldKind = Literal["check", "number", "text", "lines", "one", "several"]
PARTS = ("provisioners", "nodepools", "awsnodetemplates", "ec2nodeclasses")
"""Parts of the inventory whose objects are stored with the newest snapshot."""
MAX_OPTIONS = 500
LONGEST_NUMBER = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One object that can be chosen; `note` is an addition such as its number of nodes."""

    name: str
    note: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One form field. `text` is the value of a text field; `problem` says why the submitted value is invalid."""

    name: str
    question: str
    kind: FieldKind
    required: bool
    options: tuple[Option, ...] = ()
    text: str = ""
    checked: bool = False
    problem: str = ""
    most: int = 0
    """The largest number that the policy allows; 0 without a limit."""


def choices(
    action: Action,
    *,
    objects: Mapping[str, Sequence[Option]],
    form: QueryDict | None,
    problems: Mapping[str, str],
    limits: Mapping[str, int] | None = None,
) -> tuple[Choice, ...]:
    """Returns the form fields of the action; parameters for nodes are left out if nodes are known, as they have a
    table.

    `form` is the submitted form or an earlier choice; None for a new form.
    """
    parameters = (parameter for parameter in action.parameters if not (parameter.of == NODES and objects.get(NODES)))
    fields = (
        _choice(parameter, objects, form=form, problem=problems.get(parameter.name, "")) for parameter in parameters
    )
    most = limits or {}
    return tuple(
        replace(choice, kind="number", most=most[choice.name]) if choice.name in most else choice for choice in fields
    )


def earlier_choices(rollout_id: uuid.UUID | None, *, cluster_id: uuid.UUID, action: str) -> QueryDict | None:
    """Returns the parameters of an earlier rollout of that cluster and action as a form; None if there is none."""
    if rollout_id is None:
        return None
    try:
        detail = rollout_detail(rollout_id)
    except NotFound:
        return None
    if detail.row.cluster != cluster_id or detail.row.action != action:
        return None
    form = QueryDict(mutable=True)
    for name, value in detail.parameters.items():
        texts = [str(item) for item in value] if isinstance(value, list) else ["on" if value is True else str(value)]
        if value is not False:
            form.setlist(name, texts)
    return form


def known_objects(cluster_id: uuid.UUID, snapshot_id: uuid.UUID | None) -> dict[str, tuple[Option, ...]]:
    """Returns the objects to choose from, by data source; empty for a cluster that was never scanned."""
    if snapshot_id is None:
        return {}
    nodes = nodes_of(snapshot_id)
    objects = kept_objects(cluster_id) or ()
    sizes = Counter(("provisioners" if node.owner == ALPHA else "nodepools", node.pool) for node in nodes if node.pool)
    options = {part: _options_of(objects, PART_KINDS[part][0].kind, sizes=_of_part(sizes, part)) for part in PARTS}
    owned = karpenter_nodes(nodes)
    options[NODES] = tuple(Option(name=node.name, note=node.pool) for node in owned[:MAX_OPTIONS])
    pools = Counter(pool for node in owned if (pool := pool_of(node)))
    options["pools"] = tuple(
        Option(name=pool, note=_nodes(pools[pool])) for pool in sorted(pools, key=natural)[:MAX_OPTIONS]
    )
    return options


def read_choices(action: Action, form: QueryDict) -> dict[str, Any]:
    """Returns the submitted values in the types that the action expects. The use case decides whether they are
    valid.
    """
    values: dict[str, Any] = {}
    for parameter in action.parameters:
        value = _value(parameter, form)
        if value not in (None, "", []):
            values[parameter.name] = value
    return values


def _value(parameter: Parameter, form: QueryDict) -> Any:  # noqa: ANN401 - a text, number, switch or list of names
    if isinstance(parameter.default, bool):
        return form.get(parameter.name) in ("on", "true", "1")
    if parameter.many:
        texts = form.getlist(parameter.name)
        return [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    text = form.get(parameter.name, "").strip()
    numeric = not parameter.of and not isinstance(parameter.default, str)
    return int(text) if numeric and text.isdecimal() and len(text) <= LONGEST_NUMBER else text


def _choice(
    parameter: Parameter, objects: Mapping[str, Sequence[Option]], *, form: QueryDict | None, problem: str
) -> Choice:
    values = form.getlist(parameter.name) if form is not None and parameter.name in form else None
    options = tuple(
        Option(name=option.name, note=option.note, chosen=bool(values) and option.name in (values or ()))
        for option in objects.get(parameter.of or parameter.name, ())
    )
    kind = _kind(parameter, bool(options))
    default = "" if parameter.default is None or isinstance(parameter.default, bool) else str(parameter.default)
    checked = bool(parameter.default) if form is None else bool(values)
    return Choice(
        name=parameter.name,
        question=parameter.question,
        kind=kind,
        required=parameter.required,
        options=options,
        text="\n".join(values) if values is not None else default,
        checked=checked,
        problem=problem,
    )


def _kind(parameter: Parameter, has_options: bool) -> FieldKind:
    if isinstance(parameter.default, bool):
        return "check"
    if parameter.many:
        return "several" if has_options else "lines"
    if has_options:
        return "one"
    return "number" if isinstance(parameter.default, int) else "text"


def _of_part(sizes: Mapping[tuple[str, str], int], part: str) -> dict[str, int]:
    """Returns the number of nodes by the name of their pool; a Provisioner and a NodePool of one name are counted
    apart.
    """
    return {name: count for (owner, name), count in sizes.items() if owner == part}


def _options_of(objects: Iterable[dict[str, Any]], kind: str, *, sizes: Mapping[str, int]) -> tuple[Option, ...]:
    names = {
        str(document.get("metadata", {}).get("name", "")) for document in objects if document.get("kind") == kind
    } - {""}
    return tuple(
        Option(name=name, note=_nodes(count) if (count := sizes.get(name, 0)) else "")
        for name in sorted(names, key=natural)[:MAX_OPTIONS]
    )


def _nodes(count: int) -> str:
    return f"{count} node{'s' * (count != 1)}"


@require_right(*OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The form for one action; a POST creates the draft."""
    head = cluster_head(cluster_id, now=timezone.now())
    action = find(request.GET.get("action", ""))
    if action is None or action.id == ROLL_BACK:
        raise Http404("no such action")
    if request.method != "POST":
        return _form(request, head, action=action)
    try:
        return submit_once(partial(_create_draft, head=head, action=action))(request)  # type: ignore[return-value]  # a redirect
    except (InvalidInput, Conflict, PermissionDenied) as refused:
        return _form(request, head, action=action, refused=refused)


def _create_draft(request: HttpRequest, /, *, head: ClusterHead, action: Action) -> HttpResponse:
    rollout_request = RolloutRequest(
        action=action.id,
        parameters=read_choices(action, request.POST),
        ticket=request.POST.get("ticket", "").strip(),
        note=request.POST.get("note", "").strip(),
    )
    _refuse_beyond(rollout_request.parameters, most=policy_row(head.id).batch)
    rollout_id = draft(head.id, rollout_request, by=actor(), person=person_of(request))
    transaction.on_commit(partial(enqueue_rollout, rollout_id, prepare_rollout))
    return redirect("rollout", rollout_id)


def _refuse_beyond(parameters: Mapping[str, Any], *, most: int) -> None:
    """Raises InvalidInput for a batch size above the policy's limit, which the preview would refuse a minute later."""
    batch = parameters.get("batch")
    if batch is not None and not (isinstance(batch, int) and 1 <= batch <= most):
        raise InvalidInput(_("a whole number from 1 to {most}").format(most=most), where="batch", code="bad_parameter")


def _form(
    request: HttpRequest, head: ClusterHead, *, action: Action, refused: KarpdashError | None = None
) -> HttpResponse:
    problems = {refused.where: refused.message} if refused else {}
    named = {parameter.name for parameter in action.parameters}
    policy = policy_row(head.id)
    before = earlier_choices(uuid_in(request.GET.get("from", "")), cluster_id=head.id, action=action.id)
    form = request.POST if request.method == "POST" else before
    snapshot = head.snapshot.id if head.snapshot else None
    objects = known_objects(head.id, snapshot)
    context = {
        "section": "fleet",
        "head": head,
        "action": action,
        "choices": choices(action, objects=objects, form=form, problems=problems, limits={"batch": policy.batch}),
        "node_table": node_table(action, nodes_of(snapshot) if snapshot else (), form=form, problems=problems),
        "refused": refused if refused and refused.where not in named else None,
        "submitted": request.POST,
        "policy": policy,
        "holder": holder_of(head.id),
        "form_key": form_key(),
    }
    status = refusal_status(refused) if refused else 200
    return render(request, "rollout/new.html", context, status=status)
