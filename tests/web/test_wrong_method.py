"""An address that only forms use, opened in a browser, is a page within the frame; programs get the bare answer."""

import pytest

from tests.web.pages import links, text

pytestmark = pytest.mark.django_db


def test_a_form_s_address_opened_is_a_page(ada):
    answer = ada.get("/groups/new")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "Not a page This address only answers POST" in text(answer)
    assert "/rollouts/" in links(answer)


@pytest.mark.parametrize("accept", ["application/json", "text/plain"])
def test_programs_get_the_bare_answer(ada, accept):
    answer = ada.get("/groups/new", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["Allow"], answer.content) == (405, "POST", b"")


def test_the_api_answers_by_itself(ada):
    answer = ada.post("/api/v1/version")
    assert (answer.status_code, answer.headers["Content-Type"]) == (405, "application/problem+json")
