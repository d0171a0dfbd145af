"""Computes the rows of the IAM matrix: one row for each action, one cell for each release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.requirements.gaps import BoundaryAnswer, Gap, GapReport
from migrations_app.inventory.aws_facts.permissions import RolePolicies
from migrations_app.readiness.iam_sheet.values import IamCell, IamRow

# A cell shows the first of these verdicts that one of several roles has.
WORST_FIRST = (
    RequestVerdict.DENIED,
    RequestVerdict.MISSING,
    RequestVerdict.BLOCKED_BY_CONDITION,
    RequestVerdict.BLOCKED_BY_RESOURCE,
    RequestVerdict.UNKNOWN,
)
RowKey = tuple[bool, str]
"""Whether the row is for capacity that Provisioners still own, and the action."""
Gaps = Mapping[RowKey, Gap]


@dataclass(frozen=True, kw_only=True)
class RoleReport:
    """What a role lacks for one release; without a role, what an empty role lacks."""

    role: RolePolicies | None
    report: GapReport

    @property
    def name(self) -> str:
        """The role's ARN; a fixed text for documents handed in as files; empty without a role."""
        return "" if self.role is None else self.role.role.arn or "documents handed in"


@dataclass(frozen=True, kw_only=True)
class ReleaseColumn:
    """A column of the matrix. `needs` is None if the needs of the release are not known, for the reason in `why`.

    `lacks` is empty if no role was read, for the reason in `why`.
    """

    needs: GapReport | None
    lacks: tuple[RoleReport, ...] = ()
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class OpenCellCounts:
    """How many cells of a column are not allowed: refused, not certain, or needed only with a setting."""

    refused: int
    doubtful: int
    conditional: int


def rows_of(columns: Sequence[ReleaseColumn]) -> tuple[IamRow, ...]:
    """Returns a row for each action that any column needs; rows for capacity of Provisioners come last."""
    cells = [_cells(column) for column in columns]
    keys = sorted(set(chain.from_iterable(cells)))
    default_cells = [
        IamCell(verdict="unknown", causes=(column.why,)) if column.needs is None else IamCell() for column in columns
    ]
    return tuple(
        IamRow(
            action=action,
            legacy=legacy,
            cells=tuple(
                cells_of_release.get((legacy, action), blank)
                for cells_of_release, blank in zip(cells, default_cells, strict=True)
            ),
        )
        for legacy, action in keys
    )


def tally(rows: Sequence[IamRow], column: int) -> OpenCellCounts:
    """Returns the counts of the open cells in the column with that index."""
    cells = [row.cells[column] for row in rows]
    always = [cell.verdict for cell in cells if cell.required == "always" and cell.verdict != "allowed"]
    doubtful = always.count("unknown")
    conditional = sum(cell.required == "conditional" and cell.verdict != "allowed" for cell in cells)
    return OpenCellCounts(refused=len(always) - doubtful, doubtful=doubtful, conditional=conditional)


def by_key(report: GapReport) -> dict[RowKey, Gap]:
    """Returns the gaps of a report by row key."""
    current = {(False, gap.action): gap for gap in report.gaps}
    return current | {(True, gap.action): gap for gap in report.legacy_gaps}


def _cells(column: ReleaseColumn) -> dict[RowKey, IamCell]:
    if column.needs is None:
        return {}
    lacks = [(lack.name, by_key(lack.report)) for lack in column.lacks]
    return {key: _cell(need, key, lacks=lacks, why=column.why) for key, need in by_key(column.needs).items()}


def _cell(need: Gap, key: RowKey, *, lacks: Sequence[tuple[str, Gaps]], why: str) -> IamCell:
    if not lacks:
        return _iam_cell(need, verdict=RequestVerdict.UNKNOWN, causes=(why,) if why else ())
    gaps = [(name, gaps_of_role[key]) for name, gaps_of_role in lacks if key in gaps_of_role]
    if not gaps:
        return _iam_cell(need, verdict=RequestVerdict.ALLOWED, causes=())
    gaps.sort(key=lambda named_gap: (named_gap[1].required, WORST_FIRST.index(named_gap[1].verdict)))
    several = len(lacks) > 1
    causes = [f"{name}: {cause}" if several else cause for name, gap in gaps for cause in gap.causes]
    limits = {gap.boundary for _, gap in gaps}
    boundary: BoundaryAnswer = "refused" if "refused" in limits else "unknown" if "unknown" in limits else ""
    leading = gaps[0][1]
    return _iam_cell(leading, verdict=leading.verdict, causes=tuple(dict.fromkeys(causes)), boundary=boundary)


def _iam_cell(gap: Gap, *, verdict: RequestVerdict, causes: tuple[str, ...], boundary: BoundaryAnswer = "") -> IamCell:
    return IamCell(
        verdict=verdict.value,
        required=gap.required,
        severity=gap.severity,
        when=gap.when,
        resource=gap.resource,
        needed_for=gap.needed_for,
        effect=gap.effect,
        causes=causes,
        logs=gap.logs,
        boundary=boundary,
    )
