"""What the controller takes from objects that are not read may be anything: no check takes it for absent."""

import pytest

from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.clusters import ACluster, a_cluster, result_of
from tests.builders.newest import NEWEST_MINOR
from tests.builders.pools import a_class, a_pool

MAYBE = "{} may be taken from an object that is not read"
NOT_READ = "of the controller is taken from an object that is not read"
OLD = config_map("karpenter-global-settings", "kube-system", data={"batchMaxDuration": "20s"})
FIXED = a_pool({"spec.replicas": 3})


def of_1_8() -> ACluster:
    return a_cluster("1.8.2", kubernetes="1.33").with_docs(FIXED)


def of_0_33() -> ACluster:
    return a_cluster("0.33.10", kubernetes="1.28")


def of_0_32() -> ACluster:
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(a_class(version="v1beta1"))


CASES = {
    "conversion_webhook_on": ("1.0", a_cluster, "DISABLE_WEBHOOK", MAYBE.format("DISABLE_WEBHOOK")),
    "no_role_assumed": ("1.0", a_cluster, "ASSUME_ROLE_ARN", MAYBE.format("ASSUME_ROLE_ARN")),
    "isolated_vpc_needs_no_iam": (
        "0.33+", of_0_32, "ISOLATED_VPC",
        f"whether the VPC is isolated could not be read: not_asked (ISOLATED_VPC {NOT_READ})",
    ),
    "interruption_queue_answers": (
        "1.0", a_cluster, "INTERRUPTION_QUEUE",
        f"the name of the queue could not be read: not_asked (INTERRUPTION_QUEUE {NOT_READ})",
    ),
    "global_settings_carried_over": (
        "0.33+", lambda: of_0_33().with_docs(OLD), "BATCH_MAX_DURATION", MAYBE.format("BATCH_MAX_DURATION"),
    ),
}  # fmt: skip
GATES = "containers[].{} is empty or taken from an object that is not read"


@pytest.mark.parametrize("check", CASES)
@pytest.mark.parametrize("by_name", [True, False])
def test_it_is_unknown(check, by_name):
    hop, made, variable, words = CASES[check]
    cluster = made().with_hidden(variable if by_name else "")
    assert result_of(check, hop, cluster) == ("unknown", words, ())


@pytest.mark.parametrize(("variable", "place"), [("FEATURE_GATES", "env[FEATURE_GATES]"), ("", "envFrom")])
def test_gates_are_unknown(variable, place):
    cluster = of_1_8().with_hidden(variable)
    assert result_of("static_pools_enabled", NEWEST_MINOR, cluster) == ("unknown", GATES.format(place), ())


def test_names_that_nobody_heeds_may_be_among_them():
    words = "more variables are taken from an object that is not read (envFrom)"
    assert result_of("removed_env_names_unused", "1.0", a_cluster().with_hidden()) == ("unknown", words, ())


@pytest.mark.parametrize("check", ["conversion_webhook_on", "no_role_assumed"])
def test_what_stands_there_by_its_name_is_known(check):
    env = {"DISABLE_WEBHOOK": "false", "ASSUME_ROLE_ARN": ""}
    assert result_of(check, "1.0", a_cluster(env=env).with_hidden())[0] == "pass"
