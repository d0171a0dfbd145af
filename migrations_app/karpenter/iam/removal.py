"""What of a role's policies the controller no longer needs once the hop is done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from migrations_app.karpenter.iam.evaluate import Request, reaches
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
    statements = [statement for policy in policies for statement in filled(policy, site).statements]
    grants = _grants(requests, statements)
    removals: list[Removal] = []
    kept: list[Statement] = []
    for index, statement in enumerate(statements):
        if _is_ours(statement) and {index} not in grants:
            removals.append(Removal(statement=statement))
            grants = [granting - {index} for granting in grants]
        else:
            kept.append(statement)
    called = {request.action.lower() for request in requests}
    return (*removals, *_idle_actions(kept, called))


def _idle_actions(statements: Iterable[Statement], called: set[str]) -> Iterable[Removal]:
    for statement in statements:
        idle = tuple(action for action in statement.actions if action.lower() not in called)
        if _is_ours(statement) and idle:
            yield Removal(statement=statement, actions=idle)


def _is_ours(statement: Statement) -> bool:
    return statement.allow and not statement.not_action and OURS.issuperset(map(str.lower, statement.actions))


def _grants(requests: Sequence[Request], statements: Sequence[Statement]) -> list[set[int]]:
    """For each request that is allowed, which statements allow it, by their place."""
    denials = [one for one in statements if not one.allow]
    open_to = [one for one in requests if all(reaches(denial, one) is False for denial in denials)]
    allows = [(index, one) for index, one in enumerate(statements) if one.allow]
    found = [{index for index, one in allows if reaches(one, request)} for request in open_to]
    return [granting for granting in found if granting]
