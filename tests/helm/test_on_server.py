"""An upgrade of the controller on the real API server, by a real helm: previewed, carried out, taken back."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from migrations_app.models.rollout import Attempt, Exported, Rollout
from migrations_app.use_cases.rollouts import worker
from tests.actions import on_server
from tests.actions.on_server import carried_out, plan_of, previewed, registered
from tests.deploy.helm import Helm
from tests.helm.own_charts import BASE, HOOK, NAMESPACE, OLD_ONLY, install, packed

pytestmark = pytest.mark.django_db(transaction=True)

@pytest.fixture(scope="session")
def helm(tmp_path_factory):
    return Helm(tmp_path_factory.mktemp("helm"))

@pytest.fixture
def server(clean_apiserver, settings, monkeypatch, helm, tmp_path):
    (tmp_path / "charts").mkdir()
    settings.ENV = replace(
        settings.ENV, **on_server.QUICK, controller_upgrades=True, helm=helm.program, helm_seconds=20, data_dir=tmp_path
    )
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    clean_apiserver.charts = tmp_path / "charts"
    return clean_apiserver

def test_it(server, helm):
    install(helm, server, packed("1.0.8", {**BASE, "old.yaml": OLD_ONLY}), {"hidden": "s3cret-value"})
    (server.charts / "k.tgz").write_bytes(packed("1.0.14"))
    row = previewed(registered(server), "upgrade_controller", source="k.tgz")
    print(row.state, row.cause_code, row.cause)
    print(msgspec.json.format(bytes(row.plan)).decode()[:6000])
