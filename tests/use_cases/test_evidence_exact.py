"""Rows that an older release wrote are told of by what they say themselves."""

from importlib import import_module

import pytest
from django.apps import apps

from migrations_app.models.scan import FindingRow
from tests.builders_rows import a_cluster, a_finding, a_report, a_snapshot

pytestmark = pytest.mark.django_db
MOVE = import_module("migrations_app.migrations.0018_evidence_exact")


def test_lower_bounds_are_found_by_their_words():
    rows = (
        a_finding("whole"),
        a_finding("bound", summary="at least 2 things are left"),
        a_finding("unseen", status="unknown", summary="crds: forbidden"),
        a_finding("fine", status="pass"),
    )
    a_snapshot(a_cluster(), a_report(checks=rows))
    FindingRow.objects.update(evidence_exact=None)
    MOVE.tell_of_what_is_there(apps, None)
    assert dict(FindingRow.objects.values_list("check_id", "evidence_exact")) == {
        "whole": True, "bound": False, "unseen": False, "fine": True,
    }  # fmt: skip
