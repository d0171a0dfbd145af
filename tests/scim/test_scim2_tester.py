"""scim2-tester checks karpdash against RFC 7643 and 7644; it knows only what karpdash says of itself."""

from collections.abc import Iterator

import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from pytest_django import Settings

from tests.scim.conftest import Directory

KNOWN = {
    # A request that takes `active` away says neither that a person left nor that they stay; none is guessed.
    ("check_remove_attribute", "User", "Failed to remove attribute 'active': active cannot be removed"),
    # One address is kept, and told as the primary one for work, whatever else was said of it.
    ("check_add_attribute", "User", "PATCH modify() returned unexpected value for 'emails'."),
    ("check_replace_attribute", "User", "PATCH modify() returned unexpected value for 'emails'."),
}
CHECKS = 10
"""At least as many: of the documents, and of creating, reading, replacing, patching, listing and deleting."""


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """The application of the process itself would close the connection that holds the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.usefixtures("_one_connection")
def test_the_judge_finds_nothing_but_what_is_meant(directory: Directory, settings: Settings) -> None:
    # Here: to import the judge takes seconds, which every worker of a run would spend when it collects the tests.
    from scim2_client.engines.wsgi import WSGISCIMClient
    from scim2_tester import Status, check_server

    settings.API_BURST = 100_000
    settings.ALLOWED_HOSTS = ["testserver"]
    client = WSGISCIMClient(
        get_wsgi_application(),
        base_url="http://testserver/scim/v2",
        headers={"Authorization": f"Bearer {directory.secret}"},
    )
    found = check_server(client)
    bad = [one for one in found if one.status in (Status.ERROR, Status.CRITICAL)]
    assert {(one.title, one.resource_type, (one.reason or "").partition("\n")[0]) for one in bad} == KNOWN
    assert sum(one.status is Status.SUCCESS for one in found) > CHECKS
