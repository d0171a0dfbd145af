"""The matrix: one row an action, one cell a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.requirements.gaps import Gap, GapReport
from migrations_app.inventory.aws_facts.permissions import RolePolicies
from migrations_app.readiness.iam_sheet.values import IamCell, IamRow

# Of the answers of several roles the first of these names the cell.
WORST_FIRST = (
    RequestVerdict.DENIED,
    RequestVerdict.MISSING,
    RequestVerdict.BLOCKED_BY_CONDITION,
    RequestVerdict.BLOCKED_BY_RESOURCE,
    RequestVerdict.UNKNOWN,
)
Key = tuple[bool, str]
"""Whether it is for capacity that Provisioners still own, and the action."""
Gaps = Mapping[Key, Gap]


@dataclass(frozen=True, kw_only=True)
class RoleReport:
    """What a role lacks for one release. Without a role: what one lacks that has nothing."""

    role: RolePolicies | None
    report: GapReport

    @property
    def name(self) -> str:
        """The role's ARN; for documents that were handed in, that; empty for no role."""
        return "" if self.role is None else self.role.role.arn or "documents handed in"


@dataclass(frozen=True, kw_only=True)
class ReleaseColumn:
    """A column of the matrix. `needs` is None where the needs of the release are not known; `why` then tells it.

    Without roles in `lacks` nobody could look, and `why` tells that.
    """

    needs: GapReport | None
    lacks: tuple[RoleReport, ...] = ()
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class OpenCellCounts:
    """How many cells of a column stand open."""

    refused: int
    doubtful: int
    conditional: int


def rows_of(columns: Sequence[ReleaseColumn]) -> tuple[IamRow, ...]:
    """A row for each action that any column needs, those of capacity of Provisioners behind the others."""
    cells = [_cells(column) for column in columns]
    keys = sorted(set(chain.from_iterable(cells)))
    other = [
        IamCell(verdict="unknown", causes=(column.why,)) if column.needs is None else IamCell() for column in columns
    ]
    return tuple(
        IamRow(
            action=action,
            legacy=legacy,
            cells=tuple(
                cells_of_release.get((legacy, action), blank)
                for cells_of_release, blank in zip(cells, other, strict=True)
            ),
        )
        for legacy, action in keys
    )


def tally(rows: Sequence[IamRow], column: int) -> OpenCellCounts:
    """The open cells of the column at that place."""
    cells = [row.cells[column] for row in rows]
    always = [cell.verdict for cell in cells if cell.required == "always" and cell.verdict != "allowed"]
    doubtful = always.count("unknown")
    rarely = sum(cell.required == "conditional" and cell.verdict != "allowed" for cell in cells)
    return OpenCellCounts(refused=len(always) - doubtful, doubtful=doubtful, conditional=rarely)


def by_key(report: GapReport) -> dict[Key, Gap]:
    """The gaps of a report by action, apart for capacity of Provisioners."""
    current = {(False, gap.action): gap for gap in report.gaps}
    return current | {(True, gap.action): gap for gap in report.legacy_gaps}


def _cells(column: ReleaseColumn) -> dict[Key, IamCell]:
    if column.needs is None:
        return {}
    lacks = [(lack.name, by_key(lack.report)) for lack in column.lacks]
    return {key: _cell(need, key, lacks=lacks, why=column.why) for key, need in by_key(column.needs).items()}


def _cell(need: Gap, key: Key, *, lacks: Sequence[tuple[str, Gaps]], why: str) -> IamCell:
    if not lacks:
        return _iam_cell(need, verdict=RequestVerdict.UNKNOWN, causes=(why,) if why else ())
    gaps = [(name, gaps_of_role[key]) for name, gaps_of_role in lacks if key in gaps_of_role]
    if not gaps:
        return _iam_cell(need, verdict=RequestVerdict.ALLOWED, causes=())
    gaps.sort(key=lambda named_gap: (named_gap[1].required, WORST_FIRST.index(named_gap[1].verdict)))
    several = len(lacks) > 1
    causes = [f"{name}: {cause}" if several else cause for name, gap in gaps for cause in gap.causes]
    return _iam_cell(gaps[0][1], verdict=gaps[0][1].verdict, causes=tuple(dict.fromkeys(causes)))


def _iam_cell(gap: Gap, *, verdict: RequestVerdict, causes: tuple[str, ...]) -> IamCell:
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
    )
