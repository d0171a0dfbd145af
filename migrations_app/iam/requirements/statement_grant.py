"""A grant of IAM actions in a span of releases, from which the statements of a policy are made."""

from dataclasses import dataclass
from functools import lru_cache

from migrations_app.iam.policy import PolicyCondition, PolicyStatement
from migrations_app.iam.requirements.features import ALWAYS, Span
from migrations_app.iam.requirements.required_request import Mode
from migrations_app.iam.site import AwsSite

# Operator, key, values; braces are filled from the site.
GrantLine = tuple[str, str, tuple[str, ...]]

ARN_OF_KIND = {
    "image": "arn:{partition}:ec2:{region}::image/*",
    "snapshot": "arn:{partition}:ec2:{region}::snapshot/*",
    "instance-profile": "arn:{partition}:iam::{account}:instance-profile/*",
    "parameter": "arn:{partition}:ssm:{region}::parameter/aws/service/*",
    "queue": "arn:{partition}:sqs:{region}:{account}:{queue}",
    "cluster": "arn:{partition}:eks:{region}:{account}:cluster/{cluster}",
    "*": "*",
}


@dataclass(frozen=True, kw_only=True)
class StatementGrant:
    """One grant in a span of releases: actions, kinds of resources, conditions."""

    sid: str
    span: Span = ALWAYS
    mode: Mode = "any"
    actions: tuple[str, ...]
    kinds: tuple[str, ...]
    lines: tuple[GrantLine, ...] = ()

    def statement(self, site: AwsSite, *, actions: frozenset[str], kinds: frozenset[str]) -> PolicyStatement:
        """The grant narrowed to some of its actions and kinds."""
        return _statement(self, site, actions=actions, kinds=kinds)


@lru_cache(maxsize=4096)  # one page needs the same statement of each grant for every request of every release
def _statement(
    grant: StatementGrant, site: AwsSite, *, actions: frozenset[str], kinds: frozenset[str]
) -> PolicyStatement:
    words = site.words()
    return PolicyStatement(
        where=f"closing policy ({grant.sid})",
        sid=grant.sid,
        actions=tuple(action for action in grant.actions if action in actions),
        resources=tuple(arn for kind in grant.kinds if kind in kinds for arn in _arns(kind, site)),
        conditions=tuple(
            PolicyCondition(
                operator=operator,
                key=key.format_map(words),
                values=tuple(value.format_map(words) for value in values),
            )
            for operator, key, values in grant.lines
        ),
    )


def _arns(kind: str, site: AwsSite) -> tuple[str, ...]:
    if kind == "role":
        return tuple(f"arn:{site.partition}:iam::{site.account}:role/{role}" for role in site.roles)
    if kind == "assumed role":
        return (site.assume_role_arn,)
    if kind == "parameter":
        return tuple(dict.fromkeys(_parameter(owner, path, site=site) for owner, path in site.parameter_places))
    return (ARN_OF_KIND.get(kind, f"arn:{{partition}}:ec2:{{region}}:*:{kind}/*").format_map(site.words()),)


def _parameter(owner: str, path: str, *, site: AwsSite) -> str:
    """The ARN to grant: all parameters that AWS publishes, or the one of an account."""
    own = f"arn:{site.partition}:ssm:{site.region}:{owner}:parameter/{path}"
    return own if owner else ARN_OF_KIND["parameter"].format_map(site.words())
