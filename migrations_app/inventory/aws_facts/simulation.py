"""Cross-check of karpdash's IAM evaluator with SimulatePrincipalPolicy: the requests to simulate, and the comparison
of the results.

AWS evaluates one action, one resource and one context; it never sees tags, so they are passed as context keys.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from migrations_app.iam.evaluate import IamRequest, RequestVerdict, evaluate
from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.features import Feature, minor_of
from migrations_app.iam.requirements.requests import probes_for
from migrations_app.iam.site import AwsSite
from migrations_app.inventory.objects.aws import CrossCheck, SimulatorAgreement

# A launch needs images, networks and more in one simulation, so AWS always denies it for a single resource.
LEFT_OUT = frozenset({"ec2:RunInstances"})
MAX_QUESTIONS = 60
"""Maximum number of simulations for one role; IAM throttles them early."""

Context = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One SimulatePrincipalPolicy call: several actions on one resource in one context."""

    actions: tuple[str, ...]
    resource: str
    context: Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The AWS result for one action. `decision` is allowed, implicitDeny or explicitDeny; `missing` are context keys
    that were not given.
    """

    action: str
    decision: str
    missing: tuple[str, ...] = ()
    by_boundary: bool = False
    """Denied by the permissions boundary."""
    by_organization: bool = False
    """Denied by an organization policy, which no document of the role shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRequest:
    """A request of the controller, the probes it comes from, and karpdash's own verdict."""

    request: IamRequest
    probes: tuple[str, ...]
    ours: RequestVerdict


def requests_to_simulate(
    policies: Sequence[IamPolicy], *, release: str, site: AwsSite, boundary: Sequence[IamPolicy] | None = None
) -> tuple[SimulatedRequest, ...]:
    """The distinct requests of a release with karpdash's verdicts, without those that a simulation cannot answer."""
    minor = minor_of(release)
    by_request: dict[str, tuple[IamRequest, list[str]]] = {}
    for probe in probes_for(minor):
        if probe.action in LEFT_OUT or Feature.ASSUME_ROLE in probe.features:
            continue
        for request in probe.requests(site, minor):
            by_request.setdefault(repr(request), (request, []))[1].append(probe.id)
    return tuple(
        SimulatedRequest(
            request=request, probes=tuple(ids), ours=evaluate(request, policies, boundary=boundary).verdict
        )
        for request, ids in by_request.values()
    )


def questions(rows: Iterable[SimulatedRequest]) -> tuple[Question, ...]:
    """The simulations for these requests, grouped by resource and context, at most MAX_QUESTIONS."""
    grouped: dict[tuple[str, Context], list[str]] = {}
    for row in rows:
        actions = grouped.setdefault((row.request.resource, context_of(row.request)), [])
        if row.request.action not in actions:
            actions.append(row.request.action)
    every_question = (
        Question(actions=tuple(actions), resource=at, context=context) for (at, context), actions in grouped.items()
    )
    return tuple(every_question)[:MAX_QUESTIONS]


def context_of(request: IamRequest) -> Context:
    """The condition keys of a request with their values; keys that the request is known not to carry are left out."""
    pairs = {key: values for key, values in request.context.items() if values}
    return tuple(sorted({**pairs, **dict(_tags(request))}.items()))


def _tags(request: IamRequest) -> Iterator[tuple[str, tuple[str, ...]]]:
    if request.request_tags:
        yield "aws:TagKeys", tuple(sorted(request.request_tags))
        yield from ((f"aws:RequestTag/{tag}", (value,)) for tag, value in request.request_tags.items())
    for tag, value in (request.resource_tags or {}).items():
        yield f"aws:ResourceTag/{tag}", (value,)
        if request.action.startswith("ec2:"):
            yield f"ec2:ResourceTag/{tag}", (value,)


def compared(
    rows: Iterable[SimulatedRequest], replies: Mapping[Question, tuple[Reply, ...]], *, release: str, role_arn: str
) -> tuple[CrossCheck, ...]:
    """One row for each request that AWS answered."""
    reply_of = {
        (question.resource, question.context, reply.action.lower()): reply
        for question, answers in replies.items()
        for reply in answers
    }
    return tuple(
        _compared(row, reply, release=release, role_arn=role_arn)
        for row in rows
        if (reply := reply_of.get((row.request.resource, context_of(row.request), row.request.action.lower())))
    )


def _compared(row: SimulatedRequest, reply: Reply, *, release: str, role_arn: str) -> CrossCheck:
    return CrossCheck(
        release=release,
        role_arn=role_arn,
        action=row.request.action,
        resource=row.request.resource,
        ours=row.ours.value,
        theirs=reply.decision,
        agreement=_agreement(row.ours, reply),
        because=_because(reply),
        probes=row.probes,
    )


def _agreement(ours: RequestVerdict, reply: Reply) -> SimulatorAgreement:
    allowed = reply.decision == "allowed"
    if ours is RequestVerdict.UNKNOWN or (reply.missing and reply.decision == "implicitDeny"):
        return "cannot_tell"
    return "agree" if (ours is RequestVerdict.ALLOWED) == allowed else "disagree"


def _because(reply: Reply) -> str:
    if reply.by_organization:
        return "a policy of the organisation does not let it through; no document of the role shows that"
    if reply.by_boundary:
        return "the permissions boundary does not let it through"
    if reply.missing and reply.decision != "allowed":
        return f"AWS was not told {', '.join(reply.missing)}"
    return {
        "explicitDeny": "a statement denies it",
        "implicitDeny": "no statement allows it",
    }.get(reply.decision, "")
