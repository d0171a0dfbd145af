"""The IAM tab of a cluster: what each release of the path needs, compared with what the controller's roles allow.

Releases are columns, required actions are rows in groups; the patch of one release is shown in several formats.
"""

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from migrations_app.iam.requirements.gaps import depends_on_settings
from migrations_app.iam.requirements.output import as_json
from migrations_app.queries.clusters.reports import sheet_of
from migrations_app.readiness.iam_sheet.values import (
    IamCell,
    IamColumn,
    IamDocument,
    IamPatch,
    IamRole,
    IamRow,
    IamSheet,
    IamSize,
)
from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.texts import text as _
from migrations_app.web.access import require_right
from migrations_app.web.clusters.iam_words import (
    ACTION_GROUPS,
    ALLOWED,
    ANSWERS,
    FOUND_BY,
    KINDS,
    NEEDED,
    NOT_NEEDED,
    UNKNOWN,
    VERDICT_NOTES,
    VERDICT_WORDS,
)
from migrations_app.web.clusters.readiness import about


class MatrixCell(NamedTuple):
    """A cell of the matrix. `label` is the release, for screen readers."""

    label: str
    look: BadgeStyle
    faint: bool


class CellDetail(NamedTuple):
    """Details of a cell, once for all releases with equal details."""

    releases: str
    look: BadgeStyle
    cell: IamCell


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One row of the matrix. `id` is unique on the page."""

    id: str
    action: str
    legacy: bool
    look: BadgeStyle
    cells: tuple[MatrixCell, ...]
    details: tuple[CellDetail, ...]


@dataclass(frozen=True, slots=True)
class ActionGroup:
    look: BadgeStyle
    lines: tuple[MatrixRow, ...]
    folded: bool


@dataclass(frozen=True, slots=True)
class ReleaseTile:
    """A release above the matrix; the patch of the chosen one is shown."""

    column: IamColumn
    look: BadgeStyle
    chosen: bool


class DocumentText(NamedTuple):
    """One document or file of a format, and the key to download it."""

    text: str
    note: str
    download: str
    number: int


@dataclass(frozen=True, slots=True)
class PolicyForm:
    """One tab of a patch: a format such as JSON or Terraform."""

    key: str
    word: str
    note: str
    sheets: tuple[DocumentText, ...]


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """One of two sets of policies that belong together on the role."""

    title: str
    note: str
    documents: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RolePatch:
    """The patch of one role. `number` identifies the role in URLs and ids."""

    number: int
    patch: IamPatch
    look: BadgeStyle
    forms: tuple[PolicyForm, ...]
    panels: tuple[PolicyComparison, ...]


def style_of(cell: IamCell) -> BadgeStyle:
    """Returns the look of a cell: red if the controller cannot work, amber if a part is affected, neutral if it depends
    on a setting.
    """
    if cell.verdict in ("not_needed", "allowed"):
        return NOT_NEEDED if cell.verdict == "not_needed" else ALLOWED
    if cell.verdict == "unknown":
        return UNKNOWN
    word = VERDICT_WORDS[cell.verdict]
    if cell.required == "conditional":
        return BadgeStyle(word, "muted", "info", id=cell.verdict)
    tone = "blocker" if cell.severity == "blocker" else "warning"
    return BadgeStyle(word, tone, tone, id=cell.verdict)


def chosen_of(sheet: IamSheet, *, release: str, next_hop: str) -> IamColumn | None:
    """Returns the requested column, else that of the next hop, else the last; None without columns."""
    requested = (column for column in sheet.columns if column.release == release)
    following = (column for column in sheet.columns if column.hop and column.hop == next_hop)
    return next(requested, None) or next(following, None) or (sheet.columns[-1] if sheet.columns else None)


def tiles(sheet: IamSheet, chosen: IamColumn) -> tuple[ReleaseTile, ...]:
    return tuple(ReleaseTile(column, ANSWERS[column.ok], column is chosen) for column in sheet.columns)


def legend(sheet: IamSheet) -> tuple[tuple[str, str], ...]:
    """Returns the refusals that occur in the sheet, each with its meaning."""
    present = {cell.verdict for row in sheet.rows for cell in row.cells}
    words = VERDICT_WORDS | {"unknown": UNKNOWN.word}
    return tuple((words[verdict], note) for verdict, note in VERDICT_NOTES.items() if verdict in present)


def groups(sheet: IamSheet) -> tuple[ActionGroup, ...]:
    """Returns the required actions in groups, refused actions first, without empty groups."""
    lines = [_line(row, sheet.columns) for row in sheet.rows]
    action_groups = (
        ActionGroup(
            look if sheet.seen else look._replace(word=NEEDED.get(look.id, look.word)),
            tuple(line for line in lines if line.look.id == look.id),
            folded,
        )
        for look, folded in ACTION_GROUPS
    )
    return tuple(group for group in action_groups if group.lines)


def parts(sheet: IamSheet, chosen: IamColumn) -> tuple[RolePatch, ...]:
    """Returns the patches of the chosen release, one for each role."""
    roles = [role for role in sheet.roles if role.counts]
    return tuple(
        RolePatch(
            number=number,
            patch=iam_patch,
            look=ANSWERS[iam_patch.ok],
            forms=_forms(iam_patch, chosen, number=number),
            panels=_panels(sheet, chosen, patch=iam_patch, role=roles[number] if number < len(roles) else None),
        )
        for number, iam_patch in enumerate(chosen.patches)
    )


def download(sheet: IamSheet, chosen: IamColumn, *, form: str, number: str) -> DocumentText | None:
    """Returns one document of the page by its download key; None if it does not exist."""
    documents = (text for part in parts(sheet, chosen) for tab in part.forms for text in tab.sheets)
    return next((text for text in documents if text.download == form and str(text.number) == number), None)


def found_by(role: IamRole) -> str:
    return FOUND_BY.get(role.found_by, role.found_by)


def kind_of(document: IamDocument) -> str:
    kind = KINDS.get(document.kind, document.kind)
    return _("{kind}, permissions boundary").format(kind=kind) if document.boundary else kind


def _line(row: IamRow, columns: Sequence[IamColumn]) -> MatrixRow:
    looks = [style_of(cell) for cell in row.cells]
    labels = [column.release for column in columns]
    cells = tuple(
        MatrixCell(label, look, faint=look in (NOT_NEEDED, ALLOWED)) for label, look in zip(labels, looks, strict=True)
    )
    own = f"need-{row.action.replace(':', '-').lower()}{'-legacy' if row.legacy else ''}"
    return MatrixRow(own, row.action, row.legacy, _worst(row.cells), cells, tuple(_details(row.cells, labels)))


def _worst(cells: Iterable[IamCell]) -> BadgeStyle:
    """Returns the look of the worst cell for the whole row; its id is the row's group."""
    open_cells = [cell for cell in cells if cell.required and cell.verdict != "allowed"]
    always = [cell for cell in open_cells if cell.required == "always"]
    refused = [cell for cell in always if cell.verdict != "unknown"]
    if refused:
        return min(map(style_of, refused), key=lambda look: look.tone)._replace(id=f"refused{_group_end(refused)}")
    if always:
        return UNKNOWN._replace(id=f"doubt{_group_end(always)}")
    return BadgeStyle(_("Conditional"), "muted", "info", id="rare") if open_cells else ALLOWED


