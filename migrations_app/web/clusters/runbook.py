"""The runbook page of a hop: ordered stages with commands, rollback and point of no return; also as Markdown."""

import re
import uuid
from dataclasses import dataclass
from typing import Any

import msgspec
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from migrations_app.readiness.next_step import FindingGroup, group_in_order
from migrations_app.readiness.outputs import runbook_markdown
from migrations_app.readiness.runbook.runbook import Runbook, RunbookHop, runbook
from migrations_app.readiness.runbook.stages import RunbookStage
from migrations_app.texts import text as _
from migrations_app.web.access import require_right
from migrations_app.web.clusters.readiness import about
from migrations_app.web.clusters.sections import SharedRemedies, remedies_of
from migrations_app.web.clusters.stage_badges import StageBadge, stage_badges

PARTS = {"before": _("Prepare"), "land": _("Upgrade"), "after": _("Migrate"), "verify": _("Verify")}
_NOT_IN_FILES = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One stage on the page. `part` is its heading, empty if it is the heading of the previous stage."""

    number: int
    stage: RunbookStage
    part: str
    badges: tuple[StageBadge, ...]
    groups: tuple[FindingGroup, ...]
    commands: SharedRemedies
    back: str
    back_commands: str

    @property
    def tone(self) -> str:
        """The colour of the stage."""
        return self.badges[0].look.tone


@require_right()
@require_safe
def plan(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The runbook of one hop; with `download`, that hop or the whole path as Markdown."""
    context = about(request, cluster_id, tab="cluster-plan")
    report = context["report"]
    full_runbook = runbook(report) if report else None
    runbook_hop = _chosen_hop(full_runbook, context["hop"].hop) if full_runbook else None
    if full_runbook and request.GET.get("download"):
        return _download(full_runbook, runbook_hop, extent=request.GET["download"])
    if runbook_hop:
        context |= _hop_context(runbook_hop, cluster=report.cluster.name)
    return render(request, "cluster/runbook.html", context | {"plan": runbook_hop, "icons": static("img/icons.svg")})


def _chosen_hop(full_runbook: Runbook, hop: str) -> RunbookHop | None:
    """The requested hop, else the next one; None at the end of the path."""
    return next(
        (runbook_hop for runbook_hop in full_runbook.hops if runbook_hop.path_hop.name == hop),
        next(iter(full_runbook.hops), None),
    )


def _hop_context(runbook_hop: RunbookHop, *, cluster: str) -> dict[str, Any]:
    rows: list[StageRow] = []
    for number, (stage, back) in enumerate(zip(runbook_hop.stages, runbook_hop.ways_back(), strict=True), 1):
        begins_part = not rows or rows[-1].stage.part != stage.part
        groups = group_in_order(runbook_hop.open_in(stage), cluster=cluster)
        commands = SharedRemedies(f"stage-{number}", stage.does, stage.commands)
        part = PARTS[stage.part] if begins_part else ""
        rows.append(
            StageRow(
                number=number,
                stage=stage,
                part=part,
                badges=stage_badges(stage, (finding for group in groups for finding in group.findings)),
                groups=groups,
                commands=commands,
                back=back,
                back_commands="\n".join(stage.back_commands) if back else "",
            )
        )
    untold = runbook_hop.unknown_by_reason(cluster)
    impact = [line for line in runbook_hop.forecast if line.count != 0]
    return {"rows": rows, "impact": impact, "untold": [(group, remedies_of(group)) for group in untold]}


def _download(full_runbook: Runbook, runbook_hop: RunbookHop | None, *, extent: str) -> HttpResponse:
    if extent not in ("hop", "path") or (extent == "hop" and runbook_hop is None):
        raise Http404("no such plan")
    hops = (runbook_hop,) if extent == "hop" and runbook_hop else full_runbook.hops
    text = runbook_markdown.render(msgspec.structs.replace(full_runbook, hops=hops))
    target_release = hops[-1].path_hop.release if hops else "done"
    name = _NOT_IN_FILES.sub("-", f"{full_runbook.cluster.name[:80]}-karpenter-{target_release}-plan")
    disposition = content_disposition_header(as_attachment=True, filename=f"{name}.md")
    return HttpResponse(
        text,
        content_type="text/markdown; charset=utf-8",
        headers={"Content-Disposition": disposition or "attachment"},
    )
