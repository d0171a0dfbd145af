"""What a running rollout waits for, said on its page: never a stale picture without a reason."""

from migrations_app.flow.journal import Work, note


def wait_for(work: Work, words: str) -> bool:
    """False, as whatever did not get on gives; what it waits for stands in the row from now on. Empty: it gets on."""
    told = words[:1000]
    if work.row.waits_for != told:
        note(work, waits_for=told)
    return False