def _group_end(cells: Iterable[IamCell]) -> str:
    """The end of the group's id: the action may be needed only with settings, which are on here."""
    return "_set" if all(depends_on_settings(cell.when) for cell in cells) else ""


def _details(cells: Sequence[IamCell], labels: Sequence[str]) -> Iterator[CellDetail]:
    """Returns one entry for neighbouring releases with equal details; releases that do not need the action have
    none.
    """
    pairs = [(cell, label) for cell, label in zip(cells, labels, strict=True) if cell.verdict != "not_needed"]
    for cell, alike in groupby(pairs, key=lambda pair: pair[0]):
        yield CellDetail(", ".join(label for _, label in alike), style_of(cell), cell)


def _forms(patch: IamPatch, column: IamColumn, *, number: int) -> tuple[PolicyForm, ...]:
    """The tabs that are not empty."""
    policy_forms = (
        PolicyForm(
            "json",
            "JSON",
            _("Attach it to the role in addition to its policies."),
            _document_texts(patch.documents, form="json", number=number),
        ),
        PolicyForm(
            "cloudformation", "CloudFormation", "", _file(patch.cloudformation, form="cloudformation", number=number)
        ),
        PolicyForm("terraform", _("Terraform"), "", _file(patch.terraform, form="terraform", number=number)),
        PolicyForm("module", _("EKS module"), _("The Karpenter submodule, by its version."), _modules(patch, number)),
        PolicyForm(
            "merged",
            _("Merged"),
            _("Old and new in one, in place of both."),
            _document_texts(patch.merged, form="merged", number=number),
        ),
        PolicyForm(
            "whole",
            _("New role"),
            _("All that {release} needs.").format(release=column.release),
            _document_texts(column.whole, form="whole", number=number),
        ),
    )
    return tuple(policy_form for policy_form in policy_forms if policy_form.sheets)


