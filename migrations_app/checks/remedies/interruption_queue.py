"""Remedies for the interruption queue: the queue with its rules, its policy, its encryption."""

import json
from collections.abc import Iterator, Sequence

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import AwsCall, group
from migrations_app.checks.remedies.aws import aws_call, terraform_remedy
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.render.terraform import encoded, hcl, label
from migrations_app.checks.shell import note
from migrations_app.errors import InvalidPolicy
from migrations_app.iam.partitions import dns_suffix_of
from migrations_app.iam.queue_policy import SENDERS, with_sender
from migrations_app.inventory.aws_facts.interruption_queue import QueueFault
from migrations_app.inventory.objects.aws import Queue
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.karpenter.release_facts import RULES

RETENTION = "300"
LONGEST_RULE = 64
ONE_MORE = "The policy that is there, with one statement more; where a statement denies it, that one has to go instead"


def queue_creation(name: str, place: AwsPlace) -> Iterator[Remedy]:
    """Creates the queue with its policy and the rules that send to it."""
    arn = f"arn:{place.partition}:sqs:{place.region}:{place.account}:{name}"
    policy = with_sender('{"Version":"2012-10-17"}', services=SENDERS, queue_arn=arn)
    attributes = {"MessageRetentionPeriod": RETENTION, "SqsManagedSseEnabled": "true", "Policy": json.dumps(policy)}
    at = ("--region", place.region)
    deletion = aws_call("sqs", "delete-queue", *at, "--queue-url", f"https://{_host(place)}/{place.account}/{name}")
    words = (*at, "--queue-name", name, "--attributes", json.dumps(attributes))
    steps = [aws_call("sqs", "create-queue", *words, undo=deletion)]
    for rule in RULES:
        of, to = _rule_name(place.cluster, rule.id), ("--targets", f"Id=karpenter,Arn={arn}")
        off = aws_call("events", "delete-rule", *at, "--name", of)
        out = aws_call("events", "remove-targets", *at, "--rule", of, "--ids", "karpenter")
        steps.append(aws_call("events", "put-rule", *at, "--name", of, "--event-pattern", rule.pattern, undo=off))
        steps.append(aws_call("events", "put-targets", *at, "--rule", of, *to, undo=out))
    yield in_aws(group(*steps))
    settings = {"name": name, "message_retention_seconds": int(RETENTION), "sqs_managed_sse_enabled": True}
    about = note(f"With its rules: modules/karpenter of terraform-aws-modules/eks, queue_name = {name}")
    block = hcl("aws_sqs_queue", name, arguments=settings | {"policy": encoded(policy)})
    yield terraform_remedy(group(*steps), f"{about}\n{block}")


def _rule_name(cluster: str, rule: str) -> str:
    """The name of a rule; EventBridge takes 64 characters, a cluster may have 100."""
    return f"{cluster[: LONGEST_RULE - len(rule) - 1]}-{rule}"


def policy_remedies(queue: Queue, place: AwsPlace, *, senders: Sequence[str]) -> Iterator[Remedy]:
    """Adds one statement to the queue's policy; nothing if the current policy cannot be read."""
    try:
        policy = with_sender(queue.policy, services=tuple(senders), queue_arn=queue.arn)
    except InvalidPolicy:
        return
    undo = _set_attributes(queue.name, {"Policy": queue.policy}, place=place)
    change = group(
        _set_attributes(queue.name, {"Policy": json.dumps(policy)}, place=place, undo=undo), notes=(ONE_MORE,)
    )
    yield in_aws(change)
    arguments = {"queue_url": f"https://{_host(place)}/{place.account}/{queue.name}", "policy": encoded(policy)}
    yield terraform_remedy(change, hcl("aws_sqs_queue_policy", label(queue.name), arguments=arguments))


def encryption_remedy(queue: Queue, place: AwsPlace) -> Remedy:
    """Replaces a key that no other service may use by the encryption of SQS itself."""
    undo = _set_attributes(queue.name, {"KmsMasterKeyId": queue.kms_key}, place=place) if queue.kms_key else None
    return in_aws(
        _set_attributes(queue.name, {"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"}, place=place, undo=undo)
    )


def _set_attributes(name: str, attributes: dict[str, str], *, place: AwsPlace, undo: AwsCall | None = None) -> AwsCall:
    url = f"https://{_host(place)}/{place.account}/{name}"
    at = ("--region", place.region, "--queue-url", url)
    return aws_call("sqs", "set-queue-attributes", *at, "--attributes", json.dumps(attributes), undo=undo)


def _host(place: AwsPlace) -> str:
    return f"sqs.{place.region}.{dns_suffix_of(place.partition)}"


def queue_remedies(faults: Sequence[QueueFault], queue: Queue, *, place: AwsPlace) -> Iterator[Remedy]:
    """Remedies for these faults of the queue."""
    abouts = {fault.about for fault in faults}
    if "queue" in abouts:
        yield from queue_creation(queue.name, place)
    if "policy" in abouts:
        yield from policy_remedies(queue, place, senders=[fault.sender for fault in faults if fault.sender])
    if "key" in abouts:
        yield encryption_remedy(queue, place)
