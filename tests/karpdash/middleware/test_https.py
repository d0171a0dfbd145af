"""What changes with KARPDASH_HTTPS=1: names of cookies, HSTS, and no redirect for programs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from karpdash.middleware.refusals import Refusals
from tests.servers.processes import environment

TELLS = """
import json, django
django.setup()
from django.conf import settings as s
from migrations_app.web.sign_in.login import BROWSER
print(json.dumps({
    "cookies": [s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, BROWSER],
    "secure": [s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE],
    "bound": [s.SESSION_COOKIE_DOMAIN, s.CSRF_COOKIE_DOMAIN, s.SESSION_COOKIE_PATH, s.CSRF_COOKIE_PATH],
    "hsts": [s.SECURE_HSTS_SECONDS, s.SECURE_HSTS_INCLUDE_SUBDOMAINS, s.SECURE_SSL_REDIRECT],
}))
"""


@pytest.mark.parametrize("https", ["0", "1"])
def test_cookies_are_of_this_host_alone_and_tls_is_remembered(tmp_path: Path, https: str) -> None:
    given = {"KARPDASH_DATA_DIR": str(tmp_path), "KARPDASH_HTTPS": https, "DJANGO_SETTINGS_MODULE": "karpdash.settings"}
    done = subprocess.run(
        [sys.executable, "-c", TELLS], env=environment() | given, capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    start, on = ("__Host-", True) if https == "1" else ("", False)
    assert said["cookies"] == [f"{start}sessionid", f"{start}csrftoken", f"{start}signed_in_here"]
    assert (said["secure"], said["bound"]) == ([on, on], [None, None, "/", "/"])
    assert said["hsts"] == [31_536_000 if on else 0, on, on]


@pytest.mark.parametrize(
    ("path", "secure", "status"),
    [
        ("/api/v1/clusters", False, 403),
        ("/metrics", False, 403),
        ("/api/v1/clusters", True, 200),
        ("/login", False, 200),
    ],
)
def test_programs_in_clear_are_refused_where_tls_is_set(settings, path: str, secure: bool, status: int) -> None:
    settings.SECURE_SSL_REDIRECT = True
    request = RequestFactory().get(path, secure=secure)
    answer = Refusals(lambda _request: HttpResponse())(request)
    assert (answer.status_code, "Location" in answer.headers) == (status, False)


def test_without_tls_nothing_is_refused(settings) -> None:
    settings.SECURE_SSL_REDIRECT = False
    answer = Refusals(lambda _request: HttpResponse())(RequestFactory().get("/api/v1/clusters"))
    assert answer.status_code == 200
