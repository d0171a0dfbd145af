"""The page of one rollout: preview, approval and progress depending on its state; its live part; its backups."""

import uuid
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from migrations_app.access import Person
from migrations_app.errors import KarpdashError, NotFound
from migrations_app.queries.audit.log import events_of
from migrations_app.queries.journeys.cluster_holder import part_of
from migrations_app.queries.rehearsals.rehearsals import stored_difference
from migrations_app.queries.rollouts.approvers import approvers_of
from migrations_app.queries.rollouts.detail import RolloutDetail, rollout_detail
from migrations_app.queries.rollouts.policies import kill_switch_state
from migrations_app.queries.rollouts.samples import counter_extremes, samples_of
from migrations_app.rehearsals.comparison import ForecastComparison
from migrations_app.texts import text as _
from migrations_app.use_cases.rollouts.backups import exports_yaml
from migrations_app.use_cases.samples.clusters import is_changeable
from migrations_app.web.access import person_of, require_right
from migrations_app.web.double_submit import form_key
from migrations_app.web.rollouts import presenter as view
from migrations_app.web.rollouts.capacity import capacity_rows
from migrations_app.web.rollouts.forecast import forecast_rows
from migrations_app.web.rollouts.receipt import ENDED, as_markdown, receipt
from migrations_app.web.rollouts.rehearsal import rehearsal_context
from migrations_app.web.rollouts.rollout_polling import live_answer
from migrations_app.web.rollouts.run_board import STATE_WORDS, counter_lines, lanes, pace


