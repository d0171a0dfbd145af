"""A real helm, and an API server with a release of our own chart that it has installed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.rollouts import worker
from tests.actions import on_server
from tests.deploy.helm import Helm
from tests.helm.own_charts import BASE, OLD_ONLY, install, packed
from tests.servers.apiserver import ApiServer

FIRST, NEXT = "1.0.8", "1.0.14"
SECRET = "s3cret-value-77b1"
GIVEN: dict[str, Any] = {"podAnnotations": {"password": SECRET}}


@dataclass
class Stage:
    """The server with revision 1 of the release, and the folder that plans take charts from."""

    server: ApiServer
    helm: Helm
    charts: Path

    def chart(self, name: str = "next.tgz", version: str = NEXT, **templates: str) -> str:
        """Puts a packed chart into the folder; returns its name."""
        (self.charts / name).write_bytes(
            packed(version, BASE | {f"{key}.yaml": text for key, text in templates.items()})
        )
        return name

    def registered(self) -> Cluster:
        return Cluster.objects.first() or on_server.registered(self.server)


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(tmp_path_factory.mktemp("helm"))


@pytest.fixture
def stage(clean_apiserver, settings, monkeypatch, helm, tmp_path) -> Iterator[Stage]:
    charts = tmp_path / "charts"
    charts.mkdir()
    more = {"controller_upgrades": True, "helm": helm.program, "helm_seconds": 10, "data_dir": tmp_path}
    settings.ENV = replace(settings.ENV, **on_server.QUICK, **more)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    install(helm, clean_apiserver, packed(FIRST, {**BASE, "old.yaml": OLD_ONLY}), GIVEN)
    return Stage(clean_apiserver, helm, charts)
