"""Remedies for the interruption queue: the queue with its rules, its policy, its encryption."""

import json
from collections.abc import Iterator, Sequence

from migrations_app.checks.base import Remedy
from migrations_app.checks.remedies.aws import aws
from migrations_app.checks.render.aws_cli import command
from migrations_app.checks.render.terraform import encoded, hcl, label
from migrations_app.checks.shell import note
from migrations_app.errors import InvalidPolicy
from migrations_app.iam.queue_policy import SENDERS, with_sender
from migrations_app.inventory.aws_facts.interruption_queue import QueueFault
from migrations_app.inventory.objects.aws import Queue
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.karpenter.release_facts import RULES

RETENTION = "300"


def queue_made(name: str, place: AwsPlace) -> Iterator[Remedy]:
    """How to make the queue with its policy and the rules that feed it."""
    arn = f"arn:{place.partition}:sqs:{place.region}:{place.account}:{name}"
    policy = with_sender('{"Version":"2012-10-17"}', services=SENDERS, queue_arn=arn)
    attributes = {"MessageRetentionPeriod": RETENTION, "SqsManagedSseEnabled": "true", "Policy": json.dumps(policy)}
    at = ("--region", place.region)
    lines = [command("sqs", "create-queue", *at, "--queue-name", name, "--attributes", json.dumps(attributes))]
    for rule in RULES:
        called = f"{place.cluster}-{rule.id}"
        lines.append(command("events", "put-rule", *at, "--name", called, "--event-pattern", rule.pattern))
        lines.append(command("events", "put-targets", *at, "--rule", called, "--targets", f"Id=karpenter,Arn={arn}"))
    yield aws(*lines)
    settings = {"name": name, "message_retention_seconds": int(RETENTION), "sqs_managed_sse_enabled": True}
    yield Remedy(
        how="terraform",
        text=note(f"With its rules: modules/karpenter of terraform-aws-modules/eks, queue_name = {name}")
        + "\n"
        + hcl("aws_sqs_queue", name, arguments=settings | {"policy": encoded(policy)}),
    )


def policy_mended(queue: Queue, place: AwsPlace, *, senders: Sequence[str]) -> Iterator[Remedy]:
    """The queue's policy with one statement more; nothing where the policy that is there cannot be read."""
    try:
        policy = with_sender(queue.policy, services=tuple(senders), queue_arn=queue.arn)
    except InvalidPolicy:
        return
    yield aws(
        "# The policy that is there, with one statement more; where a statement denies it, that one has to go instead",
        _set(queue.name, {"Policy": json.dumps(policy)}, place=place),
    )
    arguments = {"queue_url": f"https://{_host(place)}/{place.account}/{queue.name}", "policy": encoded(policy)}
    yield Remedy(how="terraform", text=hcl("aws_sqs_queue_policy", label(queue.name), arguments=arguments))


def encryption_mended(queue: Queue, place: AwsPlace) -> Remedy:
    """SQS's own encryption in place of a key that no other service may use."""
    return aws(_set(queue.name, {"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"}, place=place))


def _set(name: str, attributes: dict[str, str], *, place: AwsPlace) -> str:
    url = f"https://{_host(place)}/{place.account}/{name}"
    at = ("--region", place.region, "--queue-url", url)
    return command("sqs", "set-queue-attributes", *at, "--attributes", json.dumps(attributes))


def _host(place: AwsPlace) -> str:
    return f"sqs.{place.region}.amazonaws.com" + (".cn" if place.partition == "aws-cn" else "")


def mended(faults: Sequence[QueueFault], queue: Queue, *, place: AwsPlace) -> Iterator[Remedy]:
    """What mends these faults of that queue."""
    abouts = {fault.about for fault in faults}
    if "queue" in abouts:
        yield from queue_made(queue.name, place)
    if "policy" in abouts:
        yield from policy_mended(queue, place, senders=[fault.sender for fault in faults if fault.sender])
    if "key" in abouts:
        yield encryption_mended(queue, place)
