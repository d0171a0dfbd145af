import msgspec
import pytest

from migrations_app.inventory.facts.controller import GivenGates, Installation, given_gates
from migrations_app.inventory.facts.managers import Managed
from migrations_app.inventory.objects.workloads import Workload


def container(**fields):
    pod = {"containers": [{"name": "controller"} | fields]}
    raw = {"metadata": {"name": "karpenter"}, "spec": {"template": {"spec": pod}}}
    workload = msgspec.json.decode(json_of(raw), type=Workload)
    env = {row["name"]: row.get("value", "") for row in fields.get("env", ())}
    return Installation(workload, Managed("hand"), env)


def json_of(raw):
    return msgspec.json.encode(raw)


FROM = {"envFrom": [{"configMapRef": {"name": "karpenter-env"}}]}
TOLD = {"env": [{"name": "FEATURE_GATES", "value": "Drift=true"}]}
FLAG = {"args": ["--feature-gates=Drift=false"]}
OF_VARIABLE = GivenGates("containers[].env[FEATURE_GATES]", "Drift=true")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"envFrom": []}, None),
        (FROM, GivenGates("containers[].envFrom", "")),
        (FROM | TOLD, OF_VARIABLE),
        (TOLD, OF_VARIABLE),
        (FROM | TOLD | FLAG, GivenGates("containers[controller].args[0]", "Drift=false")),
    ],
)
def test_what_was_given_comes_before_what_may_be_elsewhere(fields, expected):
    assert given_gates(container(**fields)) == expected


@pytest.mark.parametrize(("text", "off"), [("true", True), ("1", True), ("TRUE", True), ("false", False), ("", False)])
def test_webhooks_are_switched_off_in_every_spelling_of_true(text, off):
    assert container(env=[{"name": "DISABLE_WEBHOOK", "value": text}]).webhook_disabled is off
