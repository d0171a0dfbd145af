"""The page of the glossary."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from migrations_app.queries.glossary import glossary
from migrations_app.web.access import require_right


@require_right()
@require_safe
def words(request: HttpRequest) -> HttpResponse:
    """Every word of the glossary, in its sections; other pages link to single words."""
    return render(request, "catalogue/glossary.html", {"section": "catalogue", "sections": glossary()})
