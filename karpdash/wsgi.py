"""Server entry. Refuses to serve with a configuration that the system checks find unsafe."""

import os

from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")
application = get_wsgi_application()

import karpdash.system_checks  # noqa: E402, F401 - registers itself once Django is set up

_wrong = [message for message in run_checks() if message.is_serious()]
if _wrong:
    raise SystemExit("; ".join(str(message.msg) for message in _wrong))
