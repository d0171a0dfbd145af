from migrations_app.checks.registry import all_checks
from migrations_app.readiness.runbook.forecast import FORECAST, ForecastLine, forecast
from tests.readiness.outputs.reports import finding


def test_every_line_is_of_a_check() -> None:
    known = {check.id for check in all_checks()}
    assert [name for name, _ in FORECAST if name not in known] == []


def test_numbers_say_how_sure_they_are() -> None:
    asked = (
        finding("hashes_carry_over", "fail", evidence_total=11),
        finding("claims_not_drifted", "pass"),
        finding("expired_claims_gone", "unknown", summary="nodeclaims could not be read"),
        finding("pdbs_allow_disruption", "fail", evidence_total=3, evidence_exact=False),
        finding("legacy_machines_gone", "not_applicable"),
        finding("pods_have_controllers", "waived", evidence_total=2),
    )
    assert [(line.check, line.count, line.certainty, line.why) for line in forecast(asked)] == [
        ("hashes_carry_over", 11, "exact", ""),
        ("claims_not_drifted", 0, "exact", ""),
        ("expired_claims_gone", None, "unknown", "nodeclaims could not be read"),
        ("pdbs_allow_disruption", 3, "at_least", ""),
        ("pods_have_controllers", 2, "exact", ""),
    ]
    assert isinstance(forecast(asked)[0], ForecastLine)
