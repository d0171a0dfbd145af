"""Django's checks of OUR configuration (T30): a server does not start with a missing key or an open door."""

from typing import Any

from django.conf import settings
from django.core.checks import Error, register

from karpdash.env import Env


@register(deploy=False)
def configuration(**_kwargs: Any) -> list[Error]:  # noqa: ANN401 - Django's own signature
    """What keeps this installation from serving safely."""
    env: Env = settings.ENV
    found = []
    if not env.secret_key:
        found.append(Error("KARPDASH_SECRET_KEY is not set and the data folder holds no key", id="karpdash.E001"))
    if not env.encryption_keys:
        found.append(Error("KARPDASH_ENCRYPTION_KEYS is not set and the data folder holds no key", id="karpdash.E002"))
    if "*" in env.allowed_hosts:
        found.append(Error("KARPDASH_ALLOWED_HOSTS must name hosts, not *", id="karpdash.E003"))
    if settings.DEBUG:
        found.append(Error("DEBUG is on", id="karpdash.E004"))
    if env.secret_key and env.secret_key in {key.hex() for _, key in env.encryption_keys}:
        found.append(Error("the signing key must not be the encryption key", id="karpdash.E005"))
    if env.audit_sinks.targets and not env.audit_signing_key:
        found.append(
            Error("KARPDASH_AUDIT_SIGNING_KEY is not set: the sinks would never get a checkpoint", id="karpdash.E006")
        )
    return found
