import pytest

from migrations_app.checks.values import Evidence
from tests.builders import a_cluster, blind, reads, remedies, told

CHECK = "webhooks_owned_by_no_namespace"
FIXED = "no owner; 0.33.10, 0.34.11, 0.35.10, 0.36.7, 0.37.5 and later take it away"


def webhook(*owners, kind="ValidatingWebhookConfiguration", name="validation.webhook.karpenter.sh"):
    references = [{"apiVersion": "v1", "kind": kind, "name": owner} for kind, owner in owners]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "ownerReferences": references},
        "webhooks": [],
    }


def owned(*webhooks):
    return a_cluster("0.37.4").without("webhooks").with_docs(*webhooks)


def test_no_owner_or_another_one():
    good = ("pass", "No admission webhook is owned by a Namespace", ())
    assert told(CHECK, "1.0", owned(webhook())) == good
    assert told(CHECK, "1.0", owned(webhook(("Deployment", "karpenter")))) == good


def test_owned_by_a_namespace():
    one = webhook(("Deployment", "karpenter"), ("Namespace", "kube-system"))
    row = Evidence(
        kind="ValidatingWebhookConfiguration",
        name="validation.webhook.karpenter.sh",
        path="metadata.ownerReferences[1]",
        seen="Namespace kube-system",
        wanted=FIXED,
    )
    assert told(CHECK, "1.0", owned(one)) == ("fail", "1 admission webhook is owned by a Namespace", (row,))


def test_without_webhooks_there_is_nothing_to_ask():
    assert told(CHECK, "1.0", owned())[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert blind(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_takes_the_owner_away():
    (first,) = remedies(CHECK, "1.0", owned(webhook(("Namespace", "kube-system"))))
    assert first.text.splitlines()[1] == (
        "kubectl patch validatingwebhookconfiguration validation.webhook.karpenter.sh --type=json "
        """-p '[{"op":"remove","path":"/metadata/ownerReferences/0"}]'"""
    )
