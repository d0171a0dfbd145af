"""Who asks for the pages that are measured."""

from typing import Any


def signed_in() -> tuple[Any, Any]:
    """Django's client with the session of an admin, and that admin; after `django.setup()` and `migrate`.

    It goes without Django's environment for tests, in which every template that is rendered keeps a copy of its
    context, which no server does.
    """
    from django.contrib.auth import get_user_model
    from django.test import Client

    user = get_user_model().objects.create_superuser("ada", password="x" * 20)
    client = Client(SERVER_NAME="localhost")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client, user
