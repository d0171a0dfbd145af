"""Every operation against its own schema, with made-up requests, by every check of schemathesis, in process.

On SQLite the requests are random. On PostgreSQL they are those that schemathesis derives from the schema, some 9,000:
one for each boundary of each field. Both on both would take some four minutes of a processor more.
"""

import dataclasses
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from django.conf import settings as django_settings
from django.contrib.auth.models import Group, User
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from django.test import override_settings
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase
from hypothesis import settings as examples
from pytest_django import DjangoDbBlocker, Settings
from schemathesis.specs.openapi.checks import negative_data_rejection

from migrations_app.models.account import Grant
from migrations_app.models.cluster import Cluster
from migrations_app.models.organization import AwsOrganization
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.accounts.directory_tokens import issue_provisioning_token
from migrations_app.use_cases.accounts.service_tokens import issue_service_token
from migrations_app.use_cases.accounts.services import ServiceRules, create_service
from migrations_app.use_cases.clusters.groups import add_to_group, create_group
from migrations_app.use_cases.clusters.saved_views import create_view
from migrations_app.use_cases.notifications.channels import ChannelSettings, create_channel, send_test
from migrations_app.use_cases.scans.waivers import waive
from tests.api.conftest import KEYS, scan
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.pull_requests import a_pull_request
from tests.builders.rollouts import a_rollout
from tests.servers import on_postgres
from tests.use_cases.people import person
from tests.use_cases.scans.waivers import a_wish

EXAMPLES = int(os.environ.get("KARPDASH_API_EXAMPLES", "12"))
"""For each operation; a night run takes 500."""
pytestmark = [
    pytest.mark.timeout(900),  # one operation with 500 examples; the module begins early, for it takes minutes
    pytest.mark.usefixtures("no_wait", "one_connection"),
]
# Beside the usual answers to good requests: a target must be a known release, a cursor one of ours, an If-Match the
# tag of now, and a key must not come twice. None of these can be said in a schema.
GOOD = ["2xx", "304", "400", "401", "403", "404", "409", "412", "422"]
REFUSED = ["400", "401", "403", "404", "405", "406", "409", "412", "413", "415", "422", "428", "429", "5xx"]
"""For a bad request; an If-Match that does not hold, and a body that is too large, are told before it is read."""
# RFC 6585 has its own status for an If-Match that is missing; what is not there needs none, and a key that came with
# another request before is refused before anything else.
WITHOUT_HEADER = ["400", "404", "422", "428"]
ON_POSTGRES = on_postgres.VARIABLE in os.environ
CONFIG = {
    "phases": {"coverage": {"enabled": ON_POSTGRES}, "fuzzing": {"enabled": not ON_POSTGRES}},
    "checks": {
        "positive_data_acceptance": {"expected-statuses": GOOD},
        "negative_data_rejection": {"expected-statuses": REFUSED},
        "missing_required_header": {"expected-statuses": WITHOUT_HEADER},
    },
}


def loaded() -> Any:
    """The schema as the server generates it, with the server behind it."""
    document = SchemaGenerator().get_schema(request=None, public=True)
    found = schemathesis.openapi.from_dict(
        json.loads(json.dumps(document)), config=schemathesis.Config.from_dict(CONFIG)
    )
    found.app = get_wsgi_application()
    return found


schema = loaded()


@dataclass(frozen=True)
class Known:
    """A secret that may do everything, and an id that is there for each kind of address."""

    secret: str
    ids: dict[str, str]


@pytest.fixture(scope="module")
def known(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Known]:
    """Made once for the module; what a test changes is rolled back with the test."""
    environment = dataclasses.replace(django_settings.ENV, encryption_keys=KEYS)
    with django_db_blocker.unblock(), override_settings(ENV=environment), transaction.atomic():
        yield _made()
        transaction.set_rollback(True)


def _made() -> Known:
    ada = User.objects.create_superuser("ada")
    row = Cluster.objects.create(name="beta_037", source=Cluster.Source.SAMPLE, context="beta_037", environment="test")
    scan(row)
    row.refresh_from_db()
    issued = tokens.issue(ada, name="fuzz", scopes=["read", "scan", "plan", "act", "admin"], days=1)
    other = tokens.issue(ada, name="other", scopes=["read"], days=1)
    planned = a_rollout(row, author=ada)
    found = {"clusters": row.pk, "scans": row.scans.get().pk, "snapshots": row.latest_id, "tokens": other.id}
    found["waivers"] = waive(a_wish(), person(ada), now=timezone.now())
    wanted = ChannelSettings(name="ops", kind="webhook", target="https://hooks.example/", events=("scan.failed",))
    found["channels"] = create_channel(wanted, by="ada", now=timezone.now()).id
    found["deliveries"] = send_test(found["channels"], by="ada", now=timezone.now())
    found["groups"] = create_group("shop")
    add_to_group(found["groups"], [row.pk])
    organization = AwsOrganization.objects.create(name="acme", regions=["eu-west-1"], external_id="x", member_role="x")
    found["aws-organizations"] = organization.pk
    found["views"] = create_view(ada.pk, name="mine", query="view=flat")
    found |= {"plans": planned.pk, "rollouts": planned.pk, "journeys": a_journey(row, author=ada).pk}
    found["campaigns"] = a_campaign(row, author=ada).pk
    found["pull-requests"] = a_pull_request(row).pk
    group = Group.objects.create(name="night")
    found |= {"people": User.objects.create_user("ben").pk, "teams": group.pk}
    found["grants"] = Grant.objects.create(team=group, role="viewer").pk
    rules = ServiceRules(purpose="", role="viewer", everywhere=True, groups=(), scopes=("read", "metrics"), networks=())
    service = found["service-accounts"] = create_service("ci", rules, person=person(ada))
    secret = issue_service_token(service, name="x", scopes=["read"], days=None, person=person(ada))
    found["service-tokens"] = secret.id
    found["provisioning-tokens"] = issue_provisioning_token("okta", days=1, person=person(ada)).id
    return Known(issued.secret, {name: str(key) for name, key in found.items()} | {"checks": "stored_versions_clean"})


@pytest.fixture(autouse=True)
def no_throttle(settings: Settings) -> None:
    settings.API_BURST = 1_000_000


@pytest.fixture
def requests_made() -> Iterator[list[str]]:
    """Fails a test for which no request was made up: it would have checked nothing."""
    made: list[str] = []
    yield made
    assert made


@schema.parametrize()
@examples(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit] if ON_POSTGRES else [Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
def test_conformance(case: schemathesis.Case, db: None, known: Known, requests_made: list[str]) -> None:
    requests_made.append(case.path)
    headers = {"Authorization": f"Bearer {known.secret}"}
    case.call_and_validate(headers=headers)
    if "id" in (case.path_parameters or {}):
        case.path_parameters["id"] = known.ids[case.path.partition("/{id}")[0].split("/")[-1]]
        # The request was perhaps made up to be wrong in the id alone, which it no longer is.
        case.call_and_validate(headers=headers, excluded_checks=[negative_data_rejection])
