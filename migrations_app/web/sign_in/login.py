"""Sign-in and sign-out, change of password, and re-authentication before irreversible approvals (A44)."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, views
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import password_validators_help_texts
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from migrations_app.texts import text as _
from migrations_app.use_cases.accounts import sign_in
from migrations_app.use_cases.accounts.feed_links import revoke_all_feed_links
from migrations_app.use_cases.accounts.oidc import provider_of
from migrations_app.use_cases.accounts.rights import must_change_password, password_changed
from migrations_app.use_cases.accounts.sign_in import (
    REAUTHENTICATION_LIFETIME,
    SESSION_KEY,
    fresh_until,
    record_reauthentication,
    record_refused_reauthentication,
)
from migrations_app.use_cases.accounts.tokens import revoke_all
from migrations_app.use_cases.audit.log import actor
from migrations_app.web.access import address_of, next_page, require_right
from migrations_app.web.samples.sign_in import people_for

BROWSER = f"{settings.COOKIE_PREFIX}signed_in_here"
BROWSER_DAYS = 90
ONE_TIME = "one_time_until"
"""The time until which a session that began with a one-time password may set a new one without entering it again."""


class SignIn(views.LoginView):
    """The sign-in page. Failed attempts are counted by name and address; too many return 429 with a page that
    says so.
    """

    template_name = "sign_in/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:  # noqa: ANN401 - Django's signature
        """Answers 429 with Retry-After while this address has to wait, unless that name has signed in with this
        browser.
        """
        name, address = request.POST.get("username", "")[:150], address_of(request)
        wait = 0 if _has_signed_in_here(request, name) else sign_in.seconds_to_wait(address=address)
        if not wait:
            return super().post(request, *args, **kwargs)
        sign_in.record_refusal(name, address=address, locked=True)
        answer = render(request, "sign_in/slow.html", {"wait": wait}, status=429)
        answer["Retry-After"] = str(wait)
        return answer

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        person = form.get_user()
        with transaction.atomic():
            answer = super().form_valid(form)
            sign_in.record_sign_in(person.pk, person.get_username(), address=address_of(self.request))
        if must_change_password(person.pk):
            self.request.session[ONE_TIME] = (timezone.now() + REAUTHENTICATION_LIFETIME).isoformat()
        _remember_browser(answer, person.get_username())
        return answer

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        locked = bool(getattr(self.request, "axes_locked_out", False))
        name = str(form.data.get("username", ""))[:150]
        sign_in.record_refusal(name, address=address_of(self.request), locked=locked)
        return super().form_invalid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401 - the signature of Django's view
        wait = round(settings.AXES_COOLOFF_TIME * 60)
        more = {"people": people_for(self.request), "oidc": settings.ENV.oidc}
        return super().get_context_data(tries=settings.AXES_FAILURE_LIMIT, wait=wait, **more, **kwargs)


class SignOut(views.LogoutView):
    """Ends the session, by POST only, and tells the browser to delete the pages that it cached."""

    http_method_names = ["post", "options"]

    def dispatch(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:  # noqa: ANN401 - Django's signature
        answer = super().dispatch(request, *args, **kwargs)
        answer.headers["Clear-Site-Data"] = '"cache"'
        return answer


def _remember_browser(answer: HttpResponse, name: str) -> None:
    """Sets a signed cookie with which this name is not locked out in this browser when others at the same address guess
    passwords.
    """
    answer.set_signed_cookie(
        BROWSER,
        sign_in.throttled_name(None, {"username": name}),
        salt=BROWSER,
        max_age=BROWSER_DAYS * 24 * 3600,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _has_signed_in_here(request: HttpRequest, name: str) -> bool:
    cookie = request.get_signed_cookie(BROWSER, default="", salt=BROWSER, max_age=BROWSER_DAYS * 24 * 3600) or ""
    return bool(cookie) and constant_time_compare(cookie, sign_in.throttled_name(None, {"username": name}))


class CountedPasswordChangeForm(PasswordChangeForm):
    """Counts wrong old passwords as wrong sign-ins, with the same lock-out (T27)."""

    end_tokens = forms.BooleanField(required=False, label=_("End my API tokens and feed links, too"))
    request: HttpRequest

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's signature
        super().__init__(*args, **kwargs)
        # Django's own help text is a list in HTML, and this page shows help as plain text.
        self.fields["new_password1"].help_text = " ".join(password_validators_help_texts())

    def validate_password_for_user(self, user: User, password_field_name: str = "") -> None:  # noqa: ARG002 - Django's signature
        """Shows the objections of the password policy at the new password, not at its repetition."""
        super().validate_password_for_user(user, "new_password1")

    def clean_old_password(self) -> str:
        name = self.user.get_username()
        if authenticate(request=self.request, username=name, password=self.cleaned_data["old_password"]) is None:
            locked = bool(getattr(self.request, "axes_locked_out", False))
            record_refused_reauthentication(actor(), locked=locked)
        return super().clean_old_password()

    def clean(self) -> dict[str, Any]:
        """Refuses the old password as the new one: otherwise a one-time password would stay valid."""
        values = super().clean() or {}
        if values.get("new_password1") and self.user.check_password(values["new_password1"]):
            self.add_error("new_password1", _("This is the old password: choose another."))
        return values


class FirstPasswordForm(CountedPasswordChangeForm):
    """The form right after the sign-in with a one-time password; it does not ask for that password again."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's signature
        super().__init__(*args, **kwargs)
        del self.fields["old_password"]
        self.fields["new_password1"].widget.attrs["autofocus"] = True


