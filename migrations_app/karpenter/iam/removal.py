"""What of a role's policies the controller no longer needs once the hop is done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from migrations_app.karpenter.iam.evaluate import Request, Verdict, evaluate
from migrations_app.karpenter.iam.policy import Policy, Statement, filled
from migrations_app.karpenter.iam.probes import PROBES, probes_for
from migrations_app.karpenter.iam.ranges import minor_of
from migrations_app.karpenter.iam.site import Site

# Granted by official policies at some time and called by no release.
NEVER_CALLED = frozenset({"ec2:DescribeAvailabilityZones", "sqs:GetQueueAttributes", "iam:GetRole"})
OURS = frozenset(probe.action.lower() for probe in PROBES) | {action.lower() for action in NEVER_CALLED}


@dataclass(frozen=True, kw_only=True)
class Removal:
    """A statement that may go, or only the named actions of it."""

    statement: Statement
    actions: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.actions


def removable(policies: Iterable[Policy], *, release: str, site: Site) -> tuple[Removal, ...]:
    """Statements and actions without which the release is allowed just as much, settings that are off included.

    Of two statements that do the same the earlier one is named, so give the older document first. Only statements made
    of actions that Karpenter ever had are looked at. Keep all of it while a rollback is still wanted.
    """
    minor = minor_of(release)
    requests = [request for probe in probes_for(minor) for request in probe.requests(site, minor)]
    judged = [filled(policy, site) for policy in policies]
    statements = [statement for policy in judged for statement in policy.statements]
    needed = _allowed(requests, statements)
    removals: list[Removal] = []
    for statement in [one for one in statements if _is_ours(one)]:
        without = [other for other in statements if other is not statement]
        if _allowed(requests, without) == needed:
            removals.append(Removal(statement=statement))
            statements = without
    called = {request.action.lower() for request in requests}
    return (*removals, *_idle_actions(statements, called))


def _idle_actions(statements: Iterable[Statement], called: set[str]) -> Iterable[Removal]:
    for statement in statements:
        idle = tuple(action for action in statement.actions if action.lower() not in called)
        if _is_ours(statement) and idle:
            yield Removal(statement=statement, actions=idle)


def _is_ours(statement: Statement) -> bool:
    return statement.allow and not statement.not_action and OURS.issuperset(map(str.lower, statement.actions))


def _allowed(requests: Sequence[Request], statements: Sequence[Statement]) -> list[bool]:
    policies = [Policy(name="", statements=tuple(statements))]
    return [evaluate(request, policies).verdict is Verdict.ALLOWED for request in requests]
