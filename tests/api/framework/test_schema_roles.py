"""Made-up requests by a person of each role, also to things that they may not see: no 5xx, and the schema holds."""

from collections.abc import Iterator

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase
from hypothesis import settings as examples
from pytest_django import DjangoDbBlocker, Settings
from schemathesis.specs.openapi.checks import missing_required_header, negative_data_rejection, positive_data_acceptance

from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.accounts.tokens import SCOPES
from tests.access.stage import ROLES, SUBJECTS, Stage, set_up

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.one_database,
    pytest.mark.usefixtures("no_wait", "one_connection"),
]
# What a role may not is refused before anything is looked at, so these three say nothing here.
EXCLUDED = [missing_required_header, negative_data_rejection, positive_data_acceptance]
THINGS = {
    "clusters": "cluster", "groups": "group", "scans": "scan", "snapshots": "snapshot", "plans": "rollout",
    "rollouts": "rollout", "waivers": "waiver",
}  # fmt: skip

schema = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
schema.app = get_wsgi_application()


@pytest.fixture(scope="module")
def stage(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Stage]:
    """Made once for the module; what a test changes is rolled back with the test."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield set_up()
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def _many_requests(settings: Settings) -> None:
    settings.API_BURST = 1_000_000
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@schema.parametrize()
@examples(
    max_examples=1,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
)
def test_each_role(case: schemathesis.Case, stage: Stage) -> None:
    kind = THINGS.get(case.path.split("/")[3], "") if "id" in (case.path_parameters or {}) else ""
    for role in ROLES[1:]:
        secret = tokens.issue(stage.users[role], name="fuzz", scopes=SCOPES, days=1).secret
        for subject in SUBJECTS if kind and "{id}" in case.path else ("",):
            if subject:
                case.path_parameters["id"] = str(stage.things[kind, subject].pk)
            case.call_and_validate(headers={"Authorization": f"Bearer {secret}"}, excluded_checks=EXCLUDED)
