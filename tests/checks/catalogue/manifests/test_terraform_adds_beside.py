import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import (
    AUTO_MODE,
    REFERENCE,
    a_class,
    a_pool,
    a_provisioner,
    a_template,
    answer,
    at,
    found,
    parses,
    row,
    unseen_is_unknown,
)

CHECK = "terraform_adds_beside"
GOOD = ("pass", "No NodePool or node class is replaced in place by Terraform")
FIELDS = "metadata.managedFields"
WRITTEN = {FIELDS: [{"manager": "Terraform", "operation": "Apply"}]}


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "helm", "kustomize-controller"])
def test_other_writers(manager):
    changes = {FIELDS: [{"manager": manager, "operation": "Update"}]}
    assert answer(CHECK, "1.0", at("0.37.8", a_pool(changes, version="v1beta1"))) == GOOD


@pytest.mark.parametrize(
    ("made", "kind", "name"),
    [
        (a_pool(WRITTEN, version="v1beta1"), "NodePool", "web"),
        (a_class(WRITTEN, version="v1beta1"), "EC2NodeClass", "default"),
        (a_provisioner(WRITTEN), "Provisioner", "web"),
        (a_template(WRITTEN), "AWSNodeTemplate", "default"),
    ],
)
def test_what_terraform_wrote(made, kind, name):
    status, (cause,) = found(CHECK, "0.33+", at("0.32.10", made))
    expected = row(kind, name, FIELDS, seen="field manager Terraform", wanted="a new object beside it")
    assert (status, cause) == ("fail", expected)


@pytest.mark.parametrize("odd", [None, [], [{}]])
def test_without_field_managers_nothing_tells_of_it(odd):
    assert answer(CHECK, "1.0", at("0.37.8", a_pool({FIELDS: odd}, version="v1beta1"))) == GOOD


def test_pools_of_auto_mode_are_not_asked_about():
    cluster = at("0.37.8", a_pool(WRITTEN | {REFERENCE: AUTO_MODE}, version="v1beta1"))
    assert answer(CHECK, "1.0", cluster) == ("not_applicable", "there is no pool and no node class")
    assert asked_hops(CHECK) == ("0.32", "0.33+", "1.0")


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy_is_terraforms_first():
    given = remedies(CHECK, "1.0", at("0.37.8", a_pool(WRITTEN, version="v1beta1")))
    assert parses(given) == ["terraform", "kubectl"]
    assert given[0].text.startswith("# Held by Terraform: NodePool web\n")


BY_KUBECTL = {FIELDS: [{"manager": "kubectl", "operation": "Apply"}]}


def test_the_name_that_terraforms_kubectl_provider_shares_with_kubectl_is_a_question():
    asked = finding_of(CHECK, "1.0", at("0.37.8", a_pool(BY_KUBECTL, version="v1beta1")))
    assert (asked.status, asked.severity) == ("manual", "info")
    assert asked.summary == "applied as kubectl, as Terraform's provider kubectl does too: look who holds NodePool web"


def test_beside_what_terraform_holds_for_sure_it_is_not_asked():
    both = (a_pool(BY_KUBECTL, version="v1beta1"), a_class(WRITTEN, version="v1beta1"))
    assert finding_of(CHECK, "1.0", at("0.37.8", *both)).severity == "warning"
