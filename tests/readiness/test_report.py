import pytest

from migrations_app.readiness.outputs.wording import nodes_line
from migrations_app.readiness.report import PartLine
from tests.readiness.outputs.reports import a_report

SEEN = PartLine(name="nodes", seen=True, count=3)


@pytest.mark.parametrize(
    ("parts", "certainty", "line"),
    [
        ((), "exact", "3: 3 karpenter_beta"),
        ((SEEN,), "exact", "3: 3 karpenter_beta"),
        ((PartLine(name="nodes", seen=True, count=4, quarantined=1),), "at_least", "at least 3: 3 karpenter_beta"),
        ((PartLine(name="nodes", seen=False, why="forbidden"),), "unknown", "unknown, they could not be read"),
        ((PartLine(name="pods", seen=False, why="forbidden"), SEEN), "exact", "3: 3 karpenter_beta"),
    ],
)
def test_how_many_nodes_and_how_sure(parts, certainty, line):
    report = a_report(parts=parts)
    assert (report.nodes_certainty, nodes_line(report)) == (certainty, line)
