"""Upgrades of the controller by a real helm on a cluster that is reached through its agent alone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migrations_app.models.rollout import Attempt
from migrations_app.use_cases.rollouts import worker
from migrations_app.use_cases.rollouts.helm import runs
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
    # In tests the pages' threads share the one connection to SQLite: two that ask at a time would wait for ever.
    monkeypatch.setattr(runs, "ASK_SECONDS", 600.0)
    monkeypatch.setattr(runs, "FRESH_SECONDS", 600.0)
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
