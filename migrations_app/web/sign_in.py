"""Sign-in, sign-out, and a password of one's own."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse_lazy

from migrations_app.flow import sign_ins
from migrations_app.flow.people import must_change_password, password_changed
from migrations_app.web.access import address_of


class SignIn(views.LoginView):
    """Wrong tries are counted by name and address; too many give 429 and the page that says so."""

    template_name = "sign_in/login.html"
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        person = form.get_user()
        with transaction.atomic():
            answer = super().form_valid(form)
            sign_ins.signed_in(person.pk, person.get_username(), address=address_of(self.request))
        return answer

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        locked = bool(getattr(self.request, "axes_locked_out", False))
        name = str(form.data.get("username", ""))[:150]
        sign_ins.refused(name, address=address_of(self.request), locked=locked)
        return super().form_invalid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401 - the signature of Django's view
        wait = round(settings.AXES_COOLOFF_TIME * 60)
        return super().get_context_data(tries=settings.AXES_FAILURE_LIMIT, wait=wait, oidc=settings.ENV.oidc, **kwargs)


class ChangePassword(views.PasswordChangeView):
    """Where everybody lands whose password somebody else has seen."""

    template_name = "sign_in/password.html"
    success_url = reverse_lazy("fleet")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401 - the signature of Django's view
        return super().get_context_data(forced=must_change_password(int(self.request.user.pk or 0)), **kwargs)

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        with transaction.atomic():
            answer = super().form_valid(form)
            password_changed(int(self.request.user.pk or 0))
        messages.success(self.request, "Your password is changed.")
        return answer
