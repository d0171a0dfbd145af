"""clusters/{id}/agent: the state of the line, and a token that is shown once."""

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.agents.tokens import agent_of
from tests.api.conftest import Tool
from tests.builders.rows import a_cluster


@pytest.fixture
def admin(ada):
    return Tool(ada, "read", "admin")


@pytest.fixture
def far(admin, house):
    told = admin("POST", "clusters", {"name": "far", "source": "agent"})
    assert (told.status_code, told.json()["source"], house) == (201, "agent", [])  # no scan before the agent is there
    return told.json()["id"]


def test_a_token_is_made_shown_once_and_revoked(admin, far):
    made = admin("POST", f"clusters/{far}/agent", {}, idempotency_key="k-1")
    secret = made.json()["secret"]
    assert (made.status_code, agent_of(secret).cluster) == (201, Cluster.objects.get())
    again = admin("POST", f"clusters/{far}/agent", {}, idempotency_key="k-1")
    assert (again["Idempotency-Replayed"], again.json()["secret"]) == ("true", "")
    read = admin("GET", f"clusters/{far}/agent")
    told = read.json()
    assert (told["state"], told["acts"], told["prefix"], "secret" in told) == ("awaited", False, secret[:9], False)
    ended = admin("DELETE", f"clusters/{far}/agent", if_match=read["ETag"])
    assert (ended.status_code, agent_of(secret)) == (204, None)
    assert admin("GET", f"clusters/{far}/agent").json()["state"] == "revoked"


def test_a_token_is_not_revoked_twice_and_not_unread(admin, far):
    etag = admin("GET", f"clusters/{far}/agent")["ETag"]
    assert admin("DELETE", f"clusters/{far}/agent").json()["code"] == "if_match_needed"
    answers = [admin("DELETE", f"clusters/{far}/agent", if_match=etag).status_code for _ in range(2)]
    assert answers == [204, 404]


def test_a_cluster_of_another_source_has_no_agent(admin):
    near = a_cluster("near").pk
    assert admin("GET", f"clusters/{near}/agent").status_code == 404
    assert admin("POST", f"clusters/{near}/agent", {}).status_code == 400


def test_the_right_to_change_clusters_is_needed(cleo, ben, far):
    for person in (cleo, ben):
        told = Tool(person, "read", "admin")("POST", f"clusters/{far}/agent", {})
        assert told.status_code in (403, 404)
