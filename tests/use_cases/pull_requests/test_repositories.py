"""Repositories and their credentials: what a host refuses is not kept, and what is kept is sealed.

The hosts are stand-ins made from the published API descriptions; no real one was asked.
"""

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.utils import timezone

from migrations_app.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotServed,
    ServerFailed,
    Unauthorized,
)
from migrations_app.models.audit import AuditEvent
from migrations_app.models.pull_request import CodeRepository, PullRequest
from migrations_app.queries.visibility import ALL, visibility_scope
from migrations_app.use_cases.pull_requests.opening import refresh_request
from migrations_app.use_cases.pull_requests.preview import PreviewRequest
from migrations_app.use_cases.pull_requests.repositories import (
    NewRepository,
    register_repository,
    remove_repository,
)
from tests.fakes.git_hosts import TOKEN, FakeGitHub, HostRefusal
from tests.use_cases.pull_requests.stage import (
    CHECK,
    FILE,
    FILES,
    HOP,
    a_delivered_cluster,
    opened,
    previewed,
    registered,
    running,
)

pytestmark = pytest.mark.django_db


def test_a_wrong_token_is_refused_before_it_is_kept(host, address):
    with pytest.raises(Unauthorized, match="wrong, expired or revoked"):
        registered(host, address, secret="token-of-nobody")
    assert not CodeRepository.objects.exists()


def test_a_token_without_the_right_to_write_is_refused(host, address):
    host.may_push = False
    with pytest.raises(Forbidden, match="not write to it"):
        registered(host, address)


def test_a_repository_that_is_not_there_is_told(host, address):
    with pytest.raises(NotServed, match="may not read it"):
        registered(host, address + "-other")


def test_a_host_that_redirects_is_not_followed(host, address):
    host.redirect = True
    with pytest.raises(ServerFailed) as caught:
        registered(host, address)
    assert caught.value.code == "redirected"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"address": "http://github.com/acme/clusters"}, "bad_address"),
        ({"address": "git@github.com:acme/clusters"}, "bad_address"),
        ({"address": "https://x:y@github.com/acme/clusters"}, "bad_address"),
        ({"address": "https://github.com/acme"}, "bad_address"),
        ({"secret": "two words here"}, "bad_token"),
        ({"secret": "short"}, "bad_token"),
        ({"app": "12"}, "bad_app"),
        ({"kind": "cvs"}, "bad_kind"),
    ],
)
def test_what_cannot_be_a_repository_is_refused(changed, code):
    said = {"kind": "github", "address": "https://github.com/acme/clusters", "secret": TOKEN} | changed
    with pytest.raises(InvalidInput) as caught:
        register_repository(NewRepository(**said), now=timezone.now())
    assert caught.value.code == code


def test_the_credential_is_sealed_and_no_text_shows_it(host, asked):
    row = CodeRepository.objects.get()
    assert TOKEN.encode() not in bytes(row.sealed)
    assert TOKEN not in repr(NewRepository(kind="github", address="x", secret=TOKEN))
    assert not AuditEvent.objects.filter(detail__contains=TOKEN).exists()


def test_a_repository_is_forgotten_with_its_credential_and_requests_stay(host, asked, eva):
    row = opened(previewed(asked, eva), eva)
    PullRequest.objects.update(state="opening")
    with pytest.raises(Conflict):
        remove_repository(asked.repository)
    PullRequest.objects.update(state="open")
    remove_repository(asked.repository)
    row.refresh_from_db()
    assert (row.repository, row.number) == (None, 1)
    with pytest.raises(Conflict, match="was removed"):
        refresh_request(row.pk, now=timezone.now())


def private_key() -> str:
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return made.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


class FakeGitHubApp(FakeGitHub):
    """With an app whose installation may have ended; it looks at the claims, not at the signature."""

    ended = False

    def installation(self, request, path):
        claims = jwt.decode(
            request.headers["authorization"].removeprefix("Bearer "), options={"verify_signature": False}
        )
        if self.ended or claims["iss"] != "77" or claims["exp"] - claims["iat"] > 600:
            raise HostRefusal(404, {"message": "Integration not found"})
        raise HostRefusal(201, {"token": self.token, "expires_at": "2099-01-01T00:00:00Z"})


def test_a_github_app_signs_in_and_an_ended_one_is_told(settings, monkeypatch, tmp_path, eva):
    host = FakeGitHubApp(files=dict(FILES))
    with running(host, settings, monkeypatch, tmp_path) as address, visibility_scope(ALL):
        cluster = a_delivered_cluster(address)
        found = registered(host, address, secret=private_key(), app="77", installation="5")
        asked = PreviewRequest(cluster=cluster.pk, check=CHECK, hop=HOP, repository=found, path=FILE)
        row = previewed(asked, eva)
        host.ended = True
        with pytest.raises(Unauthorized) as caught:
            opened(row, eva)
        assert caught.value.code == "app_refused"
        row.refresh_from_db()
        assert (row.state, row.branch_left, list(host.branches)) == ("failed", False, ["main"])
        host.ended = False
        assert opened(previewed(asked, eva), eva).state == "open"


def test_a_key_that_is_none_is_told(settings):
    said = NewRepository(
        kind="github", address="https://github.com/a/b", secret="no key at all", app="7", installation="5"
    )
    with pytest.raises(InvalidInput) as caught:
        register_repository(said, now=timezone.now())
    assert caught.value.code == "bad_key"
