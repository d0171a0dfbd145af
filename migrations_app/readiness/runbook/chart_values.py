"""Lists the values of each Helm release before and after each hop; a hop starts with the values of the hop before."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET

from migrations_app.checks.changes import HelmValue
from migrations_app.conversion.chart_values.side_by_side import CRDS, MAIN, ValueChange, ValueRow, after, side_by_side
from migrations_app.karpenter.versions import parse, release
from migrations_app.readiness.report import GivenChart, InstallationFacts

OTHER_RELEASE = "another release of this chart runs the controller, so nothing of this plan changes these values"
VALUES_NOT_STORED = "this scan was made before the values were kept; scan again"


class ChartHop(msgspec.Struct, frozen=True, kw_only=True, rename={"target_release": "lands"}):
    """One Helm release at one hop. `origin` says where its values were read. `unread` says why they are not known, or
    why nothing changes them; empty where they are."""

    chart: str
    release: str
    namespace: str
    origin: str
    starts: str
    target_release: str
    rows: tuple[ValueRow, ...] = ()
    unread: str = ""

    @property
    def where(self) -> str:
        """Namespace and name of the release; the name of the chart if no release is known."""
        return f"{self.namespace}/{self.release}" if self.release else self.chart

    @property
    def changed(self) -> tuple[ValueRow, ...]:
        """The rows whose value the hop changes."""
        return tuple(row for row in self.rows if row.kind != "kept")

    @property
    def kept(self) -> tuple[ValueRow, ...]:
        """The rows whose value stays the same."""
        return tuple(row for row in self.rows if row.kind == "kept")


class ValuesWalk:
    """Computes the values hop after hop, in the order of the plan."""

    def __init__(self, installed: InstallationFacts | None) -> None:
        self._installed = installed
        charts = installed.given if installed else ()
        self._charts: list[GivenChart] = list(charts or ()) if charts is not UNSET else []
        self._values_stored = charts is not UNSET

    def next_hop(
        self, chart_values: Sequence[tuple[str, HelmValue]], *, start: str, target_release: str
    ) -> tuple[ChartHop, ...]:
        """The Helm releases at the next hop. `chart_values` are the values that the hop changes, each with its chart;
        `start` is the release before the hop, empty if not known."""
        if self._installed is None:
            return ()
        if not self._values_stored:
            return (self._unknown(VALUES_NOT_STORED, start=start, target_release=target_release),)
        if not any(chart.chart == CRDS for chart in self._charts) and any(chart == CRDS for chart, _ in chart_values):
            new_release = GivenChart(
                chart=CRDS, release=CRDS, namespace=self._installed.namespace, origin="not installed yet"
            )
            self._charts.append(new_release)
        return tuple(self._hops(chart_values, start=start, target_release=target_release))

    def _hops(
        self, chart_values: Sequence[tuple[str, HelmValue]], *, start: str, target_release: str
    ) -> Iterator[ChartHop]:
        for number, current in enumerate(self._charts):
            if current.unread:
                yield self._unknown(current.unread, start=start, target_release=target_release)
                continue
            is_changed = self._is_changed(current)
            changes = [
                ValueChange(helm_value.key, helm_value.text, helm_value.why)
                for chart, helm_value in chart_values
                if is_changed and chart == current.chart
            ]
            rows = side_by_side(
                current.values, changes, chart=current.chart, start=parse(start), target_release=release(target_release)
            )
            self._charts[number] = msgspec.structs.replace(current, values=after(current.values, changes))
            yield ChartHop(
                chart=current.chart,
                release=current.release,
                namespace=current.namespace,
                origin=current.origin,
                starts=start,
                target_release=target_release,
                rows=rows,
                unread="" if is_changed else OTHER_RELEASE,
            )

    def _is_changed(self, current: GivenChart) -> bool:
        """Whether the plan changes this release: of several releases of one chart only the one of the controller or of
        its CRDs."""
        same_chart = [chart for chart in self._charts if chart.chart == current.chart]
        if len(same_chart) == 1 or self._installed is None:
            return True
        if current.chart == CRDS:
            return f"{current.namespace}/{current.release}" == self._installed.crd_release
        return (current.namespace, current.release) == (self._installed.namespace, self._installed.release)

    def _unknown(self, why: str, *, start: str, target_release: str) -> ChartHop:
        installed = self._installed
        return ChartHop(
            chart=MAIN,
            release=installed.release if installed else "",
            namespace=installed.namespace if installed else "",
            origin="",
            starts=start,
            target_release=target_release,
            unread=why,
        )