@require_right()
@require_safe
def rollout(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """The page for the rollout's current state."""
    return rollout_page(request, rollout_id)


def rollout_page(
    request: HttpRequest, rollout_id: uuid.UUID, *, refused: KarpdashError | None = None, status: int = 200
) -> HttpResponse:
    """The page of a rollout. With `refused`, the refusal is shown above the current state (R33)."""
    detail, person = rollout_detail(rollout_id), person_of(request)
    # Objects may hold sensitive data; users without other rights than view see only descriptions of the steps.
    trusted = bool(set(person.rights) - {"view"})
    context = (
        _live(detail)
        | _steps(request, detail, trusted=trusted)
        | _facts(detail)
        | {
            "section": "rollouts",
            "sample": is_changeable(detail.row.cluster),
            "by_hand": view.manual_commands(detail.plan) if detail.plan and trusted else None,
            "may": view.allowed_actions(detail, person),
            "form_key": form_key(),
            "refused": refused,
        }
        | _state_context(detail)
        | _rehearsals(detail, person)
    )
    return render(request, "rollout/page.html", context, status=status)


def _facts(detail: RolloutDetail) -> dict[str, Any]:
    return {
        "effect": view.effect(detail.row, detail.plan),
        "doubted": [line for line in detail.steps if line.doubt],
        "typed": view.must_type_name(detail.row),
        "typed_first": view.must_type_name_to_request(detail.row),
        "risky": view.is_risky(detail.row),
        "paced": view.limited_by_policy(detail.plan),
        "capacity_rows": capacity_rows(detail.plan),
    }


def _state_context(detail: RolloutDetail) -> dict[str, Any]:
    """Returns what only some states show: who can approve, the upgrade of a paused rollout, and the receipt of an ended
    one.
    """
    row = detail.row
    waits = row.state in ("previewed", "awaiting_approval")
    return {
        "approvers": approvers_of(row.cluster, author=row.author_id) if waits and detail.needed else (),
        "journey": part_of(row.id) if row.state == "paused" else None,
        "changed_something": view.changed_something(detail),
        **_ending(detail),
    }


def _ending(detail: RolloutDetail) -> dict[str, Any]:
    """Returns the receipt of an ended rollout, and its rehearsal compared with the run."""
    if detail.row.state not in ENDED:
        return {"receipt": None, "forecast_rows": ()}
    stored_forecast = stored_difference(detail.row.id)
    forecast = msgspec.convert(stored_forecast, type=ForecastComparison) if stored_forecast else None
    rollout_receipt = receipt(
        detail, worst=counter_extremes(detail.row.id), audit=events_of(detail.row.id), forecast=forecast
    )
    rows = forecast_rows(forecast) if forecast else ()
    return {"receipt": rollout_receipt, "forecast": forecast, "forecast_rows": rows}


@require_right()
@require_safe
def receipt_file(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """The receipt as Markdown. Raises NotFound before the end."""
    rollout_receipt = _ending(rollout_detail(rollout_id))["receipt"]
    if rollout_receipt is None:
        raise NotFound(_("the rollout has not ended"))
    answer = HttpResponse(as_markdown(rollout_receipt), content_type="text/markdown; charset=utf-8")
    name = f"rollout-{rollout_id}.md"
    answer["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    return answer


@require_right()
@require_safe
def live(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:
    """The live part of the page; 304 while it has not changed. It is the same for everyone who may see the rollout, so
    it is rendered once for all of them.
    """
    return live_answer(request, rollout_id, draw=lambda: _parts(request, rollout_id))


def _parts(request: HttpRequest, rollout_id: uuid.UUID) -> str:
    detail = rollout_detail(rollout_id)
    return render_to_string("rollout/_parts.html", _live(detail) | _steps(request, detail, trusted=False))


@require_right("operate_rollout", "approve_rollout", "administer_policy")
@require_safe
def exports(request: HttpRequest, rollout_id: uuid.UUID) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """The backups as manifests that can be applied again."""
    text = exports_yaml(rollout_id)
    if not text:
        raise NotFound(_("nothing was exported"))
    answer = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    name = f"rollout-{rollout_id}.yaml"
    answer["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    return answer


def _live(detail: RolloutDetail) -> dict[str, Any]:
    picture = detail.picture
    now = timezone.now()
    return {
        "detail": detail,
        "row": detail.row,
        "polled": detail.row.state in view.POLLED,
        "counters": view.counters(detail),
        "blocked": view.blocked(detail),
        "blocked_rest": view.blocked_rest(detail),
        "picture": picture,
        "lanes": lanes(detail),
        "lines": counter_lines(samples_of(detail.row.id)) if detail.row.started_at else (),
        "pace": pace(detail, now=now),
        "now_step": next((line for line in detail.steps if line.standing not in ("done", "skipped")), None),
        "switch": kill_switch_state(),
        "square_words": tuple(STATE_WORDS.items()),
        "now": now,
    }


def _page_version(detail: RolloutDetail, mark: str) -> str:
    """Returns the value that the page polls for: when it differs, the whole page reloads. `mark` is that of the newest
    rehearsal.
    """
    row = detail.row
    return f"{row.version}.{row.approvals}{row.stop_request}{mark}"


def _rehearsals(detail: RolloutDetail, person: Person) -> dict[str, Any]:
    context = rehearsal_context(detail, person)
    return context | {
        "polled": detail.row.state in view.POLLED or context["rehearsing"],
        "page_version": _page_version(detail, context["rehearsal_mark"]),
    }


def _steps(request: HttpRequest, detail: RolloutDetail, *, trusted: bool) -> dict[str, Any]:
    """One page of the steps, and the positions of the neighbouring pages."""
    first = _first_step(request, detail)
    after = first + view.STEPS_SHOWN
    return {
        "first_step": first + 1,
        "steps": view.shown_steps(detail, first=first, with_diffs=trusted),
        "next_step": after if after < len(detail.steps) else None,
        "before_step": max(0, first - view.STEPS_SHOWN) if first else None,
    }


def _first_step(request: HttpRequest, detail: RolloutDetail) -> int:
    """Returns the place of the first step of the shown page: of a refused form about a step, the page with that
    step.
    """
    submitted = request.POST.get("step", "")
    for place, line in enumerate(detail.steps):
        if line.step.id == submitted:
            return place - place % view.STEPS_SHOWN
    text = request.GET.get("from", "0")
    number = int(text) if text.isdecimal() and len(text) < 6 else 0
    return number if number < len(detail.steps) else 0
