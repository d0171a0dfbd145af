"""A directory with its token, and Ada, who owns the installation and stays when others leave."""

from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from migrations_app.use_cases.accounts.directory_tokens import issue_provisioning_token

CORE = "urn:ietf:params:scim:schemas:core:2.0"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


class Directory:
    """A client of /scim/v2 with the token of a directory."""

    def __init__(self) -> None:
        self.secret = issue_provisioning_token("okta", days=30, person=None).secret
        self._client = Client()

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer to one request below /scim/v2."""
        content = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        given = {"Authorization": f"Bearer {self.secret}"} | headers
        kind = "application/scim+json" if content else ""
        return self._client.generic(method, f"/scim/v2/{path}", content, content_type=kind, headers=given)

    def person(self, name: str, /, **more: Any) -> str:
        """The id of a new user."""
        made = self("POST", "Users", {"schemas": [f"{CORE}:User"], "userName": name, "active": True, **more})
        assert made.status_code == 201, made.json()
        return str(made.json()["id"])

    def team(self, name: str, *members: str) -> str:
        """The id of a new group."""
        told = [{"value": key} for key in members]
        made = self("POST", "Groups", {"schemas": [f"{CORE}:Group"], "displayName": name, "members": told})
        assert made.status_code == 201, made.json()
        return str(made.json()["id"])

    def patch(self, path: str, *operations: Any) -> Any:
        return self("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)})


@pytest.fixture
def ada(db: None) -> User:
    cache.clear()
    return User.objects.create_superuser("ada")


@pytest.fixture
def directory(ada: User) -> Directory:
    return Directory()
