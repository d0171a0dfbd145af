"""Whose address counts: the proxy's last word where there is a proxy, the connection's own everywhere else."""

import dataclasses

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from karpdash.middleware.client_address import ClientAddress


def seen(settings, *, behind_proxy, forwarded):
    settings.ENV = dataclasses.replace(settings.ENV, behind_proxy=behind_proxy)
    told = {"HTTP_X_FORWARDED_FOR": forwarded} if forwarded is not None else {}
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.9", **told)
    ClientAddress(lambda _request: HttpResponse())(request)
    return request.META["REMOTE_ADDR"]


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("1.2.3.4, 203.0.113.7", "203.0.113.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("203.0.113.7, unknown", "10.0.0.9"),
        ("<script>", "10.0.0.9"),
        ("", "10.0.0.9"),
        (None, "10.0.0.9"),
    ],
)
def test_behind_a_proxy_its_last_word_counts(settings, forwarded, address):
    assert seen(settings, behind_proxy=True, forwarded=forwarded) == address


def test_without_a_proxy_nothing_is_believed(settings):
    assert seen(settings, behind_proxy=False, forwarded="203.0.113.7") == "10.0.0.9"
