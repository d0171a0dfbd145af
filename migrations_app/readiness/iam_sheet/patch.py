"""Computes the policies that one role lacks for one release, in every format, and what may be removed after the hop."""

from collections.abc import Iterable
from dataclasses import replace

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.gaps import GapReport
from migrations_app.iam.requirements.output import PolicyRemedy, remedy
from migrations_app.iam.requirements.remedies import MANAGED_LIMIT, Removal, removable, size_of
from migrations_app.iam.site import AwsSite
from migrations_app.manifests import JsonMap
from migrations_app.readiness.iam_sheet.rows import RoleReport
from migrations_app.readiness.iam_sheet.values import Answered, IamModule, IamPatch, IamRemoval, IamSize

MODULES = ("19.21", "20.37", "21.19")
"""The last minor of each major version of the Terraform module that can be configured; their inputs differ."""


def patch(role_report: RoleReport, site: AwsSite, *, after_hop: bool) -> IamPatch:
    """Returns what the role lacks and how to add it; with `after_hop` also what may be removed from it then.

    Without a role: everything that a new role needs.
    """
    policies = role_report.role.policies if role_report.role else ()
    return patch_with(remedy(role_report.report, site, policies=policies), role_report, after_hop=after_hop)


def patch_with(added: PolicyRemedy, role_report: RoleReport, *, after_hop: bool) -> IamPatch:
    """As `patch`, with the remedy already computed."""
    documents = added.documents()
    merged, merged_why = _merged(added) if role_report.role and documents else ((), "")
    return IamPatch(
        role=role_report.name,
        ok=answer_of(role_report.report) if role_report.role else "unknown",
        documents=with_sizes(documents, name="addition"),
        merged=with_sizes(merged, name="merged"),
        merged_why=merged_why,
        cloudformation=added.text("cloudformation") if documents else "",
        terraform=added.text("terraform") if documents else "",
        modules=_terraform_modules(added) if role_report.role and documents else (),
        remarks=added.remarks(),
        removable=_removable(added, release=role_report.report.release) if role_report.role and after_hop else (),
    )


def answer_of(report: GapReport) -> Answered:
    """Returns whether the role allows everything that is always needed, also for capacity that Provisioners still
    own."""
    always = [gap.verdict for gap in (*report.gaps, *report.legacy_gaps) if gap.required == "always"]
    if not always:
        return "yes"
    return "unknown" if set(always) == {RequestVerdict.UNKNOWN} else "no"


def with_sizes(documents: Iterable[JsonMap], *, name: str) -> tuple[IamSize, ...]:
    """Returns the documents with their sizes, numbered."""
    return tuple(
        IamSize(name=f"{name}-{n}", size=size_of(document), limit=MANAGED_LIMIT, document=document)
        for n, document in enumerate(documents, start=1)
    )


def _merged(added: PolicyRemedy) -> tuple[tuple[JsonMap, ...], str]:
    try:
        return added.documents("merged"), ""
    except InvalidPolicy as large:
        return (), str(large)


def _terraform_modules(added: PolicyRemedy) -> tuple[IamModule, ...]:
    return tuple(IamModule(version=version, text=added.text("module", version=version)) for version in MODULES)


def _removable(added: PolicyRemedy, *, release: str) -> tuple[IamRemoval, ...]:
    """Returns what may be removed from the role's own documents once the additions are there; the additions stay."""
    statements = tuple(replace(statement, where="") for statement in added.added.statements)
    removals = removable((*added.policies, IamPolicy(name="", statements=statements)), release=release, site=added.site)
    return tuple(map(_removal, (removal for removal in removals if removal.statement.where)))


def _removal(removal: Removal) -> IamRemoval:
    return IamRemoval(where=removal.statement.where, sid=removal.statement.sid, actions=removal.actions)
