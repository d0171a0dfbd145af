"""Which admission webhook configurations no tool deletes, and whether a Helm release has the controller."""

from typing import Any

import pytest

from migrations_app.readiness.kept_webhooks import chart_deletes, kept_webhooks, without_release
from migrations_app.samples.installation import admission_webhook, helm_marks
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import ACluster, a_cluster, an_empty_cluster

NAME = "validation.webhook.karpenter.sh"
ARGO = {"argocd.argoproj.io/tracking-id": "karpenter:apps/Deployment:kube-system/karpenter"}
HELM = helm_marks("karpenter", "kube-system")
FLUX_HELM = {"helm.toolkit.fluxcd.io/name": "karpenter", "helm.toolkit.fluxcd.io/namespace": "flux-system"}
KUSTOMIZE = {"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}


def webhook(*, annotations: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> dict[str, Any]:
    made = admission_webhook(NAME, namespace="kube-system")
    made["metadata"] |= {"annotations": annotations or {}, "labels": labels or {}}
    return made


def rendered(**install: Any) -> ACluster:
    """A cluster whose chart was rendered and applied: no marks and no record of Helm."""
    return a_cluster(helm=False, **install)


def kustomization(**spec: Any) -> dict[str, Any]:
    body = {"path": "./infra", **spec}
    return doc("kustomize.toolkit.fluxcd.io/v1", "Kustomization", metadata=meta("infra", "flux-system"), spec=body)


def test_what_helm_has_recorded_is_deleted_by_helm() -> None:
    for marks in ({}, HELM):
        cluster = a_cluster().with_values({}).with_docs(webhook(annotations=marks)).build()
        assert (chart_deletes(cluster), kept_webhooks(cluster), without_release(cluster)) == (True, (), False)


def test_a_rendered_chart_leaves_its_webhooks() -> None:
    cluster = rendered().with_docs(webhook()).build()
    assert (chart_deletes(cluster), kept_webhooks(cluster), without_release(cluster)) == (False, (NAME,), True)


def test_marks_of_a_release_that_is_gone_delete_nothing() -> None:
    gone = helm_marks("former", "kube-system")
    cluster = a_cluster().with_values({}).with_docs(webhook(annotations=gone)).build()
    assert kept_webhooks(cluster) == (NAME,)
    unread = a_cluster().with_docs(webhook(annotations=gone)).unseen("helm_releases").build()
    assert kept_webhooks(unread) == ()


def test_a_chart_around_that_of_karpenter_is_upgraded_by_its_release() -> None:
    around = helm_marks("platform", "kube-system")
    cluster = rendered(annotations=around).with_docs(webhook(annotations=around)).build()
    assert (chart_deletes(cluster), kept_webhooks(cluster), without_release(cluster)) == (True, (), False)


@pytest.mark.parametrize("marks", [{}, ARGO, HELM, ARGO | HELM])
@pytest.mark.parametrize("recorded", [False, True])
def test_argo_cd_leaves_them_even_with_a_former_record_of_helm(marks: dict[str, str], recorded: bool) -> None:
    made = rendered(annotations=ARGO).with_docs(webhook(annotations=marks))
    cluster = (made.with_values({}) if recorded else made).build()
    assert (chart_deletes(cluster), kept_webhooks(cluster)) == (False, (NAME,))
    assert without_release(cluster) is not recorded


def test_a_webhook_of_argo_cd_beside_a_release_of_helm_stays() -> None:
    assert kept_webhooks(a_cluster().with_values({}).with_docs(webhook(annotations=ARGO)).build()) == (NAME,)


@pytest.mark.parametrize(
    ("deliveries", "wanted"),
    [
        ([kustomization(prune=True)], ()),
        ([kustomization(prune=False)], (NAME,)),
        ([kustomization()], (NAME,)),
        ([], (NAME,)),
    ],
)
def test_a_kustomization_deletes_only_if_it_prunes(deliveries: list[dict[str, Any]], wanted: tuple[str, ...]) -> None:
    cluster = rendered(labels=KUSTOMIZE).with_docs(webhook(labels=KUSTOMIZE), *deliveries).build()
    assert kept_webhooks(cluster) == wanted


def test_a_release_of_flux_deletes_them() -> None:
    cluster = rendered(labels=FLUX_HELM).with_docs(webhook(labels=FLUX_HELM)).build()
    assert (chart_deletes(cluster), kept_webhooks(cluster), without_release(cluster)) == (True, (), False)


def test_what_was_not_read_is_not_known() -> None:
    for part in (rendered().unseen("webhooks"), rendered().with_docs(webhook()).quarantined("webhooks")):
        assert kept_webhooks(part.build()) is None
    assert without_release(rendered().unseen("helm_releases").build()) is None
    assert without_release(rendered().quarantined("helm_releases").build()) is None


def test_webhooks_of_others_are_not_counted() -> None:
    other = admission_webhook("policies.example.com", namespace="kube-system")
    assert kept_webhooks(rendered().with_docs(other).build()) == ()


def test_without_a_controller_nothing_is_claimed() -> None:
    nothing = an_empty_cluster().build()
    assert (chart_deletes(nothing), kept_webhooks(nothing), without_release(nothing)) == (False, (), False)
