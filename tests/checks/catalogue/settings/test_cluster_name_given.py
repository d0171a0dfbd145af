import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.clusters import (
    NODE,
    ACluster,
    a_cluster,
    an_empty_cluster,
    asked_hops,
    helm_values_of,
    remedies,
    result_of,
    result_without,
)

CHECK = "cluster_name_given"
GOOD = ("pass", "The controller has the cluster name", ())
SAID = "1 controller has no cluster name"
MISSING = Evidence(
    kind="Deployment",
    namespace="kube-system",
    name="karpenter",
    path="spec.template.spec.containers[].env[CLUSTER_NAME]",
    seen="absent",
    wanted="the name of the cluster in EKS",
)
LOST = ("fail", SAID, (MISSING,))
NAMED = {"CLUSTER_NAME": "shop"}


def configured(cluster: ACluster, **data: str) -> ACluster:
    return cluster.with_docs(config_map("karpenter-global-settings", "kube-system", data=data))


def alpha(version: str = "0.32.10", **env: str) -> ACluster:
    return a_cluster(version, kubernetes="1.27", env=env)


@pytest.mark.parametrize("version", ["0.32.10", "0.37.8"])
def test_the_variable_names_it(version):
    assert result_of(CHECK, "1.0", a_cluster(version, env=NAMED)) == GOOD


@pytest.mark.parametrize("flag", ["--cluster-name=shop", "--cluster-name"])
def test_a_flag_does_as_well(flag):
    assert result_of(CHECK, "1.0", a_cluster("0.37.8").with_flag(flag)) == GOOD


@pytest.mark.parametrize("env", [{}, {"CLUSTER_NAME": ""}])
@pytest.mark.parametrize(("version", "hop"), [("0.33.2", "0.33+"), ("0.37.8", "1.0"), ("1.0.14", "1.1+")])
def test_nothing_names_it(version, hop, env):
    assert result_of(CHECK, hop, a_cluster(version, env=env)) == LOST


def test_another_flag_is_none():
    assert result_of(CHECK, "1.0", a_cluster("0.37.8").with_flag("--cluster-endpoint=x")) == LOST


def test_the_config_map_is_not_read_any_more():
    assert result_of(CHECK, "1.0", configured(a_cluster("0.37.8"), **{"aws.clusterName": "shop"})) == LOST


@pytest.mark.parametrize("version", ["0.31.5", "0.32.10"])
def test_the_config_map_may_name_it_until_0_32(version):
    assert result_of(CHECK, "0.33+", configured(alpha(version), **{"aws.clusterName": "shop"})) == GOOD


@pytest.mark.parametrize("data", [{}, {"aws.clusterName": ""}, {"aws.clusterEndpoint": "https://x"}])
def test_until_0_32_neither_names_it(data):
    assert result_of(CHECK, "0.33+", configured(alpha(), **data)) == LOST


def test_until_0_32_a_config_map_that_was_not_read_may_name_it():
    why = "CLUSTER_NAME is absent, and settings could not be read: forbidden"
    assert result_of(CHECK, "0.33+", alpha().unseen("settings")) == ("unknown", why, ())
    assert result_of(CHECK, "0.33+", alpha(**NAMED).unseen("settings")) == GOOD
    assert result_of(CHECK, "1.0", a_cluster("0.37.8").unseen("settings")) == LOST


@pytest.mark.parametrize("variable", ["", "CLUSTER_NAME"])
def test_what_an_object_that_is_not_read_may_give_is_unknown(variable):
    why = "CLUSTER_NAME may be taken from an object that is not read"
    assert result_of(CHECK, "1.0", a_cluster("0.37.8").with_hidden(variable)) == ("unknown", why, ())


def test_a_release_that_is_not_known_may_read_the_config_map():
    unmarked = {"app.kubernetes.io/version": "ours", "helm.sh/chart": "ours"}
    docs = controller(Install(cluster="test", version="0.37.8", labels=unmarked), [NODE])
    docs[0]["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/karpenter:ours"
    why = "CLUSTER_NAME is absent, and which release runs is not known"
    assert result_of(CHECK, "1.0", an_empty_cluster().with_docs(*docs), start="0.37.8") == ("unknown", why, ())


def test_without_a_controller_there_is_nothing_to_ask():
    absent = ("not_applicable", "there is no Karpenter Deployment", ())
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8") == absent


def test_a_deployment_that_was_not_seen_is_unknown():
    assert result_without(CHECK, "1.0", a_cluster("0.37.8"), part="controller") == (
        "unknown",
        "controller could not be read: forbidden",
    )


def test_it_is_asked_from_0_33_on():
    assert asked_hops(CHECK)[0] == "0.33+"


def test_the_remedy_gives_the_value_and_names_the_cluster_where_aws_does():
    for cluster, name in ((a_cluster("0.37.8"), "CLUSTER"), (a_cluster("0.37.8").with_aws(), "test")):
        first = remedies(CHECK, "1.0", cluster)[0]
        when = "person" if name == "CLUSTER" else "landing"
        assert (first.how, helm_values_of(first, when=when)) == ("helm", {"settings.clusterName": f'"{name}"'})
