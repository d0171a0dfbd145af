"""WSGI entry point. Refuses to serve with a configuration that the system checks find unsafe."""

import os

from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from karpdash.processes.python_gc import collect_as_usual, collect_seldom
from migrations_app.errors import InvalidSetting
from migrations_app.inventory.struct_types import build_structs

collect_seldom()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")
try:
    from karpdash.configuration.system_checks import refuse_unsafe

    refuse_unsafe()
except InvalidSetting as error:
    raise SystemExit(str(error)) from None

application = get_wsgi_application()
_wrong = [message for message in run_checks() if message.is_serious()]
if _wrong:
    raise SystemExit("; ".join(str(message.msg) for message in _wrong))
len(get_resolver().url_patterns)  # loads the pages, whose structs are built before threads serve them
build_structs()
collect_as_usual()
