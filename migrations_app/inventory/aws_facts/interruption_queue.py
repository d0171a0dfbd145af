"""What prevents interruption messages from reaching the controller, as seen in the cluster and in AWS."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.queue_policy import SEND, SENDERS, may_send
from migrations_app.inventory.aws_facts import names
from migrations_app.inventory.facts.controller import ABSENT, given_values, installation, value_at
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import AwsSeen, Queue
from migrations_app.karpenter.controller_settings import LAST_READ, SETTINGS
from migrations_app.karpenter.versions import Release, minor_order

KEY = "aws.interruptionQueueName"
SETTING = next(row for row in SETTINGS if row.key == KEY)
GONE = "sqs:GetQueueUrl"
AWS_KEY = "alias/aws/sqs"
QueueSubject = Literal["name", "queue", "policy", "key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFault:
    """One problem. `certain` False: AWS does not show enough to be sure."""

    about: QueueSubject
    path: str
    seen: str
    wanted: str
    certain: bool = True
    sender: str = ""


def queue_only_in_settings(inventory: Inventory, running: Release | None) -> str:
    """The queue that only the global settings name, which releases from 0.33 on do not read; empty otherwise."""
    controller = installation(inventory)
    if controller is None or running is None or minor_order(running.minor) <= minor_order(LAST_READ):
        return ""
    if SETTING.env in controller.env:
        return ""
    values = given_values(inventory)
    if values is not None and value_at(values.tree, SETTING.value) not in (ABSENT, ""):
        return ""
    return next((name for setting in inventory.settings.items if (name := (setting.data or {}).get(KEY, ""))), "")


def bad_name(name: str) -> str:
    """Why this cannot be an SQS queue name; empty if it can."""
    if name.startswith("arn:"):
        return "an ARN, where the controller takes the name alone"
    return "" if names.QUEUE_NAME.fullmatch(name) else "no name that SQS knows"


def queue_faults(queue: Queue, seen: AwsSeen) -> Iterator[QueueFault]:
    """The problems of the queue itself; none if both senders may send to it."""
    if not queue.exists:
        where = f"{seen.place.region}, account {seen.place.account or 'of the credentials'}"
        yield QueueFault(about="queue", path=GONE, seen=f"no such queue in {where}", wanted="a queue of that name")
        return
    if queue.kms_key == AWS_KEY:
        expected = "encryption by SQS itself or a key of the customer's: no other service may use this one"
        yield QueueFault(about="key", path="KmsMasterKeyId", seen=AWS_KEY, wanted=expected)
    elif queue.kms_key:
        expected = "a key policy that lets events.amazonaws.com generate data keys and decrypt"
        yield QueueFault(about="key", path="KmsMasterKeyId", seen=queue.kms_key, wanted=expected, certain=False)
    yield from _refused_senders(queue, seen)


def _refused_senders(queue: Queue, seen: AwsSeen) -> Iterator[QueueFault]:
    for sender in SENDERS:
        try:
            answer = may_send(queue.policy, service=sender, queue_arn=queue.arn, account=seen.place.account)
        except InvalidPolicy as wrong:
            yield QueueFault(about="policy", path="Policy", seen=str(wrong), wanted="a policy", certain=False)
            return
        if answer.verdict is not RequestVerdict.ALLOWED:
            yield QueueFault(
                about="policy",
                path=f"Policy: {SEND} by {sender}",
                seen=answer.because if queue.policy else "the queue has no policy",
                wanted="allowed",
                certain=answer.verdict is not RequestVerdict.UNKNOWN,
                sender=sender,
            )
