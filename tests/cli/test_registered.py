"""The commands that need the database."""

import dataclasses
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from migrations_app.cli.django_setup import setup_django
from migrations_app.errors import InvalidSetting
from migrations_app.models.account import ApiToken
from migrations_app.models.cluster import Cluster
from migrations_app.models.provisioning import ProvisioningToken
from migrations_app.readiness.report import PartLine
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.accounts.directory_tokens import directory_of
from tests.builders.rows import a_cluster, a_failure, a_report, a_snapshot
from tests.cli.conftest import Karpdash

pytestmark = pytest.mark.django_db
Bundle = Callable[[str], Path]


@pytest.fixture(autouse=True)
def sealing(settings: Settings) -> None:
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),), allow_loopback=True)


@pytest.fixture
def ada() -> None:
    get_user_model().objects.create_user("ada", password="correct horse")


def added(karpdash: Karpdash, bundle: Bundle, name: str = "blue") -> Cluster:
    said = karpdash("cluster", "add", name, "--bundle", bundle("beta_037") / "objects.json", "--environment", "test")
    assert said.code == 0, said.err
    return Cluster.objects.get(pk=uuid.UUID(said.out.strip()))


def test_a_bundle_is_added_listed_scanned_and_removed(karpdash: Karpdash, bundle: Bundle) -> None:
    row = added(karpdash, bundle)
    assert (row.name, row.source, row.environment, row.created_by) == ("blue", "bundle", "test", "terminal")
    assert karpdash("cluster", "list").out.splitlines() == [
        "NAME  SOURCE  STAGE  KARPENTER  NEXT HOP  VERDICT        SCANNED",
        "blue  bundle                              never_scanned  never",
    ]
    scanned = karpdash("scan", "--cluster", "blue", "-o", "json").json
    assert (scanned["cluster"]["name"], scanned["cluster"]["karpenter_version"]) == ("blue", "0.37.8")
    removed = karpdash("cluster", "rm", "blue")
    assert (removed.code, removed.err, Cluster.objects.count()) == (0, "removed blue\n", 0)


def test_the_list_says_what_the_fleet_page_says(karpdash: Karpdash) -> None:
    now = timezone.now()
    dark = a_report("dark", parts=(PartLine(name="nodes", seen=False, why="forbidden"),))
    a_snapshot(a_cluster("dark"), dark, at=now, verdict="blocked")
    a_snapshot(a_cluster("gone"), a_report("gone"), at=now, verdict="ready")
    a_failure(Cluster.objects.get(name="gone"))
    a_snapshot(a_cluster("old"), a_report("old"), at=now - timedelta(days=3), verdict="ready")
    rows = [line.split() for line in karpdash("cluster", "list").out.splitlines()[1:]]
    minute = f"{now:%H:%M}"
    assert [(row[0], row[row.index(minute) - 2], row[row.index(minute) + 1 :]) for row in rows] == [
        ("dark", "blocked", ["partial"]), ("gone", "unreachable", []), ("old", "ready", ["stale"]),
    ]  # fmt: skip


def test_the_list_says_which_samples_it_leaves_out(karpdash: Karpdash) -> None:
    a_cluster("story", source="sample", environment="sample")
    alone = karpdash("cluster", "list")
    assert ("story" in alone.out, alone.err) == (True, "")
    a_cluster("blue")
    listed = karpdash("cluster", "list", "-o", "json")
    assert [row["name"] for row in listed.json] == ["blue"]
    assert listed.err == "1 sample cluster is not listed beside other clusters\n"
    a_cluster("other story", source="twin", environment="sample")
    assert karpdash("cluster", "list").err == "2 sample clusters are not listed beside other clusters\n"


def test_the_list_as_json_holds_no_credentials(karpdash: Karpdash, bundle: Bundle) -> None:
    row = added(karpdash, bundle)
    (told,) = karpdash("cluster", "list", "-o", "json").json
    assert (told["id"], told["name"], "sealed" in told) == (str(row.pk), "blue", False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("cluster", "rm", "none"), "no cluster named 'none'"),
        (("scan", "--cluster", "none"), "--cluster: no cluster named 'none'"),
        (("cluster", "add", "x", "--bundle", "/none"), "/none: cannot be read: No such file or directory"),
        (("token", "list", "--user", "none"), "user: no such user"),
        (("token", "revoke", "--user", "none", "1"), "id: is no token's id"),
        (("scim", "revoke", "1"), "id: is the id of no token that is not revoked"),
        (("scim", "revoke", str(uuid.UUID(int=1))), "id: is the id of no token that is not revoked"),
    ],
)
def test_what_is_not_there_is_named(karpdash: Karpdash, words: tuple[str, ...], told: str) -> None:
    said = karpdash(*words)
    assert (said.code, said.out, said.err) == (2, "", f"karpdash {words[0]}: {told}\n")


