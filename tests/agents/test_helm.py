"""Upgrades of the controller by a real helm on a cluster that is reached through its agent alone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migrations_app.errors import InvalidInput
from migrations_app.models.cluster import Cluster, ClusterAgent
from migrations_app.models.rollout import Attempt
from migrations_app.use_cases.agents.tokens import register_agent
from migrations_app.use_cases.clusters.registration import Details
from migrations_app.use_cases.rollouts import worker
from migrations_app.use_cases.runtime.agent_connections import refuse_without_helm
from tests.actions.on_server import carried_out, previewed
from tests.agents.rig import Site
from tests.deploy.helm import Helm
from tests.deploy.roles import bound
from tests.helm.conftest import FIRST, GIVEN, NEXT, Stage
from tests.helm.own_charts import BASE, HOOK, NAMESPACE, OLD_ONLY, finish_hooks, install, packed, play_controllers
from tests.helm.own_charts import played_beside as beside
from tests.helm.test_on_server import image, records, writes
from tests.helm.test_roles import bound_for_helm
from tests.servers.apiserver import ApiServer

IN = ("--act", "--upgrade-controller", NAMESPACE)


@pytest.fixture
def stage(
    clean_apiserver: ApiServer, site: Site, settings: Any, monkeypatch: pytest.MonkeyPatch, helm: Helm, tmp_path: Path
) -> Iterator[Stage]:
    charts = tmp_path / "charts"
    charts.mkdir()
    more = {"controller_upgrades": True, "helm": helm.program, "helm_seconds": 30, "data_dir": tmp_path}
    settings.ENV = replace(settings.ENV, **more)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    install(helm, clean_apiserver, packed(FIRST, {**BASE, "old.yaml": OLD_ONLY}), GIVEN)
    return Stage(clean_apiserver, helm, charts)


def test_an_upgrade_is_previewed_and_carried_out_through_the_agent(stage: Stage, site: Site) -> None:  # A20, A26
    cluster, token = site.register()
    site.connected(token, bound_for_helm(stage.server), *IN)
    row = previewed(cluster, "upgrade_controller", source=stage.chart(hook=HOOK))
    assert (row.state, row.cause) == ("previewed", "")
    mark = stage.server.audit_mark()
    with beside(lambda: finish_hooks(stage.server)):
        done = carried_out(row, between=lambda: play_controllers(stage.server))
    assert (done.state, done.cause, image(stage).rpartition(":")[2]) == ("succeeded", "", NEXT)
    assert records(stage) == {1: "superseded", 2: "deployed"}
    told = [one for one in writes(stage, mark) if one["user"]["username"].startswith("karpdash-")]
    sent = [(one["verb"], one["objectRef"]["resource"]) for one in told]
    assert [one for one in sent if one[1] not in ("jobs", "secrets")] == [
        ("patch", "deployments"), ("delete", "configmaps"),
    ]  # fmt: skip
    assert sent[0] == ("create", "secrets")  # the record of the new revision, with the marks of the rollout
    assert {one for one in sent[1:] if one[1] == "secrets"} == {("update", "secrets")}
    assert ("create", "jobs") in sent
    lines = list(Attempt.objects.filter(rollout=row, verb="helm"))
    assert [(one.outcome, bool(one.audit_id)) for one in lines] == [("applied", True)]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "its agent was installed to read only"),
        (("--act",), "the cluster's agent was not installed for upgrades by helm: --upgrade-controller NAMESPACE"),
        (("--act", "--upgrade-controller", "other"), f"in other, and the release is in {NAMESPACE}"),
    ],
    ids=["reads", "acts", "elsewhere"],
)
def test_without_that_role_it_is_refused_at_the_preview(
    stage: Stage, site: Site, words: tuple[str, ...], why: str
) -> None:
    cluster, token = site.register()
    site.connected(token, bound(stage.server, acting=True, releases_in=NAMESPACE), *words)
    mark = stage.server.audit_mark()
    row = previewed(cluster, "upgrade_controller", source=stage.chart())
    assert (row.state, row.cause_code, why in row.cause) == ("expired", "read_only", True)
    assert [one for one in writes(stage, mark) if one["user"]["username"].startswith("karpdash-")] == []
    assert records(stage) == {1: "deployed"}


@pytest.mark.django_db
def test_a_release_by_another_name_is_refused_before_helm_runs() -> None:
    cluster = Cluster.objects.get(pk=register_agent(Details(name="far", by="ada")).cluster)
    ClusterAgent.objects.filter(cluster=cluster).update(acts=True, helm_in=NAMESPACE)
    refuse_without_helm(cluster, namespace=NAMESPACE, release="karpenter-crd")
    with pytest.raises(InvalidInput, match="with karpenter in their name, and this one is autoscaling") as refused:
        refuse_without_helm(cluster, namespace=NAMESPACE, release="autoscaling")
    assert refused.value.code == "read_only"
