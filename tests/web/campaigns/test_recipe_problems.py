"""What is wrong in the form of a new campaign is said at its field, and the whole form stays as it was typed."""

import re
from html import unescape

import pytest
from django.urls import reverse

from tests.builders.rollouts import entitled

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ada(client, django_user_model):
    client.force_login(entitled(django_user_model.objects.create_user("ada"), "operate_rollout", "view_cluster"))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("waves", "x", "“Clusters in each wave” takes sizes such as 1, 5, rest."),
        ("labels", "team", "“Labels” takes pairs such as team=pay."),
        ("to", "soon", "Name a release or a minor, such as 1.0."),
        ("minutes", "soon", "takes a whole number."),
    ],
)
def test_a_problem_stands_at_its_field(client, field, value, words):
    answer = client.post(reverse("campaign-create"), {"name": "autumn", field: value})
    html = answer.content.decode()
    below = re.search(
        rf'(?s)<input[^>]*\bname="{field}"[^>]*>\s*<span class="problem" role="alert">(.*?)</span></span>', html
    )
    assert answer.status_code == 400
    assert unescape(re.sub("<[^>]+>", "", below.group(1))).strip().endswith(words)
    assert html.count('class="problem"') == 1
    assert (f'value="{value}"' in html, 'value="autumn"' in html) == (True, True)
