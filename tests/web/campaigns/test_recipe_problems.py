"""What is wrong in the form of a new campaign is said at its field, and the whole form stays as it was typed."""

import re
from html import unescape

import pytest
from django.urls import reverse

from migrations_app.web.campaigns.recipe_form import NUMBER_FIELDS
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
        ("minutes", "soon", "takes a whole number from 0 to 1440."),
        ("minutes", "1441", "takes a whole number from 0 to 1440."),
        ("gate_minutes", "43201", "takes a whole number from 0 to 43200."),
        ("most_stops", "1001", "takes a whole number from 0 to 1000."),
        ("at_once", "0", "“Clusters at once” takes a whole number from 1 to 1000."),
        ("per_region", "1001", "takes a whole number from 0 to 1000."),
        ("per_environment", "1001", "takes a whole number from 0 to 1000."),
        ("waves", "1001", "0 to 1000."),
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


@pytest.mark.parametrize(
    ("field", "value", "words", "after"),
    [
        ("environments", "none", "No cluster that you may operate is chosen.", "Which clusters</h2>"),
        ("groups", "x", "There is no such group.", "Which clusters</h2>"),
        ("covers", "destructive", "Low, medium or high.", "high</option> </select>"),
        ("person", "x", "Never, first or every.", "every wave after the first </option> </select>"),
        ("destroys", "x", "is not an action whose objects are known before its plan", "</span></label>"),
    ],
)
def test_a_problem_of_a_choice_stands_at_its_field(client, field, value, words, after):
    answer = client.post(reverse("campaign-create"), {"name": "autumn", field: value})
    before, _, problem = " ".join(unescape(answer.content.decode()).split()).partition(
        '<span class="problem" role="alert">'
    )
    said = re.sub("<[^>]+>", "", problem.partition("</span></span>")[0])
    assert (answer.status_code, words in said) == (400, True)
    assert before.rstrip().endswith(after)


@pytest.mark.parametrize("field", NUMBER_FIELDS)
def test_the_form_lets_type_what_is_accepted(client, field):
    """The range of the browser is that of the server."""
    number = NUMBER_FIELDS[field]
    page = client.get(reverse("campaign-new")).content.decode()
    tag = re.search(rf'<input[^>]*\bname="{field}"[^>]*>', page).group(0)
    assert (f'min="{number.least}"' in tag, f'max="{number.most}"' in tag) == (True, True)
