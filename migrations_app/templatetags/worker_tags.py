"""A template tag that says on a page that nobody works on what the page waits for."""

from typing import Final

from django import template

from migrations_app.queries.worker_health import queues_silent_for_a_minute
from migrations_app.texts import text as _

register = template.Library()
_CONSEQUENCES: Final[dict[str, str]] = {
    "scan": _("No scan runs, and what is shown here grows old."),
    "action": _("No plan is made and no rollout goes on; what was sent stays as it is."),
    "upkeep": _("No notification is sent."),
}


@register.inclusion_tag("parts/_unserved.html")
def unserved(work: str, *queues: str) -> dict[str, object]:
    """Returns the queues without a live worker, what does not happen meanwhile, and the commands that help. `work` is
    the queue that the consequence is named after."""
    missing = [queue for queue in queues_silent_for_a_minute() if queue in queues]
    return {
        "missing": missing,
        "consequence": _CONSEQUENCES[work],
        "commands": [f"karpdash worker {q}" for q in missing],
    }
