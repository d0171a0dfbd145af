import json

from migrations_app.iam.queue_policy import SENDERS
from migrations_app.karpenter.release_facts import RULES
from tests import upstream


def test_a_pattern_is_one_of_eventbridge():
    assert json.loads(RULES[1].pattern) == {
        "source": ["aws.ec2"],
        "detail-type": ["EC2 Spot Instance Interruption Warning"],
    }


def test_rules_and_senders_are_those_of_the_official_template():
    told = upstream.permissions().interruption
    always = {(rule.source, rule.detail_type) for rule in told.rules if rule.always}
    assert {(rule.source, rule.detail_type) for rule in RULES} == always
    assert told.senders == SENDERS