class ChangePassword(views.PasswordChangeView):
    """The page to change the password. Users with a one-time password are sent here first."""

    template_name = "sign_in/password.html"
    success_url = reverse_lazy("fleet")

    def get_form_class(self) -> type[CountedPasswordChangeForm]:
        until = fresh_until(self.request.session.get(ONE_TIME))
        first = until is not None and until > timezone.now() and must_change_password(int(self.request.user.pk or 0))
        return FirstPasswordForm if first else CountedPasswordChangeForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401 - the signature of Django's view
        return super().get_context_data(forced=must_change_password(int(self.request.user.pk or 0)), **kwargs)

    def get_form(self, form_class: Any = None) -> CountedPasswordChangeForm:  # noqa: ANN401 - Django's signature
        form = cast(CountedPasswordChangeForm, super().get_form(form_class))
        form.request = self.request
        return form

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        ended = 0
        with transaction.atomic():
            answer = super().form_valid(form)
            password_changed(int(self.request.user.pk or 0))
            if form.cleaned_data["end_tokens"]:
                ended = revoke_all(int(self.request.user.pk or 0))
                revoke_all_feed_links(int(self.request.user.pk or 0))
        tokens = ngettext("{count} API token ended.", "{count} API tokens ended.", ended).format(count=ended)
        messages.success(self.request, _("Your password is changed.") + (f" {tokens}" if ended else ""))
        return answer


class PasswordForm(forms.Form):
    password = forms.CharField(
        strip=False, max_length=4096, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


@sensitive_post_parameters("password")
@require_right()
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_again(request: HttpRequest) -> HttpResponse:
    """Re-authentication: asks for the password again or redirects to the provider. Valid for some minutes."""
    form = PasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _right(request, form.cleaned_data["password"]):
        request.session.cycle_key()
        request.session[SESSION_KEY] = record_reauthentication(actor())
        return redirect(next_page(request))
    failed = request.method == "POST"
    if failed:
        record_refused_reauthentication(actor(), locked=bool(getattr(request, "axes_locked_out", False)))
    minutes = round(REAUTHENTICATION_LIFETIME.total_seconds() / 60)
    context = {"form": form, "next": next_page(request), "wrong": failed, "minutes": minutes}
    context["oidc"] = provider_of(int(request.user.pk or 0))
    return render(request, "sign_in/again.html", context, status=422 if failed else 200)


def _right(request: HttpRequest, password: str) -> bool:
    user = authenticate(request=request, username=request.user.get_username(), password=password)
    return user is not None and user.pk == request.user.pk
