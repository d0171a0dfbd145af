import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "controller_role_named"
GOOD = ("pass", "The controller's service account has an IAM role", ())
BY_HAND = "no service account names a role: look for a Pod Identity association of the controller in EKS"


@pytest.mark.parametrize(
    "role",
    [
        "arn:aws:iam::111122223333:role/KarpenterController",
        "arn:aws-cn:iam::111122223333:role/path/to/Karpenter.Controller+a=b,@-1",
        "arn:aws-us-gov:iam::111122223333:role/x",
    ],
)
def test_a_role_by_annotation(role):
    assert result_of(CHECK, "1.0", a_cluster(role=role)) == GOOD


@pytest.mark.parametrize(
    "role", ["KarpenterController", "arn:aws:iam::1111:role/x", "arn:aws:iam::111122223333:user/x"]
)
def test_an_annotation_that_is_no_role(role):
    evidence = Evidence(
        kind="ServiceAccount",
        namespace="kube-system",
        name="karpenter",
        path="metadata.annotations[eks.amazonaws.com/role-arn]",
        seen=role,
        wanted="arn:aws:iam::<account>:role/<name>",
    )
    assert result_of(CHECK, "1.0", a_cluster(role=role)) == (
        "fail",
        "1 service account has no usable IAM role",
        (evidence,),
    )


def test_without_an_annotation_only_a_person_can_look():
    assert result_of(CHECK, "1.0", a_cluster(role="")) == ("manual", BY_HAND, ())


def test_the_association_is_looked_up_where_the_name_of_the_cluster_is_known():
    (look,) = remedies(CHECK, "1.0", a_cluster(role="").with_aws())
    listed = "aws eks list-pod-identity-associations --cluster-name test"
    asked = f"{listed} --namespace kube-system --service-account karpenter"
    assert (look.how, look.text.splitlines()[1]) == ("iam", asked)
    assert remedies(CHECK, "1.0", a_cluster(role="")) == ()


def test_without_an_account_only_a_person_can_look():
    assert result_of(CHECK, "1.0", a_cluster().without("controller_accounts")) == ("manual", BY_HAND, ())


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_sets_the_annotation_through_the_chart():
    first = remedies(CHECK, "1.0", a_cluster(role="nonsense"))[0]
    assert first.how == "helm"
    assert isinstance(first.change, HelmChange)
    key = "serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn"
    assert first.change.when == "person"
    assert first.change.given == {key: '"arn:aws:iam::<account>:role/<name>"'}
