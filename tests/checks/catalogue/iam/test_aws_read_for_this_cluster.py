from migrations_app.checks.base import Evidence
from migrations_app.inventory.objects.aws import Caller
from migrations_app.inventory.parts import NOT_ASKED
from migrations_app.samples.karpenter_objects import Launched, claim
from tests.builders.clusters import a_cluster, remedies, result_of, result_without

CHECK = "aws_read_for_this_cluster"
GOOD = ("pass", "AWS was read for the cluster of the controller", ())
CALLER = (Caller(account="111122223333", arn="arn:aws:iam::111122223333:role/reader"),)
LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")


def named(name: str | None):
    env = {"CLUSTER_NAME": name} if name is not None else {}
    return a_cluster("0.37.8", env=env).with_aws(identity=CALLER)


def test_the_controller_names_the_cluster_that_was_given():
    assert result_of(CHECK, "1.0", named("test")) == GOOD


def test_a_controller_without_a_name_is_the_subject_of_another_check():
    assert result_of(CHECK, "1.0", named(None)) == GOOD


def test_the_controller_names_another_cluster():
    path = "spec.template.spec.containers[].env[CLUSTER_NAME]"
    place = {"kind": "Deployment", "name": "karpenter", "namespace": "kube-system", "path": path}
    row = Evidence(**place, seen="other", wanted="test")
    summary = "1 name differs from the cluster for which AWS was read"
    assert result_of(CHECK, "1.0", named("other")) == ("fail", summary, (row,))
    what = "see which of both is right: give karpdash the ARN of this cluster, or correct settings.clusterName"
    (remedy,) = remedies(CHECK, "1.0", named("other"))
    assert remedy.text == f"# For a person: {what}\n# other and test differ"


def test_nodes_of_another_region():
    found, node = claim(LAUNCHED, node_class="default", version="v1beta1")
    node["spec"]["providerID"] = "aws:///us-west-2b/i-1"
    cluster = named("test").without("nodes").with_docs(found, node)
    row = Evidence(kind="Node", name=LAUNCHED.node, path="spec.providerID", seen="us-west-2", wanted="eu-central-1")
    assert result_of(CHECK, "1.0", cluster)[2] == (row,)


def test_without_access_to_aws_nothing_was_read_for_another_cluster():
    told = ("not_applicable", "AWS was not read for a cluster", ())
    assert result_of(CHECK, "1.0", a_cluster("0.37.8", env={"CLUSTER_NAME": "other"})) == told
    cluster = named("other").with_aws(identity=NOT_ASKED)
    assert result_of(CHECK, "1.0", cluster) == told


def test_no_controller():
    told = ("not_applicable", "there is no Karpenter Deployment", ())
    assert result_of(CHECK, "1.0", named("other").without("controller"), start="0.37.8") == told


def test_unseen():
    for part in ("controller", "nodes"):
        assert result_without(CHECK, "1.0", named("test"), part=part)[0] == "unknown"


def test_a_name_that_is_filled_in_is_not_known():
    said = "CLUSTER_NAME of the controller is $(NAME), which is filled in or no name of a cluster"
    assert result_of(CHECK, "1.0", named("$(NAME)")) == ("unknown", said, ())
