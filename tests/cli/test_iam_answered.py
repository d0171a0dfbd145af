"""A hop for which every installation has to change IAM needs facts until a policy, AWS, or a person's recorded word
answers: in the terminal with its exit codes, over REST and on the page.
"""

import dataclasses
import tarfile
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.output import remedy
from migrations_app.iam.site import AwsSite
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import Waiver
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.cli.conftest import Karpdash

pytestmark = pytest.mark.django_db
Bundle = Callable[[str], Path]
CHECK = "iam_change_known"
HOP = "1.0"


class Answer(NamedTuple):
    """What the hop is, and the exit codes of a scan: as it stands, where nothing fails it, and strictly."""

    verdict: str
    code: int
    never: int
    strict: int


UNTOLD = Answer("needs_facts", 3, 3, 3)
GRANTED = Answer("ready_with_warnings", 0, 0, 3)
"""AWS was not looked at, which strictly is not to have looked."""
REFUSED = Answer("blocked", 1, 0, 1)
ASKED = Answer("ready", 0, 0, 0)
VOUCHED = Answer("ready_with_warnings", 0, 0, 1)


@pytest.fixture(autouse=True)
def sealing(settings: Settings) -> None:
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),), allow_loopback=True)


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_superuser("ada")


def rest(owner: User, method: str, path: str, body: Any = None) -> Any:
    secret = tokens.issue(owner, name="test", scopes=("read", "scan", "admin"), days=1).secret
    headers = {"Authorization": f"Bearer {secret}"}
    told = Client().generic(method, f"/api/v1/{path}", body or b"", content_type="application/json", headers=headers)
    return told.json()


def packed(bundle: Bundle, *, policies: bool) -> Path:
    """The dump of a cluster that was not asked about AWS, as an archive, with or without the controller's policies."""
    folder = bundle("beta_037")
    path = folder.parent / "dump.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for one in folder.iterdir():
            if policies or one.name != "iam":
                archive.add(one, arcname=f"dump/{one.name}")
    return path


def registered(karpdash: Karpdash, path: Path) -> Cluster:
    said = karpdash("cluster", "add", "blue", "--bundle", path, "--environment", "test")
    assert said.code == 0, said.err
    return Cluster.objects.get(pk=uuid.UUID(said.out.strip()))


def looked_at(row: Cluster) -> None:
    """A scan by a worker."""
    claim = queue.claim(queue.request_scan(row.pk, by="test").scan_id)
    assert claim is not None
    scan_claimed(claim)


def by_terminal(karpdash: Karpdash, *words: object) -> Answer:
    """By the command as it stands, with --fail-on never, and with --strict."""
    said = karpdash("scan", *words, "--to", HOP, "-o", "json")
    (verdict,) = (hop["verdict"] for hop in said.json["hops"] if hop["hop"] == HOP)
    never = karpdash("scan", *words, "--to", HOP, "--fail-on", "never").code
    return Answer(verdict, said.code, never, karpdash("scan", *words, "--to", HOP, "--strict").code)


def by_plan(karpdash: Karpdash, *words: object) -> str:
    hops = karpdash("plan", *words, "--to", HOP, "-o", "json").json["hops"]
    return next(str(hop["verdict"]) for hop in hops if hop["lands"]["hop"] == HOP)


def by_rest(ada: User, row: Cluster) -> str:
    snapshot = rest(ada, "GET", f"snapshots/{Cluster.objects.get(pk=row.pk).latest_id}")
    return next(hop["verdict"] for hop in snapshot["hops"] if hop["hop"] == HOP)


def granting(tmp_path: Path, release: str) -> Path:
    """A policy with all that a release needs of the controller of that story."""
    site = AwsSite(
        cluster="payments-prod", account="111122223333", region="eu-central-1", queue="payments-prod",
        node_roles=("KarpenterNodeRole-payments-prod",),
    )  # fmt: skip
    (text,) = [remedy(find_gaps((), release=release, site=site), site, policies=()).text("json")]
    path = tmp_path / f"{release}.json"
    path.write_text(text)
    return path


