"""The password again, before what cannot be undone is approved (A44); wrong ones count as at the sign-in (T28)."""

from django import forms
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from migrations_app.flow.acting import actor
from migrations_app.flow.step_up import GOOD_FOR, SESSION_KEY, refused_again, signed_in_again
from migrations_app.web.access import page


class PasswordForm(forms.Form):
    password = forms.CharField(
        strip=False, max_length=4096, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


@sensitive_post_parameters("password")
@page()
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_again(request: HttpRequest) -> HttpResponse:
    """Asks for the password of whoever is signed in; it then counts for some minutes."""
    form = PasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _right(request, form.cleaned_data["password"]):
        request.session.cycle_key()
        request.session[SESSION_KEY] = signed_in_again(actor())
        return redirect(_next(request))
    wrong = request.method == "POST"
    if wrong:
        refused_again(actor(), locked=bool(getattr(request, "axes_locked_out", False)))
    minutes = round(GOOD_FOR.total_seconds() / 60)
    context = {"form": form, "next": _next(request), "wrong": wrong, "minutes": minutes}
    return render(request, "sign_in/again.html", context, status=422 if wrong else 200)


def _right(request: HttpRequest, password: str) -> bool:
    found = authenticate(request=request, username=request.user.get_username(), password=password)
    return found is not None and found.pk == request.user.pk


def _next(request: HttpRequest) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    return wanted if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) and wanted.startswith("/") else "/"
