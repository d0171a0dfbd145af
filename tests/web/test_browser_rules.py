"""What every answer tells the browser, and addresses that show nothing of how karpdash is made."""

import pytest
from django.test import Client

PAGES = ("/", "/login", "/fleet.csv", "/burndown.svg", "/audit", "/nowhere")
PATHS = (*PAGES, "/healthz", "/api/v1/clusters", "/api/v1/docs/")
STATIC = ("/static/css/karpdash.css", "/static/js/page.js")


@pytest.mark.parametrize("path", [*PATHS, *STATIC])
def test_a_browser_guesses_nothing_and_tells_others_nothing(ada, path):
    answer = ada.get(path)
    answer.close()
    headers = answer.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers
    kind = headers["Content-Type"]
    assert kind.startswith(("application/json", "application/problem+json", "image/svg+xml")) or "utf-8" in kind


@pytest.mark.parametrize("path", PATHS)
def test_only_what_is_ours_is_loaded_and_nobody_frames_it(ada, path):
    policy = ada.get(path).headers["Content-Security-Policy"].split("; ")
    wanted = {"default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"}
    assert wanted <= set(policy)
    assert [part for part in policy if part.startswith("object-src")] == []  # default-src closes it


@pytest.mark.parametrize(
    "path", ["/static/", "/static/css/", "/static/js/", "/.git/config", "/.env", "/static/../manage.py", "/admin/"]
)
def test_no_folder_and_no_file_of_the_source_is_shown(ada, path):
    assert ada.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/", "/login", "/healthz", "/api/v1/clusters", "/static/js/page.js"])
def test_trace_is_not_served(path, db):
    assert Client().trace(path).status_code in (401, 405)


@pytest.mark.parametrize("kind", ["email", "hint", "question", "secret"])
def test_nothing_but_name_and_password_is_asked(dan, kind):
    assert f'name="{kind}' not in dan.get("/login").content.decode()
