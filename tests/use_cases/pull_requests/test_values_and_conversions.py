"""Requests for Helm values and for converted manifests, on stand-ins of both hosts."""

import pytest

from migrations_app.checks.changes import HelmChange, HelmValue
from migrations_app.errors import InvalidInput, NotFound
from migrations_app.use_cases.pull_requests.preview import proposal_of
from tests.readiness.pull_requests.test_conversion import BETA, CLASS
from tests.readiness.pull_requests.test_helm_edits import FLUX
from tests.readiness.pull_requests.test_value_sources import ARGO, FILE
from tests.use_cases.pull_requests.stage import a_delivered_cluster, opened, previewed, verbs

pytestmark = pytest.mark.django_db
CHART = HelmChange(
    chart="karpenter", release="karpenter", namespace="karpenter", when="landing",
    values=(HelmValue("settings.clusterName", '"shop"'),),
)  # fmt: skip


def test_values_of_a_helm_release_become_a_request(host, address, asked, eva):
    cluster = a_delivered_cluster(address, CHART, name="values")
    files = {"infra/karpenter.yaml": FLUX, "infra/pools.yaml": BETA}
    host.push("main", files)
    row = previewed(asked, eva, cluster=cluster.pk, path="infra")
    proposal = proposal_of(row)
    assert [one.path for one in proposal.files] == ["infra/karpenter.yaml"]
    assert "+      clusterName: shop\n" in proposal.diff
    assert proposal.beside[0].startswith("merge it with the upgrade")

    row = opened(row, eva)
    new = FLUX.replace("defaultInstanceProfile: x\n", "defaultInstanceProfile: x\n      clusterName: shop\n")
    assert host.commits[host.branches[row.branch]] == files | {"infra/karpenter.yaml": new}
    assert (row.state, row.number) == ("open", 1)


def test_a_file_of_values_elsewhere_in_the_repository_is_edited(host, address, asked, eva):
    cluster = a_delivered_cluster(address, CHART, name="files")
    app = ARGO.replace("git@git.example:team/infra.git", f"{address}.git")
    assert address in app
    files = {"apps/karpenter.yaml": app, "karpenter/prod.yaml": FILE, "karpenter/test.yaml": FILE}
    host.push("main", files)
    row = opened(previewed(asked, eva, cluster=cluster.pk, path="apps"), eva)
    new = FILE.replace("defaultInstanceProfile: x\n", "defaultInstanceProfile: x\n  clusterName: shop\n")
    assert host.commits[host.branches[row.branch]] == files | {"karpenter/prod.yaml": new}


def test_converted_manifests_become_one_request(host, asked, eva):
    host.push("main", {"clusters/shop/pool.yaml": BETA, "clusters/shop/class.yaml": CLASS, "README.md": "karpenter"})
    row = previewed(asked, eva, check="conversion", hop="v1")
    assert host.written() == []
    assert sorted(one.path for one in proposal_of(row).files) == ["clusters/shop/class.yaml", "clusters/shop/pool.yaml"]
    row = opened(row, eva)
    assert (row.state, row.check_id, row.hop) == ("open", "conversion", "v1")
    assert previewed(asked, eva, check="conversion", hop="v1").pk == row.pk
    assert verbs()[-3:] == ["pull_request.previewed", "pull_request.approved", "pull_request.open"]


def test_what_is_no_generation_and_no_cluster_is_refused(asked, eva, host):
    with pytest.raises(InvalidInput) as refused:
        previewed(asked, eva, check="conversion", hop="v2")
    assert (refused.value.code, refused.value.where) == ("bad_generation", "hop")
    with pytest.raises(NotFound):
        previewed(asked, eva, check="conversion", hop="v1", cluster=asked.repository)
    assert host.written() == []


def test_files_without_anything_to_convert_are_told(asked, eva):
    with pytest.raises(InvalidInput) as refused:
        previewed(asked, eva, check="conversion", hop="v1", path="README.md")
    assert refused.value.code == "not_in_files"
