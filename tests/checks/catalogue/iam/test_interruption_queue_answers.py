import json
import re
from dataclasses import replace

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.release_facts import RULES
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.aws import SENDERS, a_queue, parse_all, send
from tests.builders.clusters import (
    PLACE,
    a_cluster,
    asked_hops,
    finding_of,
    helm_values_of,
    reads,
    remedies,
    result_of,
    result_without,
)
from tests.builders.newest import NEWEST_MINOR

CHECK = "interruption_queue_answers"
GOOD = ("pass", "The interruption queue exists and receives AWS events", ())
ONE = "The interruption queue has 1 fault"
BOTH = send(*SENDERS)
PANIC = "Else: The controller panics at start. Log: creating sqs provider"
DENY_HTTP = send(effect="Deny", Action="sqs:*", Condition={"Bool": {"aws:SecureTransport": "false"}})


def told_of(name="test", version="0.37.8"):
    return a_cluster(version, env={"INTERRUPTION_QUEUE": name})


def seen(*statements, **more):
    return told_of().with_aws(queue=(a_queue(*statements, **more),))


def fault(path, found, wanted, name="test"):
    return ("fail", ONE, (Evidence(kind="Queue", name=name, path=path, seen=found, wanted=wanted),))


@pytest.mark.parametrize(
    "statements",
    [
        (BOTH,),
        (send(SENDERS[0]), send(SENDERS[1])),
        (BOTH, DENY_HTTP),
        (send(*SENDERS, Action="SQS:*"),),
        (send(*SENDERS, Condition={"StringEquals": {"aws:SourceAccount": "111122223333"}}),),
    ],
)
def test_the_queue_answers(statements):
    assert result_of(CHECK, "1.0", seen(*statements)) == GOOD


def test_the_queue_is_not_there():
    found = result_of(CHECK, "1.0", seen(exists=False))
    where = "no such queue in eu-central-1, account 111122223333"
    assert found == fault("sqs:GetQueueUrl", where, f"a queue of that name. {PANIC}")


@pytest.mark.parametrize(
    ("statements", "rows"),
    [
        ((), [("events", "the queue has no policy"), ("sqs", "the queue has no policy")]),
        ((send(SENDERS[0]),), [("sqs", "no statement allows the action")]),
        (
            (BOTH, send(effect="Deny")),
            [("events", "queue policy: Statement[1] denies it"), ("sqs", "queue policy: Statement[1] denies it")],
        ),
    ],
)
def test_a_sender_is_refused(statements, rows):
    row = {"kind": "Queue", "name": "test", "wanted": "allowed"}
    wanted = tuple(
        Evidence(**row, path=f"Policy: sqs:SendMessage by {who}.amazonaws.com", seen=why) for who, why in rows
    )
    assert result_of(CHECK, "1.0", seen(*statements))[2] == wanted


def test_a_condition_that_only_aws_fills_in_leaves_it_open():
    rule = {"ArnEquals": {"aws:SourceArn": "arn:aws:events:eu-central-1:111122223333:rule/x"}}
    status, summary, rows = result_of(CHECK, "1.0", seen(send(*SENDERS, Condition=rule)))
    assert (status, rows) == ("unknown", ())
    assert summary.startswith(
        "test, Policy: sqs:SendMessage by events.amazonaws.com: queue policy: Statement[0] allows it or not"
    )


def test_a_policy_that_cannot_be_read_leaves_it_open():
    status, summary, rows = result_of(CHECK, "1.0", seen(policy="{"))
    assert (status, summary, rows) == ("unknown", "test, Policy: queue policy: not JSON; wanted: a policy", ())


def test_the_key_of_sqs_itself_shuts_events_out():
    wanted = "encryption by SQS itself or a key of the customer's: no other service may use this one"
    assert result_of(CHECK, "1.0", seen(BOTH, kms_key="alias/aws/sqs")) == fault(
        "KmsMasterKeyId", "alias/aws/sqs", wanted
    )


def test_a_key_of_the_customer_leaves_it_open():
    summary = (
        "test, KmsMasterKeyId: alias/queue; "
        "wanted: a key policy that lets events.amazonaws.com generate data keys and decrypt"
    )
    assert result_of(CHECK, "1.0", seen(BOTH, kms_key="alias/queue")) == ("unknown", summary, ())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("arn:aws:sqs:eu-central-1:111122223333:test", "an ARN, where the controller takes the name alone"),
        ("a queue", "no name that SQS knows"),
    ],
)
def test_a_name_that_is_none_needs_no_look_at_aws(name, why):
    found = result_of(CHECK, "1.0", told_of(name))
    assert found == fault("INTERRUPTION_QUEUE", why, f"the name of a queue. {PANIC}", name)


