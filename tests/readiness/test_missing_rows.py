"""A row that is missing is named with its table and its release, and before anything is scanned."""

from dataclasses import replace

import pytest

from karpdash.configuration import system_checks
from migrations_app.cli import main
from migrations_app.errors import InvalidSetting
from migrations_app.iam.requirements.features import Span
from migrations_app.iam.requirements.gaps import KNOWN
from migrations_app.iam.requirements.required_request import RequiredRequest
from migrations_app.iam.requirements.statements import GRANTS
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.table_types import FeatureGate, RollbackTarget, Since
from migrations_app.karpenter.tables.env_rows import ENV_NAMES, EnvName
from migrations_app.karpenter.tables.metric_rows import METRIC_ROWS, MetricRow
from migrations_app.readiness import missing_rows as module
from migrations_app.readiness.missing_rows import missing_rows, require_rows
from tests.builders.newest import NEWEST_MINOR, NEWEST_ROW, NEXT_MINOR, following

NEXT_ROW = following(NEWEST_ROW)
ORDER = NEXT_ROW.order
FIRST = f"{NEXT_MINOR}.0"
ASKED = RequiredRequest(id="rain", span=Span(ORDER), action="ec2:DescribeRain", resource="*", capability="rain")


def test_the_tables_fit_together() -> None:
    assert missing_rows() == ()
    assert missing_rows(releases=(*RELEASES, NEXT_ROW)) == ()


def test_a_request_without_its_reason_and_its_grant() -> None:
    tables = replace(KNOWN, probes=(*KNOWN.probes, ASKED))
    assert missing_rows(releases=(*RELEASES, NEXT_ROW), iam=tables) == (
        f"iam/needs has no row for ec2:DescribeRain in {NEXT_MINOR}",
        f"iam/grants has no row for ec2:DescribeRain in {NEXT_MINOR} on *",
    )


def test_a_need_and_a_grant_that_end_too_early() -> None:
    needs = tuple(need for need in KNOWN.needs if need.action != "iam:PassRole")
    grants = tuple(grant for grant in GRANTS if grant.sid != "PassNodeRole")
    newest = (NEWEST_ROW,)
    older = tuple(f"the release rows have none for {minor}, which {NEWEST_MINOR} names" for minor in _older())
    found = missing_rows(releases=newest, iam=replace(KNOWN, needs=needs), grants=grants)
    assert found == (
        *older,
        f"iam/needs has no row for iam:PassRole in {NEWEST_MINOR}",
        f"iam/grants has no row for iam:PassRole in {NEWEST_MINOR} on role",
    )


def _older() -> tuple[str, ...]:
    return (*(NEWEST_ROW.upgrade_from or ()), *(target.minor for target in NEWEST_ROW.rollback_to))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"crds": (Since(FIRST, "v2"),)}, f"crd_sets has no set v2, which {NEXT_MINOR} ships"),
        ({"gates": (FeatureGate("Foresight", default=True),)}, f"gate_rows has no row for Foresight of {NEXT_MINOR}"),
        ({"metrics_port": 9999}, f"port_rows has no row for port 9999 of {NEXT_MINOR}"),
        ({"nodeclass_hash": (Since(FIRST, "v99"),)}, f"hash_rows has no row for v99 of {NEXT_MINOR}"),
        ({"rollback_to": (RollbackTarget("1.99"),)}, f"the release rows have none for 1.99, which {NEXT_MINOR} names"),
    ],
)
def test_what_a_release_row_names_elsewhere(changes: dict[str, object], said: str) -> None:
    assert missing_rows(releases=(*RELEASES, following(NEWEST_ROW, **changes))) == (said,)


def test_a_table_that_names_a_release_without_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENV_NAMES", (*ENV_NAMES, EnvName("RAIN", f"{NEXT_MINOR}.3")))
    monkeypatch.setattr(module, "METRIC_ROWS", (*METRIC_ROWS, MetricRow("old", "new", NEXT_MINOR, "tomorrow")))
    said = (
        f"env_rows names {NEXT_MINOR}.3 for RAIN, and the release rows have none for it",
        f"metric_rows names {NEXT_MINOR} for old, and the release rows have none for it",
    )
    assert missing_rows() == said
    with pytest.raises(InvalidSetting, match="not complete: env_rows names"):
        require_rows()


@pytest.fixture
def incomplete(monkeypatch: pytest.MonkeyPatch) -> str:
    said = "env_rows names 9.9 for RAIN, and the release rows have none for it"
    monkeypatch.setattr(module, "ENV_NAMES", (*ENV_NAMES, EnvName("RAIN", "9.9")))
    return said


def test_no_server_starts_with_it(incomplete: str) -> None:
    found = [(error.id, error.msg) for error in system_checks.configuration()]
    assert ("karpdash.E017", incomplete) in found


@pytest.mark.parametrize(
    "words",
    [("scan", "--bundle", "nowhere"), ("plan", "--bundle", "nowhere"), ("iam", "--policy", "x", "--to", "1")],
)
def test_no_command_judges_with_it(incomplete: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert main(words) == 2
    assert incomplete in capsys.readouterr().err
