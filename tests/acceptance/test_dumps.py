"""Dumps in all forms say the same; what a dump does not hold is never taken for good."""

import json
from functools import cache
from typing import Any

import msgspec
import pytest

from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import Report
from migrations_app.samples.kubernetes_objects import server_version
from tests.acceptance.clusters import find, objects
from tests.acceptance.dumping import (
    FORMS,
    SUBSETS,
    Files,
    only,
    with_managed_fields,
    without_managed_fields,
    without_what_the_server_adds,
)
from tests.acceptance.judging import at, collected, crashes, judged, loud, said
from tests.acceptance.planted import FAULTS

CLUSTERS = ("alpha-030", "finished-032", "beta-037", "v1-10", "v1-16")
GOOD = ("pass", "not_applicable")


def scanned(name: str, files: Files, *, version: bool = True) -> Report:
    told = json.dumps(server_version(find(name).kubernetes)).encode()
    return evaluate(collected(name, files | ({"version.json": told} if version else {}))).report


def broken(name: str) -> list[dict[str, Any]]:
    """The cluster with every fault that can be planted beside the others."""
    documents = objects(find(name))
    for fault in FAULTS:
        if fault.on == name and not fault.hop and fault.check not in ALONE:
            fault.plant(documents)
    return with_managed_fields(documents)


ALONE = {
    *("hop_start_runs", "one_controller_runs", "finalizers_served", "crds_match_controller"),
    "class_names_fit_labels",  # its fault renames the class that others plant theirs in
}


@cache
def whole(name: str) -> Report:
    return judged(find(name), broken(name))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["alpha-030", "beta-037"])
def test_every_form_says_the_same(name: str, form: str) -> None:
    clean = find(name)
    report = scanned(name, FORMS[form](objects(clean)))
    assert said(report, clean.hop) == said(judged(clean, objects(clean)), clean.hop)
    assert (report.complete, crashes(report)) == (True, [])


REST_ON_FIELDS = {"gitops_applies_current_versions", "terraform_adds_beside"}


@pytest.mark.parametrize("name", CLUSTERS)
def test_without_managed_fields_what_rests_on_them_is_unknown_and_nothing_else_changes(name: str) -> None:  # D11
    clean = find(name)
    whole, bare = (judged(clean, form(objects(clean))) for form in (list, without_managed_fields))
    told = {(one.id, one.hop): one.status for one in bare.checks}
    changed = {key: told[key] for key in told if told[key] != {(o.id, o.hop): o.status for o in whole.checks}[key]}
    assert {key[0] for key in changed} <= REST_ON_FIELDS
    assert set(changed.values()) == ({"unknown"} if changed else set())
    asked = {(one.id, one.hop) for one in whole.checks if one.id in REST_ON_FIELDS and one.status == "pass"}
    assert changed.keys() == asked


@pytest.mark.parametrize("name", CLUSTERS)
def test_without_what_the_server_adds_nothing_is_found_that_is_not_there(name: str) -> None:
    clean = find(name)
    report = judged(clean, without_what_the_server_adds(objects(clean)))
    assert crashes(report) == []
    # Without a status nobody knows whether the pods are ready.
    assert loud(at(report, clean.hop)) - loud(at(judged(clean, objects(clean)), clean.hop)) <= {"one_controller_runs"}


@pytest.mark.parametrize("version", [True, False], ids=["version", "no version"])
@pytest.mark.parametrize("subset", SUBSETS)
@pytest.mark.parametrize("name", CLUSTERS)
def test_part_of_a_cluster_is_never_better_than_the_whole(name: str, subset: str, version: bool) -> None:
    kept = only(broken(name), SUBSETS[subset])
    report = scanned(name, FORMS["json_list"](kept), version=version)
    assert crashes(report) == []
    # What a plan makes anew is unknown until the next scan; a part that does not show that work keeps today's answer.
    told = [one for one in whole(name).checks if one.asked_at is msgspec.UNSET or _asks(report, one.asked_at)]
    answers = {(one.id, one.hop): one.status for one in told}
    flipped = {
        (one.id, answers[one.id, one.hop])
        for one in report.checks
        if one.status == "pass" and answers.get((one.id, one.hop), "pass") not in GOOD
    }
    assert flipped == set()


def _asks(part: Report, hop: str) -> bool:
    """Whether a part of the cluster shows all the work that the hop has for the whole."""
    asked, seen = (
        {one.id for one in at(one, hop) if one.status in ("fail", "manual")} for one in (whole(part.cluster.name), part)
    )
    return asked <= seen


@pytest.mark.parametrize("name", CLUSTERS)
def test_many_faults_together_do_not_hide_each_other(name: str) -> None:
    mine = {one.check for one in FAULTS if one.on == name and not one.hop and one.check not in ALONE}
    found = {one.id for one in at(whole(name), find(name).hop) if one.status in ("fail", "manual", "unknown")}
    # Some write the same field, so the last one of them wins.
    assert len(mine - found) <= min(2, len(mine) - 1)
    assert crashes(whole(name)) == []
