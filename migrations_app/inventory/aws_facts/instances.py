"""Instance tags: which are kept, by which tags each release lists its instances, and which requests of the controller
on existing instances the policies of its role refuse.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from migrations_app.iam.evaluate import Evaluation, IamRequest, RequestVerdict, evaluate
from migrations_app.iam.policy import IamPolicy, PolicyStatement, filled
from migrations_app.iam.requirements.features import Minor, every_minor
from migrations_app.iam.requirements.requests import probes_for
from migrations_app.iam.requirements.required_request import Mode, RequiredRequest
from migrations_app.iam.requirements.statements import GRANTS
from migrations_app.iam.site import AwsSite
from migrations_app.inventory.aws_facts.permissions import Permissions, RolePolicies
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import AwsSeen, TaggedInstances
from migrations_app.inventory.objects.karpenter import KarpenterClaim
from migrations_app.karpenter import labels

_KEPT_PREFIXES = ("karpenter.", "kubernetes.io/cluster/")
WRITES_CLUSTER_NAME: Minor = (1, 0)
LISTED_BY: tuple[tuple[str, Minor], ...] = (
    (labels.NODEPOOL, (0, 33)),
    (labels.EC2_NODE_CLASS, (0, 34)),
    (labels.CLUSTER_NAME_TAG, (1, 1)),
)
"""The minor since which instances are listed by each tag.
Source: pkg/providers/instance/instance.go of aws/karpenter-provider-aws at v0.33.12, v0.34.0 and v1.1.10.
"""


def is_kept_tag(key: str) -> bool:
    """Whether a tag with that key is kept. A tag that is not kept may or may not be on the instance."""
    # The claim's name differs on every node, so it would split every group.
    if key == labels.NODECLAIM:
        return False
    return key == labels.CLUSTER_NAME_TAG or key.startswith(_KEPT_PREFIXES)


def tags_text(group: TaggedInstances) -> str:
    """The tags of a group on one line."""
    return " ".join(f"{key}={value}" for key, value in group.tags)


def first_ids(group: TaggedInstances) -> str:
    """Instance ids of the group; if there are more than the samples, the first ones followed by three dots."""
    return " ".join(group.samples) + (" ..." if group.count > len(group.samples) else "")


def owner_of(group: TaggedInstances) -> str:
    """The pool of the group, as kind and name."""
    tags = dict(group.tags)
    pool = tags.get(labels.NODEPOOL)
    return f"NodePool {pool}" if pool is not None else f"Provisioner {tags.get(labels.PROVISIONER_NAME, '')}"


def tags_at_hop(running: Minor | None, *, start: Minor, end: Minor) -> tuple[str, ...]:
    """The tags to look for at a hop: those by which its releases start listing, and those by which the running release
    already lists.

    Up to 0.37 no release writes the cluster name tag and 1.0 does, so it is left out then; also if the running
    release is not known.
    """
    keys = [key for key, since in LISTED_BY if start < since <= end or (running and running >= since)]
    unwritten = running is None or running < WRITES_CLUSTER_NAME
    return tuple(key for key in keys if not (unwritten and key == labels.CLUSTER_NAME_TAG))


def every_tag(end: Minor) -> tuple[str, ...]:
    """All tags by which releases of that minor list instances."""
    return tuple(key for key, since in LISTED_BY if since <= end)


def first_missing_tag(group: TaggedInstances, keys: Iterable[str], *, cluster: str) -> tuple[str, str, str] | None:
    """The first of those tags that the group lacks: (key, current value, wanted value); None if it has all."""
    tags = dict(group.tags)
    for key in keys:
        if key == labels.CLUSTER_NAME_TAG and tags.get(key) != cluster:
            return key, tags.get(key, "absent"), cluster
        if key not in tags:
            return key, "absent", "any value"
    return None


def all_have_cluster_name(aws: AwsSeen) -> bool | None:
    """Whether every instance of a NodePool carries its cluster's name as 1.1 requires; None if no such instance was
    seen.
    """
    tags_of_instances = [dict(group.tags) for group in aws.instances.items if labels.NODEPOOL in dict(group.tags)]
    return (
        all(tags.get(labels.CLUSTER_NAME_TAG) == aws.place.cluster for tags in tags_of_instances)
        if tags_of_instances
        else None
    )


def without_claim(group: TaggedInstances, claimed: frozenset[str]) -> int:
    """How many instances of the group are known to have no claim: all if no instance is claimed, otherwise those among
    its samples.
    """
    return sum(sample not in claimed for sample in group.samples) if claimed else group.count


def claimed_ids(inventory: Inventory) -> frozenset[str]:
    """Ids of the instances behind Machines and NodeClaims."""
    claims: tuple[KarpenterClaim, ...] = (*inventory.machines.items, *inventory.nodeclaims.items)
    return frozenset(claim.provider_id.rpartition("/")[2] for claim in claims if claim.provider_id)


TERMINATE = "ec2:TerminateInstances"
TAG = "ec2:CreateTags"
_RESOURCE_TAG = ":resourcetag/"


@dataclass(frozen=True, kw_only=True)
class OnInstance(IamRequest):
    """A request on an instance of which only the kept tags are known."""

    carried: Mapping[str, str] = field(default_factory=dict)

    def lookup(self, key: str) -> tuple[str, ...] | None:
        service, separator, tag = key.lower().partition(_RESOURCE_TAG)
        if not separator or service not in ("aws", "ec2"):
            return super().lookup(key)
        values = tuple(value for name, value in self.carried.items() if name.lower() == tag)
        return values if values or is_kept_tag(tag) else None


@dataclass(frozen=True, kw_only=True)
class InstanceRequestAnswer:
    """One request that a release makes on the instances of a group, and the evaluation of a role's policies for it."""

    minor: Minor
    group: TaggedInstances
    role: RolePolicies
    request: OnInstance
    answer: Evaluation

    @property
    def sent(self) -> tuple[str, ...]:
        """Keys of the tags that the request sets; empty for a termination."""
        return tuple(self.request.request_tags or ())


