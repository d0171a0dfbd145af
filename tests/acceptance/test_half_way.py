"""Clusters in the middle of an upgrade, after one that failed, and after a rollback: no hop is done or ready that is
not."""

import pytest

from migrations_app.readiness.report import HopLine
from tests.acceptance import cluster_crds
from tests.acceptance.clusters import Clean, find, made
from tests.acceptance.judging import judged
from tests.acceptance.places import CRD, DEPLOYMENT
from tests.acceptance.planting import Document, Plant, every, one

V11 = Clean(name="v1-11", version="1.1.10", kubernetes="1.31", hop="1.14", pod_identity=True)


def hop_lines(clean: Clean, *plants: Plant) -> tuple[HopLine, HopLine]:
    """The lines of the hop that ended at the running release, and of the next one."""
    documents = made(clean)
    for plant in plants:
        plant(documents)
    current, following, *_ = judged(clean, documents).hops
    return current, following


def crds_of(version: str, *, stored: tuple[str, ...] = ()) -> Plant:
    """The CRDs are those of another release."""

    def plant(documents: list[Document]) -> None:
        for crd in every(documents, CRD):
            documents.remove(crd)
        documents.extend(cluster_crds.crds(version, namespace="kube-system", stored=stored))

    return plant


def counted(**status: int) -> Plant:
    """The Deployment controller counts the pods so."""
    return lambda documents: one(documents, DEPLOYMENT, "karpenter")["status"].update(status)


@pytest.mark.parametrize("clean", [V11, find("v1-10"), find("beta-037")], ids=lambda clean: clean.name)
def test_a_release_that_arrived_is_done_but_for_what_is_stored(clean: Clean) -> None:
    assert hop_lines(clean)[0].verdict == ("in_progress" if clean.name == "v1-10" else "done")


STUCK = counted(replicas=3, updatedReplicas=1, unavailableReplicas=1)


@pytest.mark.parametrize("clean", [V11, find("v1-13"), find("beta-037")], ids=lambda clean: clean.name)
def test_a_release_whose_pods_do_not_start_has_not_arrived(clean: Clean) -> None:
    """The pods of the release before are all ready, as a strategy without unavailable pods leaves them."""
    current, following = hop_lines(clean, STUCK)
    reason = "1 controller Deployment is missing, surplus or not ready"
    assert (current.verdict, current.reasons, current.done_percent) == ("in_progress", (reason,), 99)
    assert (following.verdict, following.reasons[0]) == ("blocked", reason)


@pytest.mark.parametrize(
    ("clean", "crds"),
    [
        (find("v1-10"), crds_of("0.32.10")),
        (find("beta-037"), crds_of("1.1.9")),
        (V11, crds_of("1.0.14", stored=("v1",))),
    ],
    ids=["1.0 on CRDs without v1", "0.37 on CRDs without v1beta1", "1.1 on CRDs of 1.0"],
)
def test_a_release_on_the_crds_of_another_one_has_not_arrived(clean: Clean, crds: Plant) -> None:
    current, following = hop_lines(clean, crds)
    assert (current.verdict, following.verdict) == ("in_progress", "blocked")
