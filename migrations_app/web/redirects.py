"""Where a form leads when it was accepted, sent by the browser itself or by htmx."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django_htmx.http import HttpResponseClientRedirect


def leads_to(request: HttpRequest, address: str) -> HttpResponse:
    """Opens that address. htmx would put its page into the place of the form; it is told to go there."""
    by_htmx = request.headers.get("HX-Request") == "true"
    return HttpResponseClientRedirect(address) if by_htmx else HttpResponseRedirect(address)
