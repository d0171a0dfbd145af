"""The step that takes Karpenter's Helm release back, as it was played."""

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.catalogue import roll_back_controller
from migrations_app.actions.gates.controller_gate import ControllerGate
from migrations_app.actions.helm.request import HelmProposal, HelmRun, SourceRecord, run_of
from migrations_app.actions.plan import numbered
from migrations_app.actions.render import as_kubectl

GATE = ControllerGate(namespace="karpenter", deployment="karpenter", images=("c:1",))
FOUND = HelmProposal(
    run=HelmRun(do="rollback", release="karpenter", namespace="karpenter", before=3, to=1, version="1.0.8"),
    from_version="1.0.14", objects=(("Deployment karpenter/karpenter", "changed"),), gate=GATE,
    record=SourceRecord(uid="u3", digest="d3"), helm="v3.8.1",
)  # fmt: skip


class Scene:
    """As much of a planning context as the action looks at."""

    def __init__(self, helm):
        self.helm = helm


def test_it_goes_back_to_the_revision_that_worked_and_waits_for_its_controller():
    (step,) = numbered(roll_back_controller.prepare(Scene(FOUND), {}))
    assert step.title == "Roll Helm release karpenter/karpenter back to revision 1 (1.0.8)"
    assert (step.change.target.name, run_of(step.change.body).to) == ("sh.helm.release.v1.karpenter.v4", 1)
    assert (step.after.controller, step.undo, step.risk) == (GATE, None, "high")
    assert as_kubectl(step).splitlines()[1] == "helm rollback karpenter 1 -n karpenter --history-max 0"


def test_a_rehearsal_plays_no_helm():
    with pytest.raises(Unavailable) as refused:
        list(roll_back_controller.prepare(Scene(None), {}))
    assert refused.value.code == "helm_only_live"


def test_what_cannot_be_undone_is_said():
    assert roll_back_controller.forecast_steps(Scene(FOUND), {}).cannot_be_undone