def answers_at_hop(
    permissions: Permissions, groups: Sequence[TaggedInstances], *, running: Minor | None, start: Minor, end: Minor
) -> tuple[InstanceRequestAnswer, ...]:
    """The controller's requests on these instances at the hop: those of both its releases if it is the next hop.

    For a later hop, only the requests that are new in it; earlier hops cover the rest. A minor whose needs are not
    known has none.
    """
    later = running not in (None, start) and start in every_minor()
    minors = [minor for minor in dict.fromkeys((end,) if later else (start, end)) if minor in every_minor()]
    return instance_answers(permissions, groups, minors=minors, but=start if later else None)


def instance_answers(
    permissions: Permissions, groups: Sequence[TaggedInstances], *, minors: Iterable[Minor], but: Minor | None = None
) -> tuple[InstanceRequestAnswer, ...]:
    """Every request that these releases make on these instances, evaluated once for each role.

    Requests that the release `but` makes as well are left out.
    """
    answers: dict[tuple[str, ...], InstanceRequestAnswer] = {}
    known_requests = (
        {_request_key(group, on_instance) for group, on_instance in _requests(groups, permissions.site, minor=but)}
        if but
        else set()
    )
    for role in permissions.roles:
        policies = [filled(policy, permissions.site) for policy in role.policies]
        limit = None if role.boundary is None else [filled(policy, permissions.site) for policy in role.boundary]
        for minor in minors:
            for group, request in _requests(groups, permissions.site, minor=minor):
                request_key = _request_key(group, request)
                if request_key not in known_requests:
                    answer = evaluate(request, policies, boundary=limit)
                    row = InstanceRequestAnswer(minor=minor, group=group, role=role, request=request, answer=answer)
                    answers.setdefault((role.role.arn, *request_key), row)
    return tuple(answers.values())


def _request_key(group: TaggedInstances, request: IamRequest) -> tuple[str, ...]:
    return request.action, repr(group.tags), repr(request.request_tags)


def _requests(
    groups: Iterable[TaggedInstances], site: AwsSite, *, minor: Minor
) -> Iterator[tuple[TaggedInstances, OnInstance]]:
    for probe in probes_for(minor):
        if probe.kind == "instance" and probe.action in (TERMINATE, TAG) and not probe.on_creation:
            for group in groups:
                if _applies_to(probe, group, site=site):
                    yield group, _with_real_tags(probe, group, site=site, minor=minor)


def _applies_to(probe: RequiredRequest, group: TaggedInstances, *, site: AwsSite) -> bool:
    """Whether the controller sends the request for these instances: it must match their owner and set tags that are
    missing.
    """
    tags = dict(group.tags)
    owner: Mode = "nodepool" if labels.NODEPOOL in tags else "provisioner"
    if probe.mode != owner:
        return False
    words = site.words()
    sent = (key.format_map(words) for key, _ in probe.request_tags or ())
    return probe.action == TERMINATE or any(is_kept_tag(key) and key not in tags for key in sent)


def _with_real_tags(probe: RequiredRequest, group: TaggedInstances, *, site: AwsSite, minor: Minor) -> OnInstance:
    request = probe.requests(site, minor)[0]
    arn = request.resource.rpartition("/")[0]
    return OnInstance(
        action=request.action,
        resource=f"{arn}/{group.samples[0]}" if group.samples else request.resource,
        request_tags=request.request_tags,
        context=request.context,
        carried=dict(group.tags),
    )


def statements_for(refused: Iterable[InstanceRequestAnswer], site: AwsSite) -> tuple[PolicyStatement, ...]:
    """The smallest statements that allow these requests, each once; empty for a request that no grant covers."""
    statements: dict[str, PolicyStatement] = {}
    for answer in refused:
        statement = _granting(answer, site)
        if statement is not None:
            statements.setdefault(repr(statement), statement)
    return tuple(statements.values())


def _granting(answer: InstanceRequestAnswer, site: AwsSite) -> PolicyStatement | None:
    action = answer.request.action
    for grant in GRANTS:
        if answer.minor in grant.span and action in grant.actions and "instance" in grant.kinds:
            statement = grant.statement(site, actions=frozenset({action}), kinds=frozenset({"instance"}))
            policy = IamPolicy(name="", statements=(statement,))
            if evaluate(answer.request, [policy]).verdict is RequestVerdict.ALLOWED:
                return statement
    return None
