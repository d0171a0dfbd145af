"""Where deliveries read from: the place in a Git repository, as Flux and Argo CD tell it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.delivery_sources import GitSource, git_address, git_sources
from migrations_app.inventory.objects.cluster import GitOpsSource
from migrations_app.inventory.objects.karpenter import GitOpsDelivery, Metadata
from tests.builders.clusters import an_empty_cluster

HOME = "https://github.com/acme/clusters"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (HOME, HOME),
        (f"{HOME}.git", HOME),
        (f"{HOME}/", HOME),
        ("https://robot:secret@GitHub.com/acme/clusters.git", HOME),
        ("ssh://git@github.com/acme/clusters.git", HOME),
        ("ssh://git@github.com:22/acme/clusters", HOME),
        ("git@github.com:acme/clusters.git", HOME),
        ("https://git.acme.test:8443/a/b/c", "https://git.acme.test:8443/a/b/c"),
        ("oci://charts.acme.test/karpenter", ""),
        ("https://github.com", ""),
        ("https://github.com/a b", ""),
        ("javascript:alert(1)", ""),
        ("", ""),
    ],
)
def test_an_address_is_one_however_it_is_written(text, found):
    assert git_address(text) == found


@given(st.text(max_size=80))
def test_no_text_is_too_odd(text):
    assert git_address(text) == "" or git_address(text).startswith("https://")


def delivery(kind, spec, name="shop"):
    return GitOpsDelivery(kind=kind, metadata=Metadata(name=name, namespace="flux-system"), spec=spec)


def test_flux_and_argo_cd_tell_repository_branch_and_path():
    source = GitOpsSource(
        kind="GitRepository", metadata=Metadata(name="fleet", namespace="flux-system"),
        spec={"url": "ssh://git@github.com/acme/clusters", "ref": {"branch": "main"}},
    )  # fmt: skip
    reference = {"kind": "GitRepository", "name": "fleet"}
    cluster = an_empty_cluster().with_items("sources", source)
    cluster.with_items(
        "deliveries",
        delivery("Kustomization", {"sourceRef": reference, "path": "./clusters/shop"}),
        delivery("Application", {"source": {"repoURL": HOME, "targetRevision": "HEAD", "path": "apps/x"}}),
        delivery("Application", {"source": {"repoURL": HOME, "chart": "karpenter"}}, "chart"),
        delivery("Kustomization", {"sourceRef": {"kind": "GitRepository", "name": "gone"}}, "unread"),
        delivery("Kustomization", {"sourceRef": reference, "kubeConfig": {"x": 1}}, "elsewhere"),
    )
    found = git_sources(cluster.build())
    assert found == (
        GitSource(
            kind="Kustomization", namespace="flux-system", name="shop", address=HOME, branch="main",
            path="clusters/shop",
        ),
        GitSource(kind="Application", namespace="flux-system", name="shop", address=HOME, path="apps/x"),
    )  # fmt: skip
