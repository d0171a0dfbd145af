"""A run of helm in a plan: the step, its words, its command, and its undo."""

import shlex

import msgspec
import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.catalogue import upgrade_controller
from migrations_app.actions.changes import MARK_PLAN, MARK_ROLLOUT
from migrations_app.actions.helm.request import HelmProposal, HelmRequest, HelmRun, SourceRecord, run_of
from migrations_app.actions.plan import numbered
from migrations_app.actions.render import as_kubectl, gitops_patch, step_lines
from migrations_app.actions.request import ObjectVersion, request_body
from migrations_app.actions.targets.helm_releases import rollback_problem
from migrations_app.actions.undo import inverses
from migrations_app.karpenter.versions import parse

RUN = HelmRun(
    do="upgrade", release="karpenter", namespace="kube-system", before=4, chart="karpenter", version="1.0.14",
    source="oci://registry.example/karpenter/karpenter", chart_digest="sha256:1",
    changes=(("webhook.enabled", "false"),),
    requests=(HelmRequest(method="PATCH", path="/apis/apps/v1/namespaces/kube-system/deployments/karpenter"),),
)  # fmt: skip
FOUND = HelmProposal(
    run=RUN, from_version="1.0.8", objects=(("Deployment kube-system/karpenter", "changed"),),
    record=SourceRecord(uid="u4", digest="d4"), helm="v3.8.1",
)  # fmt: skip


class Scene:
    """As much of a planning context as these actions look at."""

    def __init__(self, helm):
        self.helm = helm


def steps(found=FOUND):
    return numbered(upgrade_controller.prepare(Scene(found), {}))


def test_the_step_is_bound_to_the_record_before_and_shown_by_the_record_after():  # A02, A37
    (step,) = steps()
    assert (step.risk, step.change.target.name, step.change.verb) == ("high", "sh.helm.release.v1.karpenter.v5", "helm")
    (source,) = step.computed_from
    assert (source.target.name, source.target.uid, source.digest) == ("sh.helm.release.v1.karpenter.v4", "u4", "d4")
    assert run_of(step.change.body) == RUN
    assert (run_of(step.undo.body).do, run_of(step.undo.body).to) == ("rollback", 4)


def test_the_words_say_what_changes_and_how_it_is_taken_back():
    text = "\n".join(step_lines(steps()[0]))
    assert "undo: helm rollback of kube-system/karpenter to revision 4" in text
    assert "Objects: Deployment kube-system/karpenter (changed). By helm v3.8.1." in text


@pytest.mark.parametrize("name", ["karpenter", "$(reboot)", "a b", "-x"])
def test_the_command_says_the_same_and_quotes_names(name):
    (step,) = steps(msgspec.structs.replace(FOUND, run=msgspec.structs.replace(RUN, namespace=name)))
    lines = as_kubectl(step).splitlines()[1:]
    words = [shlex.split(line) for line in lines]
    assert [line[:2] for line in words] == [["helm", "get"], ["helm", "upgrade"]]
    assert all(name in line for line in words)
    assert "webhook.enabled=false" in words[1]


def test_no_repository_holds_it():
    plan = type("P", (), {"steps": steps()})()
    assert "helm does it" in gitops_patch(plan)


def test_the_marks_of_the_rollout_go_with_it():  # A23
    body = request_body(steps()[0].change, ObjectVersion(), own={MARK_ROLLOUT: "r", MARK_PLAN: "p"})
    assert body["marks"] == {MARK_ROLLOUT: "r", MARK_PLAN: "p"}


def test_where_the_tables_know_no_way_back_there_is_none():
    far = msgspec.structs.replace(FOUND, from_version="0.37.0", run=msgspec.structs.replace(RUN, version="1.1.0"))
    (step,) = steps(far)
    assert step.undo is None
    assert "no rollback from 1.1.0 to 0.37.0 is known to work" in step.note
    assert upgrade_controller.forecast_steps(Scene(far), {}).cannot_be_undone
    assert rollback_problem(parse("1.0.14"), parse("1.0.8")) == ""
    assert rollback_problem(None, parse("1.0.8")) != ""


def test_a_rehearsal_plays_no_helm():
    with pytest.raises(Unavailable) as refused:
        steps(None)
    assert refused.value.code == "helm_only_live"


RECORD = {"metadata": {"name": "sh.helm.release.v1.karpenter.v5", "uid": "u5", "labels": {"status": "deployed"}}}
BACK = HelmProposal(
    run=HelmRun(do="rollback", release="karpenter", namespace="kube-system", before=5, to=4, version="1.0.8"),
    from_version="1.0.14", objects=(), record=SourceRecord(uid="u5", digest="d5"), helm="v3.8.1",
)  # fmt: skip


def undone(record=RECORD, back=BACK):
    (step,) = steps()
    return [one.step for one in inverses((step,), objects={step.change.target: record}, made={"s001": "u5"}, helm=back)]


def test_taken_back_it_is_the_rollback_that_was_played():  # A35
    (step,) = undone()
    assert run_of(step.change.body) == BACK.run


@pytest.mark.parametrize(
    ("record", "back"),
    [
        (None, BACK),
        (RECORD | {"metadata": RECORD["metadata"] | {"uid": "other"}}, BACK),
        (RECORD | {"metadata": RECORD["metadata"] | {"labels": {"status": "superseded"}}}, BACK),
        (RECORD, None),
        (RECORD, msgspec.structs.replace(BACK, run=msgspec.structs.replace(BACK.run, to=3))),
    ],
)
def test_a_release_that_was_changed_since_is_not_taken_back(record, back):  # A35
    with pytest.raises(Unavailable) as refused:
        undone(record, back)
    assert refused.value.code == "changed"
