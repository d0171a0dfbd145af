"""Helm's records of two namespaces, one of which may not be read: told, and never taken for empty (R15)."""

import base64
import gzip
import json
from dataclasses import replace

import msgspec
import pytest

from migrations_app.collect.collect import collect
from migrations_app.errors import Forbidden, TimedOut
from migrations_app.inventory.parts import Seen, UnparsableObject, Unseen
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult
from migrations_app.samples import fleet
from migrations_app.samples.installation import Install, helm_record
from tests.builders.newest import NEWEST_MINOR
from tests.collect.test_collect import Cluster
from tests.samples.test_stories import scanned as of_a_story

SECRETS = ("", "v1", "secrets")


class Guarded(Cluster):
    """A cluster that gives the Secrets of a namespace only where `wrong` does not say otherwise."""

    def pages(self, resource):
        if resource.plural == "secrets" and (wrong := self.wrong.get(resource.namespace)):
            raise wrong
        for page in super().pages(resource):
            page.items[:] = [item for item in page.items if not resource.namespace or _of(item, resource.namespace)]
            yield page


def _of(item, namespace):
    return f'"namespace": "{namespace}"'.encode() in bytes(item)


SET_ASIDE = UnparsableObject(
    "HelmRelease", "karpenter", "every record of the namespace karpenter", "$", "forbidden", "forbidden"
)
OWNED = ("crds_owned_by_helm", NEWEST_MINOR)
RECORD = helm_record(Install(cluster="c", version="0.37.0", namespace="kube-system"))


def scanned(**wrong):
    cluster = Guarded(objects={SECRETS: [RECORD]}, wrong=wrong)
    return collect(cluster, cluster="c")


def releases(**wrong):
    return scanned(**wrong).inventory.helm_releases


def test_both_are_read():
    found = releases()
    assert ([one.chart for one in found.items], found.quarantined) == (["karpenter"], ())


@pytest.mark.parametrize(("home", "charts"), [("karpenter", ["karpenter"]), ("kube-system", [])])
def test_what_one_of_them_holds_is_seen_and_the_other_is_told(home, charts):
    found = scanned(**{home: Forbidden("list secrets")})
    part = found.inventory.helm_releases
    assert isinstance(part, Seen)
    assert [one.chart for one in part.items] == charts
    assert part.quarantined == (replace(SET_ASIDE, namespace=home, name=f"every record of the namespace {home}"),)
    line = next(line for line in found.parts if line.name == "helm_releases")
    assert (line.seen, line.quarantined, found.complete) == (True, 1, False)
    assert (line.reasons, line.partly_forbidden) == (("forbidden",), True)


def test_where_both_are_forbidden_the_part_is():
    assert releases(**{"karpenter": Forbidden("no"), "kube-system": Forbidden("no")}) == Unseen("forbidden", "no")


def test_another_failure_is_not_taken_for_a_missing_right():
    assert releases(karpenter=TimedOut("late")) == Unseen("timeout", "late")


@pytest.mark.parametrize("story", fleet.stories(), ids=lambda story: story.name)
def test_half_of_it_proves_no_more_than_nothing_of_it(story):
    """What no check finds in the namespace that was read may stand in the other one."""
    whole = of_a_story(story)
    records = whole.inventory.helm_releases
    half, none = Seen((), records.served if records.count else None, (SET_ASIDE,)), Unseen("forbidden", "no")
    assert judged(whole, half) == judged(whole, none)


def judged(whole, part):
    inventory = replace(whole.inventory, helm_releases=part)
    return {(one.id, one.hop): one.status for one in evaluate(CollectResult(inventory, whole.parts)).report.checks}


def test_a_crd_of_a_release_in_the_other_namespace_is_not_called_ownerless():
    """Only the release of the controller was seen: that of the CRDs may be in the namespace set aside."""
    whole = of_a_story(next(one for one in fleet.stories() if one.name == "v1_13"))
    assert judged(whole, whole.inventory.helm_releases)[OWNED] == "pass"
    releases = whole.inventory.helm_releases.items
    other = [msgspec.structs.replace(one, namespace="elsewhere", crds=[]) for one in releases]
    assert judged(whole, Seen(tuple(other), "v1"))[OWNED] == "fail"
    assert judged(whole, Seen(tuple(other), "v1", (SET_ASIDE,)))[OWNED] == "pass"


@pytest.mark.parametrize("status", ["pending-upgrade", "failed", "superseded"])
def test_the_newest_revision_tells_whether_the_last_run_succeeded(status):
    later = revised(RECORD, revision=8, status=status)
    (found,) = collect(Guarded(objects={SECRETS: [RECORD, later]}), cluster="c").inventory.helm_releases.items
    assert (found.revision, found.status) == (7, "deployed")
    assert found.unfinished == ("" if status == "superseded" else status)
    after = revised(RECORD, revision=9, status="deployed")
    (found,) = collect(Guarded(objects={SECRETS: [RECORD, later, after]}), cluster="c").inventory.helm_releases.items
    assert (found.revision, found.unfinished) == (9, "")


@pytest.mark.parametrize(
    ("status", "values"),
    [
        ("failed", {"logLevel": "error"}),
        ("pending-upgrade", {"logLevel": "info"}),
        ("superseded", {"logLevel": "info"}),
    ],
)
def test_the_values_are_those_that_the_next_upgrade_is_given(status, values):
    """`helm get values` prints those of the newest revision; of a pending one Helm goes on from the deployed one."""
    deployed = revised(RECORD, revision=7, status="deployed", config={"logLevel": "info"})
    later = revised(RECORD, revision=8, status=status, config={"logLevel": "error"})
    (found,) = collect(Guarded(objects={SECRETS: [deployed, later]}), cluster="c").inventory.helm_releases.items
    assert (found.revision, found.config) == (7, values)


def test_a_release_that_was_uninstalled_and_keeps_its_history_is_none():
    gone = revised(RECORD, revision=7, status="uninstalled")
    before = revised(RECORD, revision=6, status="superseded")
    found = collect(Guarded(objects={SECRETS: [before, gone]}), cluster="c").inventory.helm_releases
    assert (found.items, found.quarantined) == ((), ())


def revised(record, *, revision, status, **more):
    body = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(record["data"]["release"]))))
    body |= {"version": revision, "info": body["info"] | {"status": status}, **more}
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(body).encode()))).decode()
    metadata = record["metadata"] | {"name": f"sh.helm.release.v1.karpenter.v{revision}", "uid": f"uid-{revision}"}
    return record | {"metadata": metadata, "data": {"release": packed}}
