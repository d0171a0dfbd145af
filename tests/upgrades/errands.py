"""Runs commands of a test of two releases with the code and settings of the older one: lines of JSON.

Run as `python -m tests.upgrades.errands`; it has the commands of `worker_process`, and three more.
"""

import uuid
from typing import Any

from tests.use_cases.rollouts import worker_process


def visitor() -> dict[str, str]:
    """Creates a person who reads pages and requests scans; returns the header with the session cookie, and an API
    token.
    """
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    from migrations_app.use_cases.accounts import tokens

    ada = User.objects.create_superuser("ada", password="ten-green-kettles-7")
    client = Client()
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    issued = tokens.issue(ada, name="upgrade", scopes=["read", "scan"], days=1)
    return {"cookie": f"{cookie.key}={cookie.value}", "token": issued.secret}


def sample() -> list[str]:
    """Returns the ids of the sample clusters."""
    from tests.installations.errands import samples

    return samples()


def enqueue_rollout(rollout: str) -> bool:
    """Sends the message of the rollout to the workers, as its start would; returns whether the broker took it."""
    from migrations_app import tasks

    return tasks.enqueue_rollout(uuid.UUID(rollout), tasks.advance_rollout)


WORDS: dict[str, Any] = worker_process.WORDS | {
    "visitor": visitor,
    "sample": sample,
    "enqueue_rollout": enqueue_rollout,
}

if __name__ == "__main__":
    worker_process.serve(WORDS)
