import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, provisioner
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without

CHECK = "legacy_provisioners_gone"
GOOD = ("pass", "No Provisioner is left", ())


def with_provisioners(*names: str, **metadata):
    made = [provisioner(name, ON_DEMAND, template="default") for name in names]
    for one in made:
        one["metadata"] |= metadata
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(*made)


def left(name: str, seen: str = "karpenter.sh/v1alpha5") -> Evidence:
    return Evidence(kind="Provisioner", name=name, seen=seen, wanted="a NodePool in its place")


def test_none_is_left():
    assert result_of(CHECK, "0.33+", with_provisioners()) == GOOD


def test_each_one_left_is_named():
    found = result_of(CHECK, "0.33+", with_provisioners("web", "batch"))
    assert found == ("fail", "2 Provisioners still exist", (left("web"), left("batch")))


def test_one_that_is_being_deleted_is_still_there():
    found = result_of(CHECK, "0.33+", with_provisioners("web", deletionTimestamp="2026-10-01T10:00:00Z"))
    assert found == ("fail", "1 Provisioner still exists", (left("web", "being deleted"),))


def test_it_blocks_at_0_33_and_is_not_asked_at_0_32():
    cluster = with_provisioners("web")
    assert [finding_of(CHECK, hop, cluster).severity for hop in ("0.33+", "1.0", "1.1+")] == [
        "blocker",
        "warning",
        "warning",
    ]
    assert "0.32" not in asked_hops(CHECK)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", with_provisioners(), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_one_that_could_not_be_read_leaves_it_unknown():
    found = result_of(CHECK, "0.33+", with_provisioners().quarantined("provisioners", name="odd"))
    assert found == ("unknown", "1 of provisioners could not be read, first odd at $.spec", ())


KUBECTL = (
    "if kubectl get machines.karpenter.sh -o 'jsonpath={.kind}{.items[*].metadata.name}' | grep -qx List; "
    "then kubectl delete provisioners.karpenter.sh web; else echo "
    "'not deleted: provisioners.karpenter.sh web; look first at: kubectl get machines.karpenter.sh' >&2; false; fi"
)


@pytest.mark.parametrize(
    ("metadata", "first"),
    [
        ({}, ("kubectl", KUBECTL)),
        (
            {"labels": {"kustomize.toolkit.fluxcd.io/name": "pools", "kustomize.toolkit.fluxcd.io/namespace": "flux"}},
            ("flux", "# In the repository that Flux applies (flux/pools): take provisioners.karpenter.sh web out"),
        ),
        (
            {"annotations": {"argocd.argoproj.io/tracking-id": "pools:karpenter.sh/Provisioner:/web"}},
            ("argocd", "# In the source of the Argo CD Application (pools): take provisioners.karpenter.sh web out"),
        ),
        (
            {"managedFields": [{"manager": "Terraform", "operation": "Apply"}]},
            ("terraform", "# In the Terraform code that holds it: take provisioners.karpenter.sh web out"),
        ),
        (
            {"annotations": {"meta.helm.sh/release-name": "pools", "meta.helm.sh/release-namespace": "infra"}},
            ("helm", "# In the chart of the Helm release (infra/pools): take provisioners.karpenter.sh web out"),
        ),
    ],
)
def test_the_first_remedy_follows_the_manager(metadata, first):
    found = remedies(CHECK, "0.33+", with_provisioners("web", **metadata))
    said = [line for line in found[0].text.splitlines() if not line.startswith("# Then ")]
    assert (found[0].how, said[-1]) == first


FLUX = "kustomization p --namespace flux"


@pytest.mark.parametrize(
    ("metadata", "then"),
    [
        (
            {"labels": {"kustomize.toolkit.fluxcd.io/name": "p", "kustomize.toolkit.fluxcd.io/namespace": "flux"}},
            f"# Then flux resume {FLUX} && flux reconcile {FLUX} --with-source",
        ),
        (
            {"annotations": {"argocd.argoproj.io/tracking-id": "p:karpenter.sh/Provisioner:/web"}},
            "# Then argocd app sync p --prune --resource karpenter.sh:Provisioner:web",
        ),
    ],
)
def test_what_leaves_a_source_is_taken_away_at_once_and_nothing_else_is(metadata, then):
    found = remedies(CHECK, "0.33+", with_provisioners("web", **metadata))
    assert found[0].text.splitlines()[-1] == then


def test_the_last_remedy_is_the_command_for_the_cluster():
    found = remedies(CHECK, "0.33+", with_provisioners("web"))
    assert found[-1].text.splitlines()[-1] == KUBECTL
