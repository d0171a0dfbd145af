"""What a form leads to when it was accepted, sent by the browser itself or by htmx."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django_htmx.http import HttpResponseClientRedirect, push_url, reselect, reswap, retarget


def leads_to(request: HttpRequest, address: str) -> HttpResponse:
    """Opens that address. htmx would put its page into the place of the form; it is told to go there."""
    by_htmx = request.headers.get("HX-Request") == "true"
    return HttpResponseClientRedirect(address) if by_htmx else HttpResponseRedirect(address)


def in_place_of_the_page(request: HttpRequest, response: HttpResponse, *, address: str) -> HttpResponse:
    """The page of that address which is shown once, such as one with a secret, where htmx sent the form of another."""
    if request.headers.get("HX-Request") != "true":
        return response
    return push_url(reselect(retarget(reswap(response, "outerHTML"), "#content"), "#content"), address)
