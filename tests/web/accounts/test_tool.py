"""The tool of fixes: kept with the account, open on the page that the server sends, without script."""

import re

import pytest
from django.contrib.auth.models import User
from django.template import engines
from django.test import Client, RequestFactory
from django.urls import reverse

from migrations_app.checks.base import Remedy
from migrations_app.models.account import ToolChoice
from migrations_app.queries.accounts.tool_choice import tool_of
from migrations_app.readiness.outputs.preferred_tool import TOOLS
from migrations_app.templatetags import wording

pytestmark = pytest.mark.django_db
PAGE = (
    "{% load tool_tags %}{% tool_tabs remedies as tabs %}"
    "{% for tab in tabs %}{{ tab.label }}:{{ tab.chosen }} {% endfor %}"
)


def tabs(*hows, person) -> str:
    request = RequestFactory().get("/")
    request.user = person
    remedies = [Remedy(how=how, text=how) for how in hows]
    return engines["django"].from_string(PAGE).render({"remedies": remedies}, request).strip()


def opened(page) -> list[str]:
    return re.findall(r'value="([a-z-]*)"\s+checked', page.content.decode())


def test_a_choice_is_kept_changed_and_taken_back(ben):
    address = reverse("tool")
    assert opened(ben.get(address)) == [""]
    for said in ("terraform", "cloudformation"):
        assert ben.post(address, {"tool": said}).status_code == 302
        assert opened(ben.get(address)) == [said]
    assert ToolChoice.objects.count() == 1
    ben.post(address, {"tool": ""})
    assert (opened(ben.get(address)), ToolChoice.objects.count()) == ([""], 0)


def test_what_is_no_tool_is_refused_and_the_choice_stays(ben):
    ben.post(reverse("tool"), {"tool": "helm"})
    answer = ben.post(reverse("tool"), {"tool": "magic"})
    assert (answer.status_code, opened(answer)) == (422, ["helm"])
    assert "a tool is one of kubectl" in answer.content.decode()


def test_only_the_form_is_answered_with_a_message_and_twice_keeps_the_same(ben):
    ben.post(reverse("tool"), {"tool": "flux", "quiet": "yes"})
    assert "Preferred tool saved." not in ben.get(reverse("tool")).content.decode()
    ben.post(reverse("tool"), {"tool": "flux"})
    assert "Preferred tool saved." in ben.get(reverse("tool")).content.decode()
    assert ToolChoice.objects.count() == 1


def test_a_post_without_the_token_of_the_site_is_refused(ben):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = ben.cookies
    assert strict.post(reverse("tool"), {"tool": "helm"}).status_code == 403
    assert ToolChoice.objects.count() == 0


def test_the_choice_of_one_person_is_not_that_of_another(ben, ada):
    ben.post(reverse("tool"), {"tool": "argocd"})
    assert (opened(ben.get(reverse("tool"))), opened(ada.get(reverse("tool")))) == (["argocd"], [""])


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("", "kubectl 1:True Helm:False kubectl 2:False"),
        ("helm", "kubectl 1:False Helm:True kubectl 2:False"),
        ("kubectl", "kubectl 1:True Helm:False kubectl 2:False"),
        ("terraform", "kubectl 1:True Helm:False kubectl 2:False"),
        ("no-more", "kubectl 1:True Helm:False kubectl 2:False"),
    ],
)
def test_the_tab_of_the_tool_is_open_else_the_first(tool, told):
    person = User.objects.create_user("eve")
    if tool:
        ToolChoice.objects.create(person=person, tool=tool)
    assert tabs("kubectl", "helm", "kubectl", person=person) == told


def test_the_forms_of_a_policy_are_tools_of_their_own():
    person = User.objects.create_user("eve")
    ToolChoice.objects.create(person=person, tool="cloudformation")
    assert tabs("iam", "iam", "iam", person=person) == "AWS CLI:False JSON:False CloudFormation:True"


def test_a_tool_that_is_none_any_more_is_no_choice():
    person = User.objects.create_user("eve")
    ToolChoice.objects.create(person=person, tool="no-more")
    assert tool_of(person.pk) == ""
    assert set(wording.TOOLS) == set(TOOLS)
