"""The smallest statements that close the gaps, in documents that fit IAM's size limits; and what the controller no
longer needs after a hop.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.evaluate import IamRequest, RequestVerdict, evaluate, reaches
from migrations_app.iam.policy import WITH_VARIABLES, IamPolicy, PolicyStatement, filled
from migrations_app.iam.requirements.features import Minor, minor_of
from migrations_app.iam.requirements.gaps import Gap, GapReport, RefusedRequest
from migrations_app.iam.requirements.requests import PROBES, probes_for
from migrations_app.iam.requirements.statement_grant import StatementGrant
from migrations_app.iam.requirements.statements import GRANTS
from migrations_app.iam.site import AwsSite
from migrations_app.manifests import JsonMap

# Characters without white space. By default a role accepts ten managed policies, and 10,240 characters inline in all.
MANAGED_LIMIT = 6144
INLINE_LIMIT = 10240


@dataclass(frozen=True, kw_only=True)
class AddedStatements:
    """Statements to add, and refusals that no added statement fixes: explicit denies, also those of which it is not
    known whether they apply, and the permissions boundary.

    `bounded` are all refusals that the permissions boundary does not let through, also those that a statement has to
    be added for.
    """

    statements: tuple[PolicyStatement, ...]
    not_closed: tuple[RefusedRequest, ...]
    bounded: tuple[RefusedRequest, ...] = ()

    def documents(self, *, limit: int = MANAGED_LIMIT) -> tuple[JsonMap, ...]:
        """The statements as policy documents of at most `limit` characters; empty if there is nothing to add."""
        return fitted(self.statements, limit=limit)


def statements_to_add(
    report: GapReport, site: AwsSite, *, legacy: bool = True, conditional: bool = False
) -> AddedStatements:
    """What to add for every gap that is always needed; with `conditional` also for gaps that depend on rare settings.

    `legacy` includes capacity that Provisioners still own, which 0.32 needs until the last of it is gone.
    """
    gaps = (*report.gaps, *(report.legacy_gaps if legacy else ()))
    refusals = [
        request for gap in gaps if conditional or gap.required == "always" for request in _counted(gap, conditional)
    ]
    not_closed = tuple(refusal for refusal in refusals if refusal.no_statement_lifts)
    by_grant: dict[StatementGrant, tuple[set[str], set[str]]] = {}
    for refusal in refusals:
        if not refusal.no_statement_lifts:
            actions, kinds = by_grant.setdefault(_grant_for(refusal, report.minor, site=site), (set(), set()))
            actions.add(refusal.probe.action)
            kinds.add(refusal.probe.kind)
    return AddedStatements(
        statements=tuple(
            grant.statement(site, actions=frozenset(by_grant[grant][0]), kinds=frozenset(by_grant[grant][1]))
            for grant in GRANTS
            if grant in by_grant
        ),
        not_closed=not_closed,
        bounded=tuple(refusal for refusal in refusals if refusal.answer.boundary is not None),
    )


def _counted(gap: Gap, conditional: bool) -> tuple[RefusedRequest, ...]:
    return gap.refusals if conditional else tuple(refusal for refusal in gap.refusals if refusal.is_closed)


def _grant_for(refusal: RefusedRequest, minor: Minor, *, site: AwsSite) -> StatementGrant:
    """The first grant that allows the request. Every row of requests.py has one, as a test verifies."""
    probe = refusal.probe
    for grant in GRANTS:
        if minor in grant.span and probe.action in grant.actions and probe.kind in grant.kinds:
            statement = grant.statement(site, actions=frozenset({probe.action}), kinds=frozenset({probe.kind}))
            if (
                evaluate(refusal.request, [IamPolicy(name="", statements=(statement,))]).verdict
                is RequestVerdict.ALLOWED
            ):
                return grant
    raise LookupError(f"statements.py has no grant for {probe.id} in {minor}")


def merged(policies: Iterable[IamPolicy], added: Iterable[PolicyStatement], *, site: AwsSite) -> tuple[JsonMap, ...]:
    """The policies and the added statements in as few managed documents as their size allows, without duplicates."""
    present = [statement for policy in policies for statement in filled(policy, site).statements]
    return fitted((*present, *added), limit=MANAGED_LIMIT)


def merged_size(policies: Iterable[IamPolicy], added: Iterable[PolicyStatement], *, site: AwsSite) -> int:
    """Characters of the policies and the added statements in one document, without duplicates."""
    present = [statement for policy in policies for statement in filled(policy, site).statements]
    return size_of(document_of(_without_duplicates((*present, *added))))


def fitted(statements: Iterable[PolicyStatement], *, limit: int) -> tuple[JsonMap, ...]:
    """Documents of at most `limit` characters with all statements, each in the first document where it fits."""
    piles: list[_DocumentSize] = []
    for statement in _without_duplicates(statements):
        grown = ((pile, pile.size_with(statement)) for pile in piles)
        pile, size = next(((pile, size) for pile, size in grown if size <= limit), (None, 0))
        if pile is None:
            piles.append(pile := _DocumentSize())
            size = pile.size_with(statement)
        if size > limit:
            raise InvalidPolicy(f"alone exceeds the {limit:,} characters of a document", where=statement.where)
        pile.statements.append(statement)
        pile.size = size
    return tuple(document_of(pile.statements) for pile in piles)


@dataclass(slots=True)
class _DocumentSize:
    """Statements of one document, and the size of that document: writing it anew for each statement took quadratic
    time.
    """

    statements: list[PolicyStatement] = field(default_factory=list)
    size: int = field(default_factory=lambda: size_of(document_of([])))

    def size_with(self, statement: PolicyStatement) -> int:
        """The size of the document once the statement is at its end."""
        taken = any(other.sid == statement.sid for other in self.statements)
        comma = 1 if self.statements else 0
        return self.size + comma + size_of((replace(statement, sid="") if taken else statement).as_json())


def _without_duplicates(statements: Iterable[PolicyStatement]) -> list[PolicyStatement]:
    by_content: dict[str, PolicyStatement] = {}
    for statement in statements:
        by_content.setdefault(json.dumps(replace(statement, sid="").as_json(), sort_keys=True), statement)
    return list(by_content.values())


def document_of(statements: Sequence[PolicyStatement]) -> JsonMap:
    """A policy document. Sids must be unique in IAM, so a later statement with the same Sid loses it."""
    listed = []
    for n, statement in enumerate(statements):
        taken = any(other.sid == statement.sid for other in statements[:n])
        listed.append((replace(statement, sid="") if taken else statement).as_json())
    return {"Version": WITH_VARIABLES, "Statement": listed}


def size_of(document: JsonMap) -> int:
    """The size of a document, or of a part of it, as IAM counts it for its quotas: characters without white space."""
    return len("".join(json.dumps(document, separators=(",", ":"), ensure_ascii=False).split()))


# Granted by official policies at some time, but called by no release.
NEVER_CALLED = frozenset({"ec2:DescribeAvailabilityZones", "sqs:GetQueueAttributes", "iam:GetRole"})
OURS = frozenset(probe.action.lower() for probe in PROBES) | {action.lower() for action in NEVER_CALLED}


@dataclass(frozen=True, kw_only=True)
class Removal:
    """A statement that can be removed, or only the named actions of it."""

    statement: PolicyStatement
    actions: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.actions


def removable(policies: Iterable[IamPolicy], *, release: str, site: AwsSite) -> tuple[Removal, ...]:
    """Statements and actions that can be removed without refusing anything to the release, including settings that are
    off.

    Of two equivalent statements the earlier one is named, so pass the older document first. Only statements whose
    actions Karpenter has used are considered. Keep everything while a rollback may still be needed.
    """
    minor = minor_of(release)
    requests = [request for probe in probes_for(minor) for request in probe.requests(site, minor)]
    statements = [statement for policy in policies for statement in filled(policy, site).statements]
    grants = _grants(requests, statements)
    removals: list[Removal] = []
    remaining: list[PolicyStatement] = []
    for index, statement in enumerate(statements):
        if _is_ours(statement) and {index} not in grants:
            removals.append(Removal(statement=statement))
            grants = [granting - {index} for granting in grants]
        else:
            remaining.append(statement)
    called = {request.action.lower() for request in requests}
    return (*removals, *_idle_actions(remaining, called))


def _idle_actions(statements: Iterable[PolicyStatement], called: set[str]) -> Iterable[Removal]:
    for statement in statements:
        idle = tuple(action for action in statement.actions if action.lower() not in called)
        if _is_ours(statement) and idle:
            yield Removal(statement=statement, actions=idle)


def _is_ours(statement: PolicyStatement) -> bool:
    return statement.allow and not statement.not_action and OURS.issuperset(map(str.lower, statement.actions))


def _grants(requests: Sequence[IamRequest], statements: Sequence[PolicyStatement]) -> list[set[int]]:
    """For each allowed request, the indexes of the statements that allow it."""
    denials = [statement for statement in statements if not statement.allow]
    open_to = [request for request in requests if all(reaches(denial, request) is False for denial in denials)]
    allows = [(index, statement) for index, statement in enumerate(statements) if statement.allow]
    index_sets = [{index for index, statement in allows if reaches(statement, request)} for request in open_to]
    return [granting for granting in index_sets if granting]