def test_without_a_queue_there_is_a_word_of_caution():
    summary = "no interruption queue is configured: nodes are not drained before a Spot interruption"
    assert result_of(CHECK, "1.0", a_cluster()) == ("not_applicable", summary, ())


def old_settings(version):
    data = {"aws.interruptionQueueName": "test"}
    kubernetes = "1.28" if version == "0.32.10" else "1.29"
    return a_cluster(version, kubernetes=kubernetes).with_docs(
        config_map("karpenter-global-settings", "karpenter", data=data)
    )


def test_a_queue_that_was_configured_before_and_is_not_now():
    row = Evidence(
        kind="ConfigMap",
        name="test",
        path="data[aws.interruptionQueueName]",
        seen="read by no release from 0.33 on",
        wanted="settings.interruptionQueue",
    )
    assert result_of(CHECK, "1.0", old_settings("0.37.8")) == ("fail", ONE, (row,))
    (first, *_) = remedies(CHECK, "1.0", old_settings("0.37.8"))
    assert (first.how, helm_values_of(first)) == ("helm", {"settings.interruptionQueue": '"test"'})


def test_up_to_0_32_the_old_setting_is_read():
    assert result_of(CHECK, "0.33+", old_settings("0.32.10").with_aws(queue=(a_queue(BOTH),))) == GOOD


@pytest.mark.parametrize("version", ["0.37.8"])
def test_helm_values_tell_that_it_is_configured(version):
    cluster = old_settings(version).with_values({"settings": {"interruptionQueue": "test"}})
    assert result_of(CHECK, "1.0", cluster.with_aws(queue=(a_queue(BOTH),))) == GOOD


def test_without_aws_it_says_how_to_give_access():
    status, summary, _ = result_of(CHECK, "1.0", told_of())
    assert (status, summary[:36]) == ("unknown", "AWS not connected: give karpdash the")


def test_a_refusal_of_aws_is_told():
    cluster = told_of().with_aws(queue=Unseen("forbidden", "sqs:GetQueueUrl is refused"))
    summary = "aws.queue could not be read: forbidden (sqs:GetQueueUrl is refused)"
    assert result_of(CHECK, "1.0", cluster) == ("unknown", summary, ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", told_of(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_only_0_33_to_1_3_end_at_start():
    assert asked_hops(CHECK) == ("*",)
    gone = a_queue(exists=False)
    found = [
        finding_of(CHECK, hop, told_of(version="1.0.14").with_aws(queue=(gone,))) for hop in ("1.1+", NEWEST_MINOR)
    ]
    assert [one.severity for one in found] == ["blocker", "warning"]
    assert (
        found[1].evidence[0].wanted.endswith("it is logged and tried again. Log: failed to create valid sqs provider")
    )


def test_remedies_make_the_queue_with_its_rules_or_take_the_setting_out():
    found = remedies(CHECK, "1.0", seen(exists=False))
    lines = found[0].text.splitlines()
    assert lines[0].startswith("aws sqs create-queue --region eu-central-1 --queue-name test --attributes ")
    assert sum("events put-rule" in line for line in lines) == 4
    assert {one.how for one in found} == {"iam", "terraform", "helm", "flux", "argocd"}
    parse_all(found)


def test_rules_of_a_cluster_with_a_long_name_fit_into_event_bridge():
    place = replace(PLACE, cluster="c" * 100)
    gone = told_of().with_aws(queue=(a_queue(exists=False),), place=place)
    names = re.findall(r"put-rule .*--name (\S+)", remedies(CHECK, "1.0", gone)[0].text)
    assert [len(name) for name in names] == [64] * 4
    assert [name.lstrip("c") for name in names] == [f"-{rule.id}" for rule in RULES]


def test_remedies_add_a_statement_to_the_policy():
    found = remedies(CHECK, "1.0", seen(send(SENDERS[0]), DENY_HTTP))
    attributes = json.loads(found[0].text.partition("--attributes ")[2].strip("'"))
    statements = json.loads(attributes["Policy"])["Statement"]
    assert statements[:2] == [send(SENDERS[0]), DENY_HTTP]
    assert statements[2]["Principal"] == {"Service": ["sqs.amazonaws.com"]}
    assert "--queue-url https://sqs.eu-central-1.amazonaws.com/111122223333/test " in found[0].text
    parse_all(found)


def test_remedies_change_the_encryption():
    (found,) = remedies(CHECK, "1.0", seen(BOTH, kms_key="alias/aws/sqs"))
    assert '{"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"}' in found.text