def _document_texts(documents: Sequence[IamSize], *, form: str, number: int) -> tuple[DocumentText, ...]:
    return tuple(
        DocumentText(
            as_json([iam_size.document]),
            _("{size:,} of {limit:,} characters").format(size=iam_size.size, limit=iam_size.limit),
            f"{form}-{place}",
            number,
        )
        for place, iam_size in enumerate(documents, start=1)
    )


def _file(text: str, *, form: str, number: int) -> tuple[DocumentText, ...]:
    return (DocumentText(text, "", form, number),) if text else ()


def _modules(patch: IamPatch, number: int) -> tuple[DocumentText, ...]:
    return tuple(
        DocumentText(
            module.text, _("version {version}").format(version=module.version), f"module-{module.version}", number
        )
        for module in patch.modules
    )


def _panels(
    sheet: IamSheet, column: IamColumn, *, patch: IamPatch, role: IamRole | None
) -> tuple[PolicyComparison, ...]:
    """Returns the policies that the role needs while both releases may run; without a role, what each release needs."""
    if not patch.documents:
        return ()
    if sheet.seen and role is not None:
        today = [
            (f"{document.name} ({kind_of(document)})", document.text)
            for document in role.documents
            if not document.boundary
        ]
        moves = _("Before the controller moves to {release}.")
        return (
            PolicyComparison(_("On the role today"), _("Keep it until a rollback is no longer needed."), tuple(today)),
            PolicyComparison(_("To be attached"), moves.format(release=column.release), _texts(patch.documents)),
        )
    place = sheet.columns.index(column)
    if not place:
        return ()
    before = sheet.columns[place - 1]
    return (
        PolicyComparison(
            _("For {release}").format(release=before.release),
            _("Keep it until a rollback is no longer needed."),
            _texts(before.whole),
        ),
        PolicyComparison(
            _("For {release}").format(release=column.release),
            _("Attached before the controller moves."),
            _texts(column.whole),
        ),
    )


def _texts(documents: Iterable[IamSize]) -> tuple[tuple[str, str], ...]:
    return tuple((document.name, as_json([document.document])) for document in documents)


_NOT_IN_FILES = re.compile(r"[^A-Za-z0-9._-]+")
_ENDINGS = {"terraform": "tf", "module": "tf"}


@require_right()
@require_safe
def iam(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The IAM page: matrix, patch of one release in every format, roles and sizes; with `download`, one document."""
    context = about(request, cluster_id, tab="cluster-iam")
    head = context["head"]
    sheet = sheet_of(head.snapshot.id) if head.snapshot else None
    chosen = _chosen_column(request, sheet, next_hop=head.snapshot.next_hop) if sheet else None
    if sheet and chosen and request.GET.get("download"):
        return _download(request, sheet, chosen=chosen, name=head.name)
    if sheet:
        context["roles"] = [_role(role) for role in sheet.roles]
    if sheet and chosen:
        context |= _sheet_context(sheet, chosen)
    return render(request, "cluster/iam.html", context | {"sheet": sheet, "chosen": chosen})


def _chosen_column(request: HttpRequest, sheet: IamSheet, *, next_hop: str) -> IamColumn | None:
    return chosen_of(sheet, release=request.GET.get("release", ""), next_hop=next_hop)


def _sheet_context(sheet: IamSheet, chosen: IamColumn) -> dict[str, Any]:
    return {
        "tiles": tiles(sheet, chosen),
        "needs": groups(sheet),
        "patches": parts(sheet, chosen),
        "legend": legend(sheet),
        "settings_on": [setting for setting in sheet.settings if setting.on],
        "settings_off": [setting for setting in sheet.settings if not setting.on],
    }


def _role(iam_role: IamRole) -> dict[str, Any]:
    documents = [{"of": document, "kind": kind_of(document)} for document in iam_role.documents]
    return {"of": iam_role, "found_by": found_by(iam_role), "documents": documents}


def _download(request: HttpRequest, sheet: IamSheet, *, chosen: IamColumn, name: str) -> HttpResponse:
    form, number = request.GET["download"], request.GET.get("role", "0")
    text = download(sheet, chosen, form=form, number=number)
    if text is None:
        raise Http404("no such document")
    ending = _ENDINGS.get(form.partition("-")[0], "json")
    own = f"-role-{int(number) + 1}" if number != "0" else ""
    plain = _NOT_IN_FILES.sub("-", f"{name[:80]}-karpenter-{chosen.release}{own}-{form}")
    kind = "text/plain" if ending == "tf" else "application/json"
    disposition = content_disposition_header(as_attachment=True, filename=f"{plain}.{ending}")
    return HttpResponse(
        text.text + "\n",
        content_type=f"{kind}; charset=utf-8",
        headers={"Content-Disposition": disposition or "attachment"},
    )
