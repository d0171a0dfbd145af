"""Upgrades Karpenter's Helm release, controller or CRD chart, by a real helm, exactly as the dry run showed."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import PlannedRequest
from migrations_app.actions.helm.request import HelmProposal, HelmRun
from migrations_app.actions.helm.step import helm_step
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.targets.helm_releases import rollback_problem
from migrations_app.karpenter.versions import parse

action = Action(
    __name__,
    title="Upgrade Karpenter's Helm release",
    button="Upgrade Karpenter's Helm release",
    why="The new release of the controller is what an upgrade is about; helm installs it as it was played before.",
    risk="high",
    parts=("controller", "helm_releases", "version"),
    may=(),
    parameters=(
        Parameter("chart", "Chart: karpenter, or karpenter-crd for its CRDs", False, "karpenter"),
        Parameter("source", "Chart source: oci, or the name of a .tgz in the data folder's charts/", False, "oci"),
        Parameter("release", "Release (default: that of the next upgrade)", False, ""),
    ),
    needs_helm="upgrade",
    sources=("helm/helm@v3.8.1:pkg/action/upgrade.go",),
)


@action.prepare
def prepare(context: PlanningContext, _parameters: Parameters) -> Iterator[Step]:
    proposal = context.helm
    if proposal is None:
        raise Unavailable(
            "what helm does can only be previewed in the cluster itself, by a real helm", code="helm_only_live"
        )
    run = proposal.run
    back, reason = _rollback(proposal)
    yield helm_step(
        proposal,
        title=f"Upgrade Helm release {run.namespace}/{run.release} from {proposal.from_version} to {run.version}",
        note=f"Chart {run.source} ({run.chart_digest}). {reason or 'Undo: helm rollback.'}",
        undo=back,
    )


@action.forecasts
def forecast_steps(context: PlanningContext, _parameters: Parameters) -> Forecast:
    """The forecast: no node moves. Gives the reason if the upgrade cannot be undone."""
    reason = _rollback(context.helm)[1] if context.helm else ""
    return Forecast(cannot_be_undone=(reason,) if reason else ())


def _rollback(proposal: HelmProposal) -> tuple[PlannedRequest | None, str]:
    """The rollback and an empty text, or None and the reason why there is none."""
    run = proposal.run
    if reason := rollback_problem(parse(run.version), parse(proposal.from_version)):
        return None, f"karpdash cannot undo it: {reason}."
    back = HelmRun(
        do="rollback", release=run.release, namespace=run.namespace, chart=run.chart, before=run.before + 1,
        to=run.before, version=proposal.from_version,
    )  # fmt: skip
    return back.as_change(), ""
