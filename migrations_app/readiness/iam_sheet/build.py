"""Builds the IAM sheet from inventory and path: what each release needs, what the roles allow, and the missing
policies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from migrations_app.errors import InvalidInput
from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.features import MEANING, Feature
from migrations_app.iam.requirements.gaps import GapReport, find_gaps
from migrations_app.iam.requirements.output import remedy, stand_ins
from migrations_app.iam.site import AwsSite
from migrations_app.inventory.aws_facts.permissions import (
    Permissions,
    RolePolicies,
    features_seen,
    permissions,
    site_seen,
)
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Unseen
from migrations_app.readiness.iam_sheet.patch import patch, patch_with, with_sizes
from migrations_app.readiness.iam_sheet.roles import profiles_of, roles_of, simulation_of
from migrations_app.readiness.iam_sheet.rows import OpenCellCounts, ReleaseColumn, RoleReport, rows_of, tally
from migrations_app.readiness.iam_sheet.values import Answered, IamColumn, IamNames, IamPatch, IamSetting, IamSheet

__all__ = ["IamSheet", "iam_sheet"]


@dataclass(frozen=True, kw_only=True)
class _SheetFacts:
    """The facts that every column is judged with. `roles` is empty if no role was read, for the reason in `unseen`."""

    site: AwsSite
    assumed: frozenset[Feature]
    roles: tuple[RolePolicies, ...]
    legacy: bool
    """Whether Provisioners may still own capacity."""
    unseen: Unseen | None

    def report(
        self, policies: tuple[IamPolicy, ...], release: str, *, boundary: tuple[IamPolicy, ...] | None
    ) -> GapReport:
        gap_report = find_gaps(policies, release=release, site=self.site, assumed=self.assumed, boundary=boundary)
        return gap_report if self.legacy else replace(gap_report, legacy_gaps=())


def iam_sheet(inventory: Inventory, *, hops: Sequence[tuple[str, str]], running: str) -> IamSheet:
    """Returns the sheet. `hops` are hop and release of the path; `running` is empty if the release is not known.

    If the permissions were not read, the sheet still lists what each release needs, and the whole policy for a new
    role.
    """
    facts = _sheet_facts(inventory)
    releases = [*([("", running)] if running else []), *hops]
    judged = [_release_column(facts, release) for _, release in releases]
    rows = rows_of(judged)
    return IamSheet(
        seen=facts.unseen is None,
        why=facts.unseen.why if facts.unseen else "",
        detail=facts.unseen.detail if facts.unseen else "",
        names=_names(facts.site),
        settings=tuple(
            IamSetting(name=feature.value, meaning=MEANING[feature], on=feature in facts.assumed) for feature in Feature
        ),
        columns=tuple(
            _column(facts, column, hop=hop, release=release, counts=tally(rows, place))
            for place, ((hop, release), column) in enumerate(zip(releases, judged, strict=True))
        ),
        rows=rows,
        roles=roles_of(inventory.aws.controller_roles),
        profiles=profiles_of(inventory.aws.instance_profiles),
        simulation=simulation_of(inventory.aws.simulation),
    )


def _sheet_facts(inventory: Inventory) -> _SheetFacts:
    role_permissions = permissions(inventory)
    legacy = _owned_by_provisioners(inventory)
    if isinstance(role_permissions, Permissions):
        roles = tuple(map(_with_sorted_policies, role_permissions.roles))
        return _SheetFacts(
            site=role_permissions.site, assumed=role_permissions.assumed, roles=roles, legacy=legacy, unseen=None
        )
    site, assumed = site_seen(inventory), features_seen(inventory)
    return _SheetFacts(site=site, assumed=assumed, roles=(), legacy=legacy, unseen=role_permissions)


def _owned_by_provisioners(inventory: Inventory) -> bool:
    """Returns False only if both kinds were read and are empty: then no capacity of Provisioners is left."""
    parts = (inventory.provisioners, inventory.machines)
    return any(isinstance(part, Unseen) or part.items or part.quarantined for part in parts)


def _with_sorted_policies(policies: RolePolicies) -> RolePolicies:
    """Returns the role with its policies by name; the order of AWS may change from scan to scan."""
    ordered = tuple(sorted(policies.policies, key=lambda policy: (policy.name, repr(policy.statements))))
    return replace(policies, policies=ordered)


def _release_column(facts: _SheetFacts, release: str) -> ReleaseColumn:
    try:
        needs = facts.report((), release, boundary=None)
    except InvalidInput as unknown:
        return ReleaseColumn(needs=None, why=unknown.message)
    lacks = tuple(
        RoleReport(role=role, report=facts.report(role.policies, release, boundary=role.boundary))
        for role in facts.roles
    )
    return ReleaseColumn(needs=needs, lacks=lacks, why="" if facts.unseen is None else facts.unseen.detail)


def _column(facts: _SheetFacts, column: ReleaseColumn, *, hop: str, release: str, counts: OpenCellCounts) -> IamColumn:
    if column.needs is None:
        return IamColumn(release=release, hop=hop, why=column.why)
    patches = tuple(patch(lack, facts.site, after_hop=bool(hop)) for lack in column.lacks)
    needed = remedy(column.needs, facts.site, policies=())
    new_role = RoleReport(role=None, report=column.needs)
    return IamColumn(
        release=release,
        hop=hop,
        ok=_overall_answer(patches),
        refused=counts.refused,
        doubtful=counts.doubtful,
        conditional=counts.conditional,
        whole=with_sizes(needed.documents(), name="needed"),
        patches=patches or (patch_with(needed, new_role, after_hop=False),),
    )


def _overall_answer(patches: Sequence[IamPatch]) -> Answered:
    """Returns `no` if any role lacks a permission, `yes` if all roles have all of them."""
    answers = {iam_patch.ok for iam_patch in patches}
    return "no" if "no" in answers else "yes" if answers == {"yes"} else "unknown"


def _names(site: AwsSite) -> IamNames:
    return IamNames(
        cluster=site.cluster,
        account=site.account,
        region=site.region,
        partition=site.partition,
        queue=site.queue_name,
        node_roles=site.roles,
        assume_role_arn=site.assume_role_arn,
        stand_ins=stand_ins(site),
    )
