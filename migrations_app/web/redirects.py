"""Redirects after an accepted form, for requests of the browser itself and of htmx."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django_htmx.http import HttpResponseClientRedirect, push_url, reselect, reswap, retarget


def redirect_to(request: HttpRequest, address: str) -> HttpResponse:
    """Returns a redirect to that URL. htmx would put the page in place of the form, so it gets its own redirect
    header.
    """
    by_htmx = request.headers.get("HX-Request") == "true"
    return HttpResponseClientRedirect(address) if by_htmx else HttpResponseRedirect(address)


def replace_page(request: HttpRequest, response: HttpResponse, *, address: str) -> HttpResponse:
    """Makes htmx replace the whole page by this response under that URL, for pages shown once such as one with a
    secret.
    """
    if request.headers.get("HX-Request") != "true":
        return response
    return push_url(reselect(retarget(reswap(response, "outerHTML"), "#content"), "#content"), address)
