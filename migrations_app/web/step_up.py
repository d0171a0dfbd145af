"""Proof of the person once more, by password or at the provider, before what cannot be undone is approved (A44)."""

from django import forms
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from migrations_app.flow.acting import actor
from migrations_app.flow.oidc import provider_of
from migrations_app.flow.step_up import GOOD_FOR, SESSION_KEY, refused_again, signed_in_again
from migrations_app.web.access import page
from migrations_app.web.following import next_page


class PasswordForm(forms.Form):
    password = forms.CharField(
        strip=False, max_length=4096, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


@sensitive_post_parameters("password")
@page()
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_again(request: HttpRequest) -> HttpResponse:
    """Asks whoever is signed in for the password, or sends them to their provider; it then counts for some minutes."""
    form = PasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _right(request, form.cleaned_data["password"]):
        request.session.cycle_key()
        request.session[SESSION_KEY] = signed_in_again(actor())
        return redirect(next_page(request))
    wrong = request.method == "POST"
    if wrong:
        refused_again(actor(), locked=bool(getattr(request, "axes_locked_out", False)))
    minutes = round(GOOD_FOR.total_seconds() / 60)
    context = {"form": form, "next": next_page(request), "wrong": wrong, "minutes": minutes}
    context["oidc"] = provider_of(int(request.user.pk or 0))
    return render(request, "sign_in/again.html", context, status=422 if wrong else 200)


def _right(request: HttpRequest, password: str) -> bool:
    found = authenticate(request=request, username=request.user.get_username(), password=password)
    return found is not None and found.pk == request.user.pk
