"""How one goes back from a hop: to which releases, by which commands, and what cannot be undone."""

import msgspec

from migrations_app.checks.render.helm import rollback_lines
from migrations_app.manifests.natural_order import natural
from migrations_app.readiness.report import InstallationFacts, ReportHop


class IrreversibleEffect(msgspec.Struct, frozen=True):
    """What cannot be undone once a stage is done, what is still possible then, and where that is written.

    `checks` are those whose fix does it; empty if the whole stage does.
    """

    what: str
    back: str
    source: str = ""
    checks: tuple[str, ...] = ()


def rollback_targets(hop: ReportHop, start: str, *, keeper: str = "") -> str:
    """The releases that can take over again: the one that ran before the hop, then the others, newest first.

    `keeper` is the tool that delivers the controller, where what to do in its source is to be said.
    """
    if not hop.rollback_to:
        return "No release is known that could take over"
    fitting = set(hop.rollback_to) - set(hop.rollback_unsupported)
    names = sorted(fitting or hop.rollback_to, key=natural, reverse=True)
    if not fitting:
        return f"Back to {', '.join(names)}, outside the Kubernetes that they support"
    if start not in fitting:
        return f"Back to {', '.join(names)}"
    others = ", ".join(name for name in names if name != start)
    source = _REVERTS.get(keeper, "")
    return f"Back to {start}, which ran before{source}" + (f"; {others} can take over too" if others else "")


_REVERTS = {
    "helm": ": the revision of the Helm release that had it",
    "flux": ": revert the commit of the upgrade in the source that Flux applies",
    "argocd": ": revert the commit of the upgrade in the source that Argo CD applies",
    "terraform": ": revert the change of the upgrade and apply",
}


def rollback_commands(hop: ReportHop, start: str, *, installed: InstallationFacts | None) -> tuple[str, ...]:
    """Helm's lines back to the release before the hop; none where that cannot take over or another tool delivers."""
    able = start in hop.rollback_to and start not in hop.rollback_unsupported
    if not able or installed is None or installed.kept_by != "helm":
        return ()
    return rollback_lines(installed.release, installed.namespace)


def impossible_rollback(hop: ReportHop, start: str) -> tuple[IrreversibleEffect, ...]:
    """That the release before the hop cannot take over again; empty if it can."""
    if start in hop.rollback_to:
        return ()
    limit = f"{start} is not known to be able to" if start else "It is not known whether the running release can"
    return (IrreversibleEffect(f"{limit} take over again from {hop.release}", rollback_targets(hop, start)),)
