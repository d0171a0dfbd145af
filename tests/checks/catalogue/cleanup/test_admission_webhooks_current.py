import msgspec
import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.installation import admission_webhook
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)

CHECK = "admission_webhooks_current"
GOOD = ("pass", "Every admission webhook has a running backend", ())
NAMES = (
    "validation.webhook.karpenter.sh",
    "validation.webhook.config.karpenter.sh",
    "validation.webhook.karpenter.k8s.aws",
)
DEFAULTING = "defaulting.webhook.karpenter.k8s.aws"
ONE = "1 admission webhook has no backend and refuses writes"


def hooked(version: str = "0.37.8", *, namespace: str = "kube-system", **install):
    made = a_cluster(version, kubernetes="1.28", **install)
    return made.with_docs(admission_webhook(NAMES[0], namespace=namespace))


def stale(seen: str, *, name: str = NAMES[0], kind: str = "ValidatingWebhookConfiguration") -> Evidence:
    return Evidence(kind=kind, name=name, seen=seen, wanted="absent")


def test_none_is_there():
    assert result_of(CHECK, "1.0", a_cluster()) == GOOD


@pytest.mark.parametrize(("version", "hop"), [("0.30.0", "0.31"), ("0.32.10", "0.33+"), ("0.37.8", "1.0")])
def test_those_of_the_running_release_answer(version, hop):
    cluster = a_cluster(version, kubernetes="1.27")
    if version == "0.30.0":
        cluster.without("services").with_docs(webhook_service())
    docs = [admission_webhook(name, namespace="kube-system") for name in NAMES]
    docs.append(admission_webhook(DEFAULTING, namespace="kube-system", mutating=True))
    assert result_of(CHECK, hop, cluster.with_docs(*docs)) == GOOD


def webhook_service():
    spec = {"ports": [{"name": "https-webhook", "port": 8443}]}
    return doc("v1", "Service", metadata=meta("karpenter", "kube-system"), spec=spec)


def test_an_answer_that_cannot_be_told():
    why = f"whether {NAMES[0]} is answered could not be read: forbidden"
    assert result_of(CHECK, "1.0", hooked(replicas=0).unseen("endpoints")) == ("unknown", why, ())
    assert result_of(CHECK, "1.0", hooked().unseen("endpoints")) == GOOD


def test_1_0_answers_none():
    cluster = hooked("1.0.14").with_docs(admission_webhook(DEFAULTING, namespace="kube-system", mutating=True))
    seen = "1.0.14 does not answer it"
    assert result_of(CHECK, "1.1+", cluster) == (
        "fail",
        "2 admission webhooks have no backend and refuse writes",
        (stale(seen), stale(seen, name=DEFAULTING, kind="MutatingWebhookConfiguration")),
    )


def test_with_webhooks_off_nobody_answers():
    found = result_of(CHECK, "1.0", hooked(env={"DISABLE_WEBHOOK": "true"}))
    assert found == ("fail", ONE, (stale("0.37.8 does not answer it with webhooks off"),))


def test_older_patches_answer_none_by_default():
    found = result_of(CHECK, "0.33+", hooked("0.33.5"))
    assert found == ("fail", ONE, (stale("0.33.5 does not answer it with webhooks off"),))
    assert result_of(CHECK, "0.33+", hooked("0.33.5", env={"DISABLE_WEBHOOK": "false"}))[0] == "pass"


def test_the_service_is_somewhere_else():
    found = result_of(CHECK, "1.0", hooked(namespace="karpenter"))
    assert found == ("fail", ONE, (stale("karpenter/karpenter: no such Service"),))


def test_one_from_before_our_tables():
    name = "defaulting.webhook.provisioners.karpenter.sh"
    cluster = a_cluster().with_docs(admission_webhook(name, namespace="kube-system", mutating=True))
    row = stale("0.37.8 does not answer it", name=name, kind="MutatingWebhookConfiguration")
    assert result_of(CHECK, "1.0", cluster) == ("fail", ONE, (row,))


def test_one_of_somebody_else_counts_when_its_service_is_gone():
    spec = {"name": "policy", "clientConfig": {"service": {"namespace": "policy", "name": "gate", "port": 443}}}
    other = doc(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", metadata=meta("policy"), webhooks=[spec]
    )
    row = stale("policy/gate: no such Service", name="policy")
    assert result_of(CHECK, "1.0", a_cluster().with_docs(other)) == ("fail", ONE, (row,))


@pytest.mark.parametrize("webhooks", [None, [], [{"name": "x"}], [{"name": "x", "clientConfig": {"url": "https://x"}}]])
def test_configurations_that_call_no_service(webhooks):
    odd = doc(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", metadata=meta("odd"), webhooks=webhooks
    )
    assert result_of(CHECK, "1.0", a_cluster().with_docs(odd)) == GOOD


def test_an_unknown_release_is_unknown():
    cluster = an_empty_cluster().with_docs(admission_webhook(NAMES[0], namespace="kube-system"))
    why = f"{NAMES[0]}: whether the running release answers it is not known"
    assert result_of(CHECK, "1.0", cluster, start="0.37.8") == ("unknown", why, ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_one_that_the_running_release_serves_waits_for_its_pods():
    """The controller does not start; its webhooks answer once it does, so they are not deleted."""
    stopped = hooked(replicas=0)
    finding = finding_of(CHECK, "1.0", stopped)
    row = msgspec.structs.replace(
        stale("kube-system/karpenter: the Service has no ready endpoint"), wanted="a ready endpoint"
    )
    assert (finding.status, finding.evidence) == ("fail", (row,))
    assert [one.how for one in finding.remedies] == ["kubectl"]  # no action either
    assert finding.remedies[0].text.splitlines()[1:] == [
        "kubectl -n kube-system describe service karpenter",
        "kubectl -n kube-system describe pods -l app.kubernetes.io/name=karpenter",
    ]


def test_beside_one_that_waits_the_stale_one_is_deleted():
    old = "defaulting.webhook.provisioners.karpenter.sh"
    both = hooked(replicas=0).with_docs(admission_webhook(old, namespace="kube-system", mutating=True))
    finding = finding_of(CHECK, "1.0", both)
    deleted = [one.text for one in finding.remedies if "delete" in one.text]
    assert deleted == [f"kubectl delete mutatingwebhookconfigurations {old}"]
    assert "action" in {one.how for one in finding.remedies}


def test_the_remedies_delete_by_kind():
    cluster = hooked("1.0.14").with_docs(admission_webhook(DEFAULTING, namespace="kube-system", mutating=True))
    assert without_changes(remedies(CHECK, "1.1+", cluster)) == (
        Remedy(how="kubectl", text=f"kubectl delete validatingwebhookconfigurations {NAMES[0]}"),
        Remedy(how="kubectl", text=f"kubectl delete mutatingwebhookconfigurations {DEFAULTING}"),
    )
