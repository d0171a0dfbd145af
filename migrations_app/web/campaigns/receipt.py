"""The receipt of a campaign for the change ticket, as Markdown."""

from collections.abc import Iterator
from datetime import datetime

from migrations_app.queries.campaigns.values import CampaignBoard, MemberRow
from migrations_app.web.rollouts.receipt import escaped


def campaign_receipt(board: CampaignBoard, members: tuple[MemberRow, ...]) -> str:
    """Returns what was done on each cluster, by whom and when; untrusted text is escaped."""
    facts = "\n".join(f"| {word} | {escaped(value)} |" for word, value in _facts(board))
    waves = "\n".join(
        f"| {wave.number} | {wave.total} | {_utc(wave.opened_at)} | {escaped(wave.agreed_by)} | {wave.stops} |"
        for wave in board.waves
    )
    lines = "\n".join(
        f"| {member.wave} | {escaped(member.name)} | {escaped(member.release)} | {escaped(member.lands)} "
        f"| {member.state} | {escaped(member.cause or member.cause_code.replace('_', ' '))} | {_utc(member.ended_at)} |"
        for member in members
    )
    head = f"# {escaped(board.row.name)}: {board.row.state.replace('_', ' ')}"
    hidden = f"\n{board.hidden} more clusters are not shown to this account.\n" if board.hidden else ""
    tables = (
        f"| | |\n| --- | --- |\n{facts}",
        f"| wave | clusters | opened | by | stops |\n{_ruled(5)}\n{waves}",
        f"| wave | cluster | from | to | result | why | at |\n{_ruled(7)}\n{lines}\n{hidden}",
    )
    return "\n\n".join((head, *tables))


def _ruled(columns: int) -> str:
    return "|" + " --- |" * columns


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
