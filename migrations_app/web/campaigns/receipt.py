"""The receipt of a campaign for the change ticket, as Markdown."""

from collections.abc import Iterator
from datetime import datetime

from migrations_app.queries.campaigns.values import CampaignBoard, MemberRow
from migrations_app.readiness.outputs.markdown import table, text


def campaign_receipt(board: CampaignBoard, members: tuple[MemberRow, ...]) -> str:
    """Returns what was done on each cluster, by whom and when; untrusted text is escaped."""
    facts = ((word, text(value)) for word, value in _facts(board))
    waves = (
        (str(wave.number), str(wave.total), _utc(wave.opened_at), text(wave.agreed_by), str(wave.stops))
        for wave in board.waves
    )
    hidden = ("", f"{board.hidden} more clusters are not shown to this account.") if board.hidden else ()
    lines = (
        f"# {text(board.row.name)}: {board.row.state.replace('_', ' ')}",
        "",
        *table(("", ""), facts),
        "",
        *table(("wave", "clusters", "opened", "by", "stops"), waves),
        "",
        *table(("wave", "cluster", "from", "to", "result", "why", "at"), map(_member, members)),
        *hidden,
    )
    return "\n".join(lines) + "\n"


def _member(member: MemberRow) -> tuple[str, ...]:
    why = member.cause or member.cause_code.replace("_", " ")
    names = (text(member.name), text(member.release), text(member.target_release))
    return (str(member.wave), *names, member.state, text(why), _utc(member.ended_at))


def _facts(board: CampaignBoard) -> Iterator[tuple[str, str]]:
    row = board.row
    if row.ticket:
        yield "Ticket", row.ticket
    yield "Requested by", row.author
    yield "Approved by", ", ".join(approval.by for approval in board.approvals if approval.counts) or "nobody was asked"
    yield "Started by", row.started_by
    yield "Started", _utc(row.started_at)
    if row.finished_at:
        yield "Finished", _utc(row.finished_at)
    yield "Clusters done", f"{row.done} of {row.total}"
    yield "Plan", row.digest


def _utc(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment else ""