def test_without_an_answer_it_needs_facts(karpdash: Karpdash, bundle: Bundle, ada: User) -> None:
    bare = packed(bundle, policies=False)
    assert by_terminal(karpdash, "--bundle", bare) == UNTOLD
    assert by_plan(karpdash, "--bundle", bare) == UNTOLD.verdict
    row = registered(karpdash, bare)
    looked_at(row)
    assert by_terminal(karpdash, "--cluster", "blue") == UNTOLD
    assert by_rest(ada, row) == UNTOLD.verdict
    asked = rest(ada, "GET", f"findings?check={CHECK}&cluster={row.pk}")["results"]
    assert [one["status"] for one in asked if one["hop"] == HOP] == ["manual"]


@pytest.mark.parametrize(("release", "answer"), [("1.0.14", GRANTED), ("0.37.8", REFUSED)])
def test_a_policy_answers_wherever_it_is_handed_in(
    karpdash: Karpdash, bundle: Bundle, tmp_path: Path, release: str, answer: Answer
) -> None:
    bare, policy = packed(bundle, policies=False), granting(tmp_path, release)
    assert by_terminal(karpdash, "--bundle", bare, "--iam-policy", policy) == answer
    assert by_plan(karpdash, "--bundle", bare, "--iam-policy", policy) == answer.verdict
    registered(karpdash, bare)
    assert by_terminal(karpdash, "--cluster", "blue", "--iam-policy", policy) == answer


def test_the_policies_of_a_registered_bundle_answer(karpdash: Karpdash, bundle: Bundle, ada: User) -> None:
    row = registered(karpdash, packed(bundle, policies=True))
    looked_at(row)
    assert by_terminal(karpdash, "--cluster", "blue") == GRANTED
    assert by_rest(ada, row) == GRANTED.verdict


def test_aws_answers(karpdash: Karpdash, ada: User) -> None:
    row = Cluster.objects.create(name="blue", source=Cluster.Source.SAMPLE, context="beta_037", environment="test")
    looked_at(row)
    assert by_terminal(karpdash, "--cluster", "blue") == ASKED
    assert by_plan(karpdash, "--cluster", "blue") == ASKED.verdict
    assert by_rest(ada, row) == ASKED.verdict


def test_the_word_of_a_person_answers_and_is_shown_and_audited(karpdash: Karpdash, bundle: Bundle, ada: User) -> None:
    row = registered(karpdash, packed(bundle, policies=False))
    looked_at(row)
    page = Client()
    page.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    assert f"waive?check={CHECK}&amp;hop={HOP}" in page.get(f"/clusters/{row.pk}/").content.decode()
    ends = timezone.now().date() + timedelta(days=30)
    told = {"check": CHECK, "reason": "looked at the policy of 1.0", "owner": "team shop", "ends_on": ends}
    assert page.post(f"/clusters/{row.pk}/waive", told).status_code == 422, "it names no hop"
    assert page.post(f"/clusters/{row.pk}/waive", told | {"hop": "1.1+"}).status_code == 302
    assert by_terminal(karpdash, "--cluster", "blue") == UNTOLD, "that is another hop"
    assert by_plan(karpdash, "--cluster", "blue") == UNTOLD.verdict
    assert page.post(f"/clusters/{row.pk}/waive", told | {"hop": HOP}).status_code == 302
    words = f"accepted by team shop until {ends.isoformat()}: looked at the policy of 1.0"
    assert words in page.get(f"/clusters/{row.pk}/").content.decode()
    assert by_terminal(karpdash, "--cluster", "blue") == VOUCHED
    assert words in karpdash("scan", "--cluster", "blue", "--to", HOP, "-o", "json").out
    assert by_plan(karpdash, "--cluster", "blue") == VOUCHED.verdict
    assert by_rest(ada, row) == VOUCHED.verdict
    assert [one.actor for one in AuditEvent.objects.filter(verb="waiver.made")] == ["ada", "ada"]
    waiver = Waiver.objects.get(hop=HOP)
    assert (waiver.made_by_name, waiver.owner_name, waiver.check_id) == ("ada", "team shop", CHECK)
    rest(ada, "GET", "waivers")
    Waiver.objects.update(ends_at=timezone.now())
    assert by_terminal(karpdash, "--cluster", "blue") == UNTOLD
