"""Fails if the configured interruption queue does not exist, or if its policy does not let AWS send messages."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.commands import chart_values
from migrations_app.checks.remedies.interruption_queue import queue_remedies
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.iam.requirements.features import every_minor
from migrations_app.iam.requirements.needs import need_for
from migrations_app.inventory.aws_facts import interruption_queue
from migrations_app.inventory.aws_facts.interruption_queue import GONE, KEY, SETTING, bad_name
from migrations_app.inventory.aws_facts.names import setting
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.hops import hops_between, hops_from
from migrations_app.karpenter.versions import minor_order

check = Check(
    __name__,
    title="The interruption queue exists and receives AWS events",
    phase="iam",
    severity="blocker",
    why=(
        "From 0.33 to 1.3 the controller panics at start when its queue does not answer; other releases log an "
        "error, and no node is drained before a Spot interruption."
    ),
    reads=("controller", "settings"),
    says=("The interruption queue has {count} fault", "The interruption queue has {count} faults"),
    how="Looks the configured name up in SQS, and evaluates the queue's own policy for the two senders.",
    severity_at=dict.fromkeys((*hops_between("0.28", "0.32"), *hops_from("1.4")), "warning"),
    sources=(
        "aws/karpenter-provider-aws@v0.33.10:pkg/controllers/controllers.go",
        "aws/karpenter-provider-aws@v1.4.4:pkg/controllers/interruption/controller.go",
        "Amazon SQS Developer Guide, KMS permissions for event sources of AWS services",
    ),
    remedy_tools=(*CHART_TOOLS, "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    named, queues = setting(case.inventory, KEY), case.inventory.aws.queue
    if lost := interruption_queue.queue_only_in_settings(case.inventory, case.running.release):
        yield _row(lost, f"data[{KEY}]", seen="read by no release from 0.33 on", wanted=SETTING.value, kind="ConfigMap")
    elif isinstance(named, Unseen):
        yield could_not_read("the name of the queue", named)
    elif not named.items:
        yield NotApplicable("no interruption queue is configured: nodes are not drained before a Spot interruption")
    elif name_flaw := bad_name(named.items[0]):
        yield _row(named.items[0], SETTING.env, seen=name_flaw, wanted=f"the name of a queue. {_failure_text(case)}")
    elif isinstance(queues, Unseen):
        yield could_not_read("aws.queue", queues)
    for queue in queues.items if not lost else ():
        for fault in interruption_queue.queue_faults(queue, case.inventory.aws):
            if fault.certain:
                wanted = fault.wanted + (f". {_failure_text(case)}" if fault.about == "queue" else "")
                yield _row(queue.name, fault.path, seen=fault.seen, wanted=wanted)
            else:
                yield Unknown(f"{queue.name}, {fault.path}: {fault.seen}; wanted: {fault.wanted}")


def _failure_text(case: CheckContext) -> str:
    need = need_for("sqs:GetQueueUrl", to) if (to := minor_order(case.hop.release.minor)) in every_minor() else None
    return f"Else: {need.effect} Log: {need.log}" if need else ""


def _row(name: str, path: str, *, seen: str, wanted: str, kind: str = "Queue") -> Evidence:
    return Evidence(kind=kind, name=name[:200], path=path, seen=seen, wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    aws, row = case.inventory.aws, evidence[0]
    for queue in aws.queue.items if row.kind == "Queue" else ():
        certain = [fault for fault in interruption_queue.queue_faults(queue, aws) if fault.certain]
        yield from queue_remedies(certain, queue, place=aws.place)
    if row.path in (GONE, SETTING.env) or row.kind == "ConfigMap":
        about = "the name of the queue as SQS knows it; take the value out to do without"
        yield from chart_values(case, {SETTING.value: row.name.rpartition(":")[2]}, about=about)
