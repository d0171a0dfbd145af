"""Scans of the whole fleet: request and progress."""

import uuid
from functools import partial

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from migrations_app.errors import Conflict
from migrations_app.queries.scans.fleet_scans import fleet_scan
from migrations_app.tasks import enqueue_fleet_scan
from migrations_app.texts import text as _
from migrations_app.use_cases.scans.fleet_scan import request_fleet_scan
from migrations_app.web.access import require_right


@require_right("add_scan")
@require_POST
def scan_all(request: HttpRequest) -> HttpResponse:
    """Requests a scan of every cluster unless one is already active."""
    try:
        fleet_scan = request_fleet_scan(by=request.user.get_username())
    except Conflict as refused:
        messages.error(request, f"{refused.message[0].upper()}{refused.message[1:]}.")
        return redirect("fleet")
    if fleet_scan.created:
        transaction.on_commit(partial(enqueue_fleet_scan, fleet_scan.id))
        messages.success(request, _("The scan of the fleet began; this page shows each result as it comes."))
    else:
        messages.info(request, _("A scan of the fleet was already under way."))
    return redirect("fleet")


@require_right()
@require_safe
def state(request: HttpRequest, fleet_scan_id: uuid.UUID) -> HttpResponse:
    """The progress of a fleet scan: counts, slow and failed scans. Live updates request only the part that changes."""
    fleet_scan_state = fleet_scan(fleet_scan_id, now=timezone.now())
    name = "fleet/_scan_state.html" if request.headers.get("HX-Request") else "fleet/scan.html"
    return render(request, name, {"section": "fleet", "run": fleet_scan_state})