def test_a_name_is_taken_once(karpdash: Karpdash, bundle: Bundle) -> None:
    added(karpdash, bundle)
    said = karpdash("cluster", "add", "blue", "--bundle", bundle("v1_13") / "objects.json")
    assert (said.code, said.err) == (2, "karpdash cluster: there is a cluster named blue\n")


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:9", certificate-authority-data: %s}}]
users: [{name: a, user: {token: abc}}]
"""


@pytest.fixture
def silent(tmp_path: Path) -> Path:
    """A kubeconfig of a server that does not answer."""
    import base64

    from tests.servers.pki import Authority

    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG % base64.b64encode(Authority("test").pem.encode()).decode())
    return path


def test_a_cluster_that_does_not_answer_is_added_only_on_request(karpdash: Karpdash, silent: Path) -> None:
    said = karpdash("cluster", "add", "red", "--kubeconfig", silent)
    assert (said.code, said.out, "https://127.0.0.1:9 did not answer" in said.err) == (3, "", True)
    assert Cluster.objects.count() == 0
    assert karpdash("cluster", "add", "red", "--kubeconfig", silent, "--no-test").code == 0
    assert b"abc" not in bytes(Cluster.objects.get().sealed or b"")


def test_a_cluster_that_is_registered_already_is_said(karpdash: Karpdash, silent: Path) -> None:
    """It was silent, so that one cluster was scanned, and planned, twice."""
    add = ("cluster", "add", "--kubeconfig", str(silent), "--no-test")
    assert karpdash(*add, "blue").err == ""
    said = karpdash(*add, "green")
    assert (said.code, Cluster.objects.get(name="green").pk) == (0, uuid.UUID(said.out.strip()))
    assert "the address of this API server is registered as blue, too" in said.err
    assert "one cluster" not in karpdash("cluster", "list").err
    Cluster.objects.update(kube_system_uid="uid-1")
    assert "blue, green are one cluster, by the uid of its kube-system" in karpdash("cluster", "list").err


@pytest.mark.usefixtures("ada")
def test_a_token_is_printed_once_and_works_until_revoked(karpdash: Karpdash) -> None:
    said = karpdash("token", "create", "--user", "ada", "--name", "ci", "--scope", "read", "--scope", "scan")
    use = tokens.authenticate(said.out.strip())
    assert use is not None
    assert (said.code, use.owner.username, use.scopes) == (0, "ada", ("read", "scan"))
    assert said.out.strip() not in said.err
    listed = karpdash("token", "list", "--user", "ada").out
    assert listed.startswith(f"{use.id}  {said.out[:9]}...  read,scan ")
    assert karpdash("token", "revoke", "--user", "ada", use.id).err == f"revoked {use.id}\n"
    assert tokens.authenticate(said.out.strip()) is None
    assert "revoked" in karpdash("token", "list", "--user", "ada").out


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize(("words", "told"), [(("--days", "91"), "days: "), (("--scope", "root"), "scopes: ")])
def test_a_token_outside_the_rules_is_refused(karpdash: Karpdash, words: tuple[str, ...], told: str) -> None:
    said = karpdash("token", "create", "--user", "ada", "--name", "ci", *words)
    assert (said.code, said.err.startswith(f"karpdash token: {told}"), ApiToken.objects.count()) == (2, True, 0)


def test_a_token_of_a_directory_is_printed_once_and_works_until_revoked(karpdash: Karpdash) -> None:
    said = karpdash("scim", "create", "--name", "Okta", "--days", "90")
    use = directory_of(said.out.strip())
    assert use is not None
    assert (said.code, use.name, said.out.strip() in said.err) == (0, "Okta", False)
    listed = karpdash("scim", "list").out
    assert listed.startswith(f"{use.id}  {said.out[:9]}...  until ")
    assert karpdash("scim", "revoke", str(use.id)).err == f"revoked {use.id}\n"
    assert directory_of(said.out.strip()) is None
    assert "revoked" in karpdash("scim", "list").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--name", "Okta", "--days", "366"), "days: a token lives 1 to 365 days"),
        (("--name", " "), "name: 1 to 60 characters are needed"),
    ],
)
def test_a_token_of_a_directory_outside_the_rules_is_refused(
    karpdash: Karpdash, words: tuple[str, ...], told: str
) -> None:
    said = karpdash("scim", "create", *words)
    assert (said.code, said.err, ProvisioningToken.objects.count()) == (2, f"karpdash scim: {told}\n", 0)


def test_without_a_database_the_door_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(connection, "vendor", "sqlite")
    monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "none.sqlite3"))
    with pytest.raises(InvalidSetting, match="there is no database yet: start `karpdash up` once"):
        setup_django()
    assert list(tmp_path.iterdir()) == []


def test_samples_are_added_beside_a_cluster_and_removed(karpdash: Karpdash, bundle: Bundle, ada: None) -> None:
    get_user_model().objects.create_superuser("admin", password="correct horse")
    added(karpdash, bundle)
    assert karpdash("cluster", "samples").err == "added 3 sample clusters\n"
    assert Cluster.objects.get(name="live-alpha").snapshots.count() > 20
    assert karpdash("cluster", "samples", "--remove").err == "removed 3 sample clusters\n"
    assert list(Cluster.objects.values_list("name", flat=True)) == ["blue"]
