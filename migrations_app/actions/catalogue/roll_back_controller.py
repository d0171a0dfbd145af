"""Rolls Karpenter's Helm release back to the revision before, also after a failed or interrupted run of helm."""

from collections.abc import Iterator

from migrations_app.actions.base import Action, Parameter, Parameters, PlanningContext, Unavailable
from migrations_app.actions.helm.step import helm_step
from migrations_app.actions.plan import Forecast, Step

action = Action(
    __name__,
    title="Roll back Karpenter's Helm release",
    button="Roll back Karpenter's Helm release",
    why="A release that failed or was left pending blocks every further upgrade until it is rolled back.",
    risk="high",
    parts=("controller", "helm_releases", "version"),
    may=(),
    parameters=(Parameter("chart", "Chart: karpenter, or karpenter-crd for its CRDs", False, "karpenter"),),
    needs_helm="rollback",
    sources=("helm/helm@v3.8.1:pkg/action/rollback.go",),
)


@action.prepare
def prepare(context: PlanningContext, _parameters: Parameters) -> Iterator[Step]:
    proposal = context.helm
    if proposal is None:
        raise Unavailable(
            "what helm does can only be previewed in the cluster itself, by a real helm", code="helm_only_live"
        )
    run = proposal.run
    title = f"Roll Helm release {run.namespace}/{run.release} back to revision {run.to} ({run.version})"
    yield helm_step(proposal, title=title)


@action.forecasts
def forecast_steps(_context: PlanningContext, _parameters: Parameters) -> Forecast:
    """The forecast: no node moves."""
    return Forecast(cannot_be_undone=("the newer release is only brought back by a new upgrade",))
