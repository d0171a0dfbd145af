"""The server that generated clients talk to, and a token for it."""

from pathlib import Path
from typing import NamedTuple

import pytest
from django.contrib.auth import get_user_model

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.accounts import tokens
from tests.api.conftest import house, scan

__all__ = ["house"]  # keys to seal with, and no broker


DOCUMENT = Path(__file__).parents[2] / "docs" / "schema" / "openapi-v1.yaml"


class Target(NamedTuple):
    """Where a client calls, with which secret, and a scanned cluster."""

    address: str
    secret: str
    cluster: Cluster


@pytest.fixture
def target(transactional_db: None, live_server: object) -> Target:
    ada = get_user_model().objects.create_superuser("ada")
    row = Cluster.objects.create(name="beta", source=Cluster.Source.SAMPLE, context="beta_037", environment="test")
    scan(row)
    secret = tokens.issue(ada, name="generated", scopes=("read", "scan", "admin"), days=1).secret
    return Target(str(getattr(live_server, "url")), secret, row)  # noqa: B009 - its class is not typed
