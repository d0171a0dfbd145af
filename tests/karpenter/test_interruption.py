import json
from pathlib import Path

import pytest
import yaml

from migrations_app.karpenter.iam.queue_policy import SENDERS
from migrations_app.karpenter.interruption import RULES

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "iam-requirements.yaml"


def test_a_pattern_is_one_of_eventbridge():
    assert json.loads(RULES[1].pattern) == {
        "source": ["aws.ec2"],
        "detail-type": ["EC2 Spot Instance Interruption Warning"],
    }


def test_rules_and_senders_are_those_of_the_facts():
    if not FACTS.exists():
        pytest.skip("the shared facts are not at hand")
    facts = yaml.safe_load(FACTS.read_text())["interruption_infrastructure"]
    always = {(row["source"], row["detail_type"]) for row in facts["rules"] if "required" not in row}
    assert {(rule.source, rule.detail_type) for rule in RULES} == always
    assert list(SENDERS) == facts["queue_policy"][0]["principals"]
