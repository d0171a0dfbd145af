from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.models.account import ApiToken
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.accounts.management import set_active
from tests.api.conftest import Tool


def test_a_token_is_issued_once_used_and_revoked(api: Tool, ada: User) -> None:
    made = api("POST", "tokens", {"name": "ci", "scopes": ["read"], "days": 7})
    told = made.json()
    use = tokens.authenticate(told["secret"])
    assert use is not None
    assert (made.status_code, use.scopes, use.owner) == (201, ("read",), ada)
    assert told["secret"].startswith(told["prefix"])
    shown = api("GET", made["Location"])
    assert shown.json() == {name: value for name, value in told.items() if name != "secret"} | {
        "last_used_at": shown.json()["last_used_at"]
    }
    gone = api("DELETE", made["Location"], if_match=made["ETag"])
    assert (gone.status_code, tokens.authenticate(told["secret"])) == (204, None)
    assert api("DELETE", made["Location"], if_match=made["ETag"]).status_code == 412


def test_the_list_holds_ones_own_and_no_secret(api: Tool, ben: User) -> None:
    tokens.issue(ben, name="his", scopes=["read"], days=1)
    said = api("GET", "tokens")
    assert [row["name"] for row in said.json()["results"]] == ["test"]
    assert api.secret not in said.content.decode()


def test_the_list_in_pages(api: Tool, ada: User) -> None:
    for number in range(3):
        tokens.issue(ada, name=f"t{number}", scopes=["read"], days=1)
    first = api("GET", "tokens?limit=3").json()
    assert [row["name"] for row in first["results"]] == ["t2", "t1", "t0"]
    assert [row["name"] for row in api("GET", first["next"]).json()["results"]] == ["test"]


def test_anothers_token_does_not_exist(api: Tool, ben: User) -> None:
    his = tokens.issue(ben, name="his", scopes=["read"], days=1).id
    assert api("GET", f"tokens/{his}").status_code == 404
    assert api("DELETE", f"tokens/{his}", if_match="*").status_code == 404
    assert ApiToken.objects.get(pk=his).revoked_at is None


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": "a", "scopes": []}, "#/scopes"),
        ({"name": "a", "scopes": ["root"]}, "#/scopes/0"),
        ({"name": "a", "scopes": ["read"], "days": 91}, "#/days"),
        ({"name": "a", "scopes": ["read"], "days": "7"}, "#/days"),
        ({"name": " ", "scopes": ["read"]}, "#/name"),
        ({"name": "a", "scopes": ["read"], "owner": 1}, "#/owner"),
    ],
)
def test_a_token_outside_the_rules(api: Tool, body: object, pointer: str) -> None:
    said = api("POST", "tokens", body)
    assert (said.status_code, said.json()["errors"][0]["pointer"], ApiToken.objects.count()) == (400, pointer, 1)


def test_no_token_makes_a_wider_one(ada: User) -> None:
    narrow = Tool(ada, "admin")
    said = narrow("POST", "tokens", {"name": "a", "scopes": ["admin", "read"]})
    assert (said.status_code, said.json()["detail"]) == (403, "a token can issue no scope that it lacks itself")


def test_expired_revoked_or_ownerless_tokens_open_nothing(api: Tool, ada: User) -> None:
    row = ApiToken.objects.filter(owner=ada)
    row.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api("GET", "checks").json()["code"] == "bad_token"
    row.update(expires_at=timezone.now() + timedelta(hours=1))
    assert api("GET", "checks").status_code == 200
    User.objects.update(is_active=False)
    assert api("GET", "checks").status_code == 401


def test_a_replayed_answer_holds_no_secret(api: Tool, ada: User) -> None:
    body = {"name": "ci", "scopes": ["read"], "days": 7}
    first, second = (api("POST", "tokens", body, idempotency_key="same") for _ in range(2))
    assert (first.json() | {"secret": ""}, second["Idempotency-Replayed"]) == (second.json(), "true")
    assert first.json()["secret"] != ""


def test_a_role_that_is_taken_back_is_gone_from_its_tokens_at_once(ben: User) -> None:
    """The token stays: it may at each request what its owner may then, so there is nothing to end."""
    his, role = Tool(ben), ben.grants.get()
    address = f"clusters/{Cluster.objects.create(name='blue', source='sample', context='beta_037').pk}"
    assert (his("GET", address).status_code, len(his("GET", "clusters").json()["results"])) == (200, 1)
    role.delete()
    assert (his("GET", address).status_code, his("GET", "clusters").json()["results"]) == (404, [])


def test_a_closed_account_has_no_token_any_more_even_when_opened_again(api: Tool, ben: User) -> None:
    his = Tool(ben)
    for active in (False, True):
        set_active("ben", active=active, person=None)
        assert his("GET", "clusters").status_code == 401
