import pytest

from migrations_app.inventory.aws_facts.image_parameters import image_parameters
from tests.builders.clusters import a_cluster
from tests.builders.pools import GONE, a_class, a_template

EKS = "/aws/service/eks/optimized-ami/1.29"
TERMS, FAMILY = "spec.amiSelectorTerms", "spec.amiFamily"


def at(*docs):
    return a_cluster("1.4.0", kubernetes="1.29").with_docs(*docs)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({TERMS: [{"alias": "al2023@latest"}]}, f"{EKS}/amazon-linux-2023/x86_64/standard/recommended/image_id"),
        (
            {TERMS: [{"alias": "al2023@v20260901"}]},
            f"{EKS}/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.29-v20260901/image_id",
        ),
        ({TERMS: [{"alias": "al2@latest"}]}, f"{EKS}/amazon-linux-2/recommended/image_id"),
        ({TERMS: [{"alias": "al2@v20250101"}]}, f"{EKS}/amazon-linux-2/amazon-eks-node-1.29-v20250101/image_id"),
        ({TERMS: [{"alias": "bottlerocket@v1.22.0"}]}, "/aws/service/bottlerocket/aws-k8s-1.29/x86_64/1.22.0/image_id"),
        (
            {TERMS: [{"alias": "windows2022@latest"}]},
            "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.29/image_id",
        ),
        ({TERMS: [{"ssmParameter": "/team/images/node"}], FAMILY: "AL2023"}, "/team/images/node"),
        ({TERMS: GONE, FAMILY: "Bottlerocket"}, "/aws/service/bottlerocket/aws-k8s-1.29/x86_64/latest/image_id"),
        (
            {TERMS: GONE, FAMILY: "Ubuntu"},
            "/aws/service/canonical/ubuntu/eks/20.04/1.29/stable/current/amd64/hvm/ebs-gp2/ami-id",
        ),
    ],
)
def test_what_a_class_asks_for(changes, found):
    assert image_parameters(at(a_class(changes)).build()) == (found,)


@pytest.mark.parametrize("changes", [{TERMS: [{"id": "ami-1"}]}, {TERMS: GONE, FAMILY: "Custom"}, {TERMS: "text"}])
def test_images_that_no_parameter_tells(changes):
    assert image_parameters(at(a_class(changes)).build()) == ()


def test_templates_use_al2_unless_they_select_images():
    docs = (a_template(), a_template({"spec.amiSelector": {"aws-ids": "ami-1"}}, name="own"))
    assert image_parameters(at(*docs).build()) == (f"{EKS}/amazon-linux-2/recommended/image_id",)


@pytest.mark.parametrize("part", ["ec2nodeclasses", "awsnodetemplates", "version"])
def test_nothing_is_said_of_what_was_not_read(part):
    assert image_parameters(at(a_class()).unseen(part).build()) == ()
