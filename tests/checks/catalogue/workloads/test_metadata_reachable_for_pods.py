import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.kubernetes_objects import template, workload
from tests.builders.clusters import asked_hops, remedies
from tests.builders.patches import patch_words
from tests.builders.pools import a_class, answer, at, found, parses, unseen_is_unknown

CHECK = "metadata_reachable_for_pods"
GOOD = ("pass", "Pods reach instance metadata where they need it")
LIMIT = "spec.metadataOptions.httpPutResponseHopLimit"
IMAGE = "public.ecr.aws/eks/aws-load-balancer-controller:v2.8.1"
SPARED = ["--aws-region=eu-west-1", "--aws-vpc-id=vpc-1"]
LOOK = (
    f"EC2NodeClass default: {LIMIT} is 1; look for pods without host network that have neither "
    "a role by annotation nor Pod Identity and ask instance metadata"
)


def v1(limit=1, *docs):
    return at("1.0.14", a_class({LIMIT: limit}), *docs)


def controller(*args: str, **more):
    spec = {"containers": [{"name": "controller", "image": IMAGE, "args": list(args)}], **more}
    spec["nodeSelector"] = {"karpenter.sh/nodepool": "web"}
    pod = template({"app": "lbc"}, spec)
    return workload("Deployment", "lbc", namespace="kube-system", replicas=2, pod=pod)


@pytest.mark.parametrize("limit", [2, 3])
def test_two_hops(limit):
    assert answer(CHECK, "1.1+", v1(limit, controller())) == GOOD


@pytest.mark.parametrize("limit", [1, None])
def test_one_hop_is_for_a_person(limit):
    assert answer(CHECK, "1.1+", v1(limit)) == ("manual", LOOK)


@pytest.mark.parametrize("args", [(), ("--aws-vpc-id=vpc-1",)])
def test_a_workload_that_is_known_to_ask(args):
    cause = Evidence(
        kind="Deployment",
        namespace="kube-system",
        name="lbc",
        path="spec.template.spec.containers",
        seen=IMAGE,
        wanted="--aws-region and --aws-vpc-id, or hostNetwork",
    )
    assert found(CHECK, "1.1+", v1(1, controller(*args))) == ("fail", (cause,))


@pytest.mark.parametrize("made", [controller(*SPARED), controller(hostNetwork=True)])
def test_one_that_need_not_ask(made):
    assert answer(CHECK, "1.1+", v1(1, made)) == ("manual", LOOK)


@pytest.mark.parametrize("odd", ["1", [1], True])
def test_odd_values_are_unknown_by_their_field(odd):
    assert answer(CHECK, "1.1+", v1(odd)) == ("unknown", f"EC2NodeClass default: {LIMIT} is not a whole number")


def test_stored_v1beta1_classes_keep_what_they_have():
    absent = ("not_applicable", "no EC2NodeClass is read as v1 yet; stored classes keep their hop limit")
    assert answer(CHECK, "1.0", at("0.37.8", a_class(version="v1beta1"))) == absent
    assert asked_hops(CHECK) == ("1.0", "1.1+")


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_the_remedy_offers_both_ways():
    given = remedies(CHECK, "1.1+", v1(1, controller()))
    assert parses(given) == ["kubectl"]
    patch = patch_words(("/spec/metadataOptions/httpPutResponseHopLimit", 1, 2))
    assert given[0].text.splitlines() == [
        "# Deployment kube-system/lbc: --aws-region and --aws-vpc-id, or hostNetwork",
        "# or, for all pods of these classes; their nodes drift:",
        f"kubectl patch ec2nodeclasses.karpenter.k8s.aws default {patch}",
    ]


@pytest.mark.parametrize("before", [1, None])
def test_the_remedy_says_how_it_is_undone(before):
    (change,) = leaves(remedies(CHECK, "1.1+", v1(before, controller()))[0].change)
    assert change.undo.body == {"spec": {"metadataOptions": {"httpPutResponseHopLimit": before}}}
