"""The small tables that checks put their questions to."""

import pytest

from migrations_app.karpenter.controller_settings import SETTINGS, setting_row
from migrations_app.karpenter.release_facts import ADMISSION_WEBHOOKS, REPLACEMENTS, admission_row, admits, replacements
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.tables.env_rows import ENV_NAMES
from migrations_app.karpenter.tables.helm_rows import MAIN_CHART
from migrations_app.karpenter.versions import release
from tests.builders.newest import NEWEST


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.key)
def test_a_setting_leads_to_a_variable_and_a_value_or_says_what_to_do(row):
    assert bool(row.env) == bool(row.value) != bool(row.fate)
    assert setting_row(row.key) is row


@pytest.mark.parametrize("row", [row for row in SETTINGS if row.env], ids=lambda row: row.key)
def test_variables_and_values_are_those_of_the_other_tables(row):
    assert row.env in {name.name for name in ENV_NAMES}
    assert row.value in {key.key for key in MAIN_CHART}


def test_an_unknown_setting():
    assert setting_row("aws.nothing") is None


@pytest.mark.parametrize("row", ADMISSION_WEBHOOKS, ids=lambda row: row.name)
def test_a_configuration_of_old(row):
    assert admission_row(row.name) is row
    assert row.shipped_by(release("0.37.8")) == bool(row.last)
    assert row.shipped_by(release("1.0.0")) is False


def test_an_unknown_configuration():
    assert admission_row("policy.example") is None


@pytest.mark.parametrize(
    ("version", "off", "wanted"),
    [
        ("0.30.0", True, True),
        ("0.32.10", False, True),
        ("0.32.10", True, False),
        ("0.37.8", False, True),
        ("0.37.8", True, False),
        ("1.0.14", False, False),
        (NEWEST, False, False),
        ("9.9.9", False, None),
    ],
)
def test_who_answers_admission(version, off, wanted):
    assert admits(release(version), webhooks_off=off) is wanted


def test_what_a_hop_replaces():
    assert [row.minor for row in replacements(("0.33", "0.34", "1.12"))] == ["0.33", "1.12"]
    assert replacements(()) == ()
    assert all(find(row.minor) and row.owners and row.why and row.source for row in REPLACEMENTS)
