"""Whether nodes with a role can join their cluster, by what AWS shows: the role, its policies, its cluster access."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from migrations_app.errors import InvalidInput
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.partitions import ec2_services_of
from migrations_app.iam.requirements.features import needs_unmet
from migrations_app.iam.trust import admits, by_ec2
from migrations_app.inventory.aws_facts.names import NODE_ENTRIES, NODE_GROUPS, known_by
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import AwsRole, AwsSeen, EksCluster, NodeRole
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.inventory.parts import Unseen

_MAPPED = re.compile(r"rolearn:\s*[\"']?arn:[^:\s]+:iam::\d{12}:role/(?:[^\s\"']*/)?([\w+=,.@-]+)", re.ASCII)
JoinSubject = Literal["role", "trust", "policy", "access"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinFault:
    """A certain reason why nodes of the role cannot join. `policy` is the managed policy to attach, if
    one is missing.
    """

    about: JoinSubject
    role: str
    seen: str
    wanted: str
    policy: str = ""


@dataclass(frozen=True, slots=True)
class JoinDoubt:
    """Something about the role that AWS does not show; `detail` says where to look."""

    detail: str


def join_problems(role: NodeRole, seen: AwsSeen) -> Iterator[JoinFault | JoinDoubt]:
    """The certain and possible reasons why nodes of the role cannot join; nothing if all requirements were seen."""
    if isinstance(role.role, Unseen):
        yield JoinDoubt(f"role {role.name} could not be read ({role.role.detail or role.role.why})")
    elif not role.role.items:
        yield JoinFault(about="role", role=role.name, seen="absent in IAM", wanted="the name of an IAM role")
    else:
        yield from (problem for iam_role in role.role.items for problem in _trust(role.name, iam_role))
        yield from _policies(role)
        yield from _access(role, seen)


def _trust(name: str, role: AwsRole) -> Iterator[JoinFault | JoinDoubt]:
    """Whether instances get credentials of the role: its trust policy has to let EC2 in."""
    arn = read_role_arn(role.arn)
    services = ec2_services_of(arn.partition) if arn else ()
    try:
        answers = [admits(role.trust, by_ec2(service), name="trust policy") for service in services]
    except InvalidInput as wrong:
        yield JoinDoubt(f"the trust policy of {name} could not be read ({wrong})")
        return
    verdicts = {answer.verdict for answer in answers}
    if RequestVerdict.ALLOWED in verdicts:
        return
    if not answers or RequestVerdict.UNKNOWN in verdicts:
        yield JoinDoubt(f"it is not certain that the trust policy of {name} lets EC2 assume the role")
        return
    wanted = f"sts:AssumeRole by {services[-1]}. Else instances have no credentials and never register"
    yield JoinFault(about="trust", role=name, seen=answers[-1].because, wanted=wanted)


def _policies(role: NodeRole) -> Iterator[JoinFault | JoinDoubt]:
    attached = [policy.name for policy in role.policies.items]
    if isinstance(role.policies, Unseen):
        yield JoinDoubt(f"the policies of {role.name} could not be read ({role.policies.detail or role.policies.why})")
        return
    own = any(policy.kind == "customer_managed" for policy in role.policies.items) or role.inline.items
    for need in needs_unmet(attached):
        first = need.policies[0]
        if not need.sure:
            yield JoinDoubt(f"{role.name} lacks {first}: see that it need not {need.why}")
        elif own or isinstance(role.inline, Unseen):
            yield JoinDoubt(f"{role.name} lacks {first}: see that policies of its own let it {need.why}")
        else:
            policy_names = ", ".join(attached) or "no policy"
            yield JoinFault(
                about="policy", role=role.name, seen=policy_names, wanted=f"{first}, to {need.why}", policy=first
            )


def _access(role: NodeRole, seen: AwsSeen) -> Iterator[JoinFault | JoinDoubt]:
    if not seen.cluster.items:
        yield JoinDoubt(f"how the cluster lets {role.name} in is not known: EKS shows no cluster {seen.place.cluster}")
    for cluster in seen.cluster.items:
        ways = known_by(role, cluster, rows=seen.aws_auth)
        if ways is None:
            yield JoinDoubt(f"aws-auth or the access entries could not be read whole: look for {role.name} there")
        elif not ways:
            yield JoinFault(
                about="access",
                role=role.name,
                seen=_entries_text(role, cluster, seen=seen),
                wanted=_needed_entry_text(cluster, has_entry=bool(role.access_entry.items)),
            )


def _entries_text(role: NodeRole, cluster: EksCluster, *, seen: AwsSeen) -> str:
    """The access entry or aws-auth row that exists but is not sufficient."""
    entries = [f"access entry of type {entry.type}" for entry in role.access_entry.items]
    for row in seen.aws_auth.items if cluster.asks_aws_auth else ():
        arn = read_role_arn(row.role_arn)
        if arn and arn.name == role.name:
            entries.append(f"aws-auth row {row.role_arn} with groups {', '.join(row.groups) or 'none'}")
    return "; ".join(entries) or "no entry"


def _needed_entry_text(cluster: EksCluster, *, has_entry: bool) -> str:
    """What lets nodes of the role in; beside an access entry of the role, rows of aws-auth do not count."""
    entry = f"an access entry of type {' or '.join(sorted(NODE_ENTRIES))}" if cluster.asks_access_entries else ""
    by_row = cluster.asks_aws_auth and not (entry and has_entry)
    row = f"an aws-auth row without path, groups {' and '.join(sorted(NODE_GROUPS))}" if by_row else ""
    return f"{' or '.join(filter(None, (entry, row)))}. Else the kubelet is Unauthorized and never registers"


def roles_in_aws_auth(inventory: Inventory) -> frozenset[str]:
    """Names of the roles that aws-auth mentions, with any permissions."""
    texts = ((config.data or {}).get("mapRoles", "") for config in inventory.aws_auth.items)
    return frozenset(match[1] for text in texts for match in _MAPPED.finditer(text))


def classes_joined(inventory: Inventory) -> frozenset[str]:
    """Node classes of which a node has already joined, which proves that their role works."""
    joined = (claim for claim in inventory.nodeclaims.items if claim.condition("Registered") == "True")
    return frozenset((claim.spec.node_class_ref and claim.spec.node_class_ref.name) or "" for claim in joined)
