import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.installation import admission_webhook
from migrations_app.samples.kubernetes_objects import owner
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without

CHECK = "webhooks_not_owned_by_namespace"
NAME = "validation.webhook.karpenter.sh"


def owned(*kinds: str):
    hook = admission_webhook(NAME, namespace="kube-system")
    hook["metadata"]["ownerReferences"] = [owner(kind, "kube-system", api_version="v1") for kind in kinds]
    return a_cluster().with_docs(hook)


@pytest.mark.parametrize("kinds", [(), ("Deployment",)])
def test_no_namespace_owns_it(kinds):
    found = result_of(CHECK, "1.0", owned(*kinds))
    assert found == ("pass", "No webhook configuration is owned by a namespace", ())


def test_a_namespace_owns_it():
    row = Evidence(
        kind="ValidatingWebhookConfiguration",
        name=NAME,
        path="metadata.ownerReferences",
        seen="Namespace kube-system",
        wanted="none, as 0.33.10, 0.34.11, 0.35.10, 0.36.7, 0.37.5 and later leave it",
    )
    assert result_of(CHECK, "1.0", owned("Namespace")) == (
        "fail",
        "1 webhook configuration is owned by a namespace",
        (row,),
    )


def test_without_webhooks_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", a_cluster()) == ("not_applicable", "there is no admission webhook of Karpenter", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_takes_the_owner_off():
    assert remedies(CHECK, "1.0", owned("Namespace"))[0].text.splitlines()[1] == (
        f"kubectl patch validatingwebhookconfiguration {NAME} --type=json -p "
        """'[{"op":"remove","path":"/metadata/ownerReferences"}]'"""
    )
