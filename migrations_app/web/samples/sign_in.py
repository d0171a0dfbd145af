"""Sign-in as a sample person by one click: only from this machine, and only while there are sample clusters."""

from typing import cast

from django.contrib import messages
from django.contrib.auth import login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from migrations_app.errors import PermissionDenied
from migrations_app.use_cases.accounts import sign_in
from migrations_app.use_cases.audit.log import Actor, acting_as
from migrations_app.use_cases.samples.people import RequestOrigin, SamplePerson, offered, person_named
from migrations_app.web.access import address_of, next_page, open_page

BACKEND = "django.contrib.auth.backends.ModelBackend"


def people_for(request: HttpRequest) -> tuple[SamplePerson, ...]:
    """Returns the sample people as whom this request may sign in."""
    return offered(_origin(request))


def _origin(request: HttpRequest) -> RequestOrigin:
    return RequestOrigin(
        address=address_of(request),
        host=_host(request),
        headers=tuple(request.headers),
        protocol=str(request.META.get("SERVER_PROTOCOL", "")),
    )


@open_page
@require_POST
def sign_in_as(request: HttpRequest) -> HttpResponse:
    """Signs in as the chosen sample person, which counts as a fresh sign-in, and goes to `next`."""
    name = request.POST.get("name", "")[:150]
    address = address_of(request)
    try:
        user = person_named(name, _origin(request))
    except PermissionDenied as refused:
        sign_in.record_refusal(name, address=address, locked=False)
        messages.error(request, f"{refused.message[0].upper()}{refused.message[1:]}.")
        return redirect("login")
    by = Actor(name=user.get_username(), id=user.pk, address=address)
    with acting_as(by), transaction.atomic():
        login(request, user, backend=BACKEND)
        request.session[sign_in.SESSION_KEY] = sign_in.record_sample_sign_in(by)
    return redirect(next_page(request))


def _host(request: HttpRequest) -> str:
    """The Host header without its port."""
    host = cast(str, request.META.get("HTTP_HOST", "")).lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
