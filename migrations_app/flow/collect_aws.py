"""Inventory + client of AWS -> AwsSeen: who we are first, then the cluster, then all that its objects name."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from migrations_app.clients.aws_port import AwsApi
from migrations_app.flow.aws_reading import AwsReading, one, part
from migrations_app.flow.collect_aws_nodes import instance_profiles, node_roles
from migrations_app.flow.collect_aws_roles import controller_roles
from migrations_app.flow.collect_aws_simulation import simulation
from migrations_app.inventory import aws_named
from migrations_app.inventory.aws import AWS_PART_NAMES, AwsSeen, Caller, NodeRole, OidcProvider, Queue
from migrations_app.inventory.aws_auth import auth_rows
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.seen import Part, Seen, Unseen
from migrations_app.karpenter.iam.site import Site, role_name
from migrations_app.readiness.facts import running

PARALLEL = 4
"""Parts under way at once: few enough for IAM, which throttles early."""
SPOT_ROLE = "AWSServiceRoleForEC2Spot"
AGENT = "eks-pod-identity-agent"
QUEUE = "aws.interruptionQueueName"


def collect_aws(api: AwsApi, inventory: Inventory, *, releases: Sequence[str] | None = None) -> AwsSeen:
    """Everything AWS shows about the cluster; never raises for what AWS did.

    `releases` are those whose requests are put to SimulatePrincipalPolicy: without them the running one, and with an
    empty list none. In the wrong account nothing is read, since names would be found that belong to others.
    """
    identity: Part[Caller] = part(lambda: one(api.caller()))
    stop = _stop(api, identity)
    if stop is not None:
        return _nothing(api, inventory, identity=identity, why=stop)
    place = replace(api.place, account=identity.items[0].account)
    cluster = part(lambda: one(api.cluster()))
    reading = AwsReading(api=api, inventory=inventory, place=place, cluster=cluster)
    asked = _running(inventory) if releases is None else tuple(releases)
    return AwsSeen(place=place, identity=identity, cluster=cluster, **_parts(reading, asked))


def _stop(api: AwsApi, identity: Part[Caller]) -> Unseen | None:
    if isinstance(identity, Unseen):
        return identity
    reached, wanted = identity.items[0].account, api.place.account
    if not wanted or reached == wanted:
        return None
    return Unseen("wrong_account", f"these credentials are of account {reached}, the cluster is in {wanted}")


def _nothing(api: AwsApi, inventory: Inventory, *, identity: Part[Caller], why: Unseen) -> AwsSeen:
    unseen: dict[str, Any] = dict.fromkeys(AWS_PART_NAMES, why)
    return AwsSeen(place=api.place, **unseen | {"identity": identity, "aws_auth": auth_rows(inventory.aws_auth)})


def _running(inventory: Inventory) -> tuple[str, ...]:
    release = running(inventory).release
    return (str(release),) if release else ()


def _parts(reading: AwsReading, releases: Sequence[str]) -> dict[str, Any]:
    jobs: dict[str, Callable[[], Part[Any]]] = {
        "controller_roles": lambda: controller_roles(reading),
        "instance_profiles": lambda: instance_profiles(reading),
        "queue": lambda: _queue(reading),
        "oidc_provider": lambda: _oidc_provider(reading),
        "spot_role": lambda: one(reading.api.role(SPOT_ROLE)),
        "pod_identity_agent": lambda: one(reading.api.addon_status(AGENT)),
        "instances": lambda: Seen(reading.api.tagged_instances()),
    }
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="aws") as pool:
        found = dict(zip(jobs, pool.map(part, jobs.values()), strict=True))
    found["node_roles"] = part(lambda: node_roles(reading, found["instance_profiles"]))
    found["aws_auth"] = auth_rows(reading.inventory.aws_auth)
    site = site_of(reading, found["node_roles"])
    found["simulation"] = simulation(reading, found["controller_roles"], releases=releases, site=site)
    return found


def _queue(reading: AwsReading) -> Part[Queue]:
    named = aws_named.setting(reading.inventory, QUEUE)
    if isinstance(named, Unseen) or not named.items:
        return named if isinstance(named, Unseen) else Seen(())
    name = named.items[0]
    if not aws_named.QUEUE_NAME.fullmatch(name):
        return Unseen("bad_name", f"{name[:100]!r} is not the name of a queue")
    found = reading.api.queue(name, account=reading.place.account)
    return one(found or Queue(name=name, exists=False))


def _oidc_provider(reading: AwsReading) -> Part[OidcProvider]:
    if isinstance(reading.cluster, Unseen):
        return reading.cluster
    place = reading.place
    issuers = [cluster.issuer.removeprefix("https://") for cluster in reading.cluster.items if cluster.issuer]
    arns = [f"arn:{place.partition}:iam::{place.account}:oidc-provider/{issuer}" for issuer in issuers]
    return Seen(tuple(found for arn in arns if (found := reading.api.oidc_provider(arn))))


def site_of(reading: AwsReading, roles: Part[NodeRole]) -> Site:
    """The names with which requests of this cluster are judged."""
    arns = [role.arn for one in roles.items for role in one.role.items]
    return Site(
        cluster=reading.place.cluster,
        account=reading.place.account,
        region=reading.place.region,
        partition=reading.place.partition,
        node_roles=tuple(map(role_name, arns)),
        queue=next(iter(aws_named.setting(reading.inventory, QUEUE).items), ""),
        extra_tags=aws_named.class_tags(reading.inventory),
    )
