"""Manifests, Helm values and IAM policies that people paste, changed in every way (T04, T23, K18)."""

import json
import random
from functools import cache
from typing import Any

import yaml

from migrations_app.clients.helm.values import kept_values
from migrations_app.conversion.reports.report import convert_texts
from migrations_app.errors import InvalidInput
from migrations_app.iam.policy import IamPolicy, PolicyStatement, parse_policy
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.site import AwsSite
from tests.conversion.case_files import own_cases
from tests.iam.test_properties import RELEASES
from tests.redaction_cases import SHAPES
from tests.trust.parts import Part
from tests.trust.tampering import TEXT_PIECES, changed, changed_tree


@cache
def _manifests() -> tuple[list[Any], ...]:
    return tuple(case["in"] for case in own_cases() if case.get("in"))


def a_conversion(dice: random.Random) -> str:
    """What comes out is the same read as YAML, read as JSON, and as the objects that are told."""
    raw = yaml.safe_dump_all([changed_tree(one, dice) for one in dice.choice(_manifests())]).encode()
    made = convert_texts([("input", changed(raw, dice, pieces=TEXT_PIECES) if dice.random() < 0.5 else raw)])
    written = [one for one in yaml.safe_load_all(made.as_yaml()) if one is not None]
    told = json.loads(json.dumps(made.objects))
    if written != told:
        return "the YAML is not what is told"
    read = json.loads(made.as_json() or "null")
    listed = [] if read is None else read["items"] if len(told) > 1 else [read]
    return "" if listed == told else "the JSON is not what is told"


VALUES: dict[str, Any] = {
    "settings": {"clusterName": "blue", "interruptionQueue": "blue", "featureGates": {"drift": True}},
    "controller": {
        "env": [{"name": "HTTPS_PROXY", "value": "https://proxy:3128"}, {"name": "AWS_REGION", "value": "eu-west-1"}],
        "image": {"repository": "public.ecr.aws/karpenter/controller", "tag": "1.0.8"},
        "sidecarContainer": [{"name": "a", "image": "x"}],
    },
    "serviceAccount": {"name": "karpenter", "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/k"}},
    "webhook": {"enabled": True, "port": 8443},
    "logLevel": "info",
}


def some_values(dice: random.Random) -> str:
    """Values with a secret at some place: what is kept of them holds none."""
    shape, tree = dice.choice(SHAPES), changed_tree(VALUES, dice)
    place, key = tree, dice.choice(list(tree) or ["settings"])
    while isinstance(place.get(key), dict) and place[key] and dice.random() < 0.8:
        place = place[key]
        key = dice.choice(list(place))
    place[key] = dice.choice([shape.text, [shape.text], [{"name": "X", "value": shape.text}], {"note": shape.text}])
    kept = json.dumps(kept_values(tree), ensure_ascii=False)
    hidden = json.dumps(shape.hidden, ensure_ascii=False)[1:-1]
    return f"keeps the secret of {shape.name}" if hidden in kept else ""


POLICY: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        {"Sid": "Run", "Effect": "Allow", "Action": ["ec2:RunInstances", "ec2:CreateFleet"], "Resource": "*"},
        {"Effect": "Allow", "NotAction": "iam:*", "Resource": "arn:aws:ec2:*:*:instance/*"},
        {
            "Effect": "Deny", "Action": "ec2:*", "NotResource": ["arn:${AWS::Partition}:ec2:*:*:*/*"],
            "Condition": {"StringEquals": {"aws:RequestTag/karpenter.sh/nodepool": ["*", "x"]}, "Bool": {"a:b": False}},
        },
        {"Effect": "Allow", "Action": "iam:PassRole", "Resource": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/k"}},
    ],
}  # fmt: skip
NOTHING = IamPolicy(
    name="nothing",
    statements=(PolicyStatement(where="all", allow=False, actions=("*",), resources=("*",), conditions=()),),
)
SITE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")


def a_policy(dice: random.Random) -> str:
    """A policy that is read is judged; with a denial of everything on top nothing of it is allowed."""
    raw = json.dumps(changed_tree(POLICY, dice)).encode()
    try:
        policy = parse_policy(changed(raw, dice, pieces=TEXT_PIECES) if dice.random() < 0.3 else raw)
    except InvalidInput as refused:
        return "" if refused.code else "refused without a code"
    release = dice.choice(RELEASES)
    alone = {gap.action for gap in find_gaps([policy], release=release, site=SITE).gaps}
    denied = find_gaps([policy, NOTHING], release=release, site=SITE)
    return "" if alone <= {gap.action for gap in denied.gaps} and not denied.ok else "a denial opened something"


PARTS = (
    Part(name="conversions", full=100_000, rules="T04, K18", trial=a_conversion),
    Part(name="values", full=100_000, rules="T23, K18", trial=some_values),
    Part(name="policies", full=100_000, rules="T04, K18", trial=a_policy),
)
