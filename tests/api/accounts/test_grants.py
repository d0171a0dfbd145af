"""grants over REST: read by those who may appoint, with a token of theirs of scope admin."""

from migrations_app.models.account import Grant
from tests.api.conftest import Tool


def test_grants_are_listed_for_those_who_may_appoint(ada, ben):
    Grant.objects.create(person=ben, role="operator", created_by="ada")
    told = Tool(ada)("GET", "grants").json()["results"]
    assert [(row["person"], row["role"], row["over"]) for row in told] == [
        ("ben", "operator", None), ("ben", "viewer", None),
    ]  # fmt: skip
    assert (Tool(ben)("GET", "grants").status_code, Tool(ada, "read")("GET", "grants").status_code) == (403, 403)
