"""How one goes back from a hop: to which releases, by which commands, and what cannot be undone."""

import msgspec

from migrations_app.checks.render.helm import rollback_lines
from migrations_app.inventory.facts.workloads import TIMED_PROTECTION_SINCE
from migrations_app.karpenter.releases import conversion_begins, crd_set
from migrations_app.karpenter.versions import parse
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
    """Helm's lines back to the release before the hop; none where that cannot take over or another tool delivers.

    The guide goes back with the controller first, its CRDs second. Where the hop ended CRDs of the release before, they
    come first, because that release does not start without them. Where the hop added CRDs, theirs are left out: Helm
    would delete these with their objects.
    """
    able = start in hop.rollback_to and start not in hop.rollback_unsupported
    if not able or installed is None or installed.kept_by != "helm":
        return ()
    controller = rollback_lines(installed.release, installed.namespace)
    namespace, _, name = (installed.crd_release or "").rpartition("/")
    before, after = _crd_names(start), _crd_names(hop.release)
    if not name or installed.crds_kept_by != "helm" or not after or after - before:
        return controller
    crds = rollback_lines(name, namespace)
    return (*crds, *controller) if before - after else (*controller, *crds)


def conversion_gap(hop: ReportHop, start: str) -> str:
    """What holds from the upgrade of the CRDs to that of the controller, where these CRDs ask a conversion webhook that
    only the new controller has; empty for other hops."""
    before, after = parse(start), parse(hop.release)
    if before is None or after is None or not conversion_begins(before, after):
        return ""
    return (
        f"; go on directly: until {hop.release} runs, kubectl and the garbage collector of Kubernetes get errors for "
        "NodePools, NodeClaims and EC2NodeClasses"
    )


def lost_protection(hop: ReportHop, start: str) -> str:
    """What goes back with the controller: the release before the hop does not read the durations that the new one
    reads. Empty for other hops."""
    before, after = parse(start), parse(hop.release)
    if before is None or after is None or not before < TIMED_PROTECTION_SINCE <= after:
        return ""
    since = TIMED_PROTECTION_SINCE.minor
    return f"; before {since}, do-not-disrupt with a duration such as 8h protects no pod: write true there first"


def _crd_names(release_name: str) -> set[str]:
    """The CRDs that the release ships; empty if that is not known."""
    release = parse(release_name)
    shipped = crd_set(release) if release else None
    return {crd.name for crd in shipped.crds} if shipped else set()


def impossible_rollback(hop: ReportHop, start: str) -> tuple[IrreversibleEffect, ...]:
    """That the release before the hop cannot take over again; empty if it can."""
    if start in hop.rollback_to:
        return ()
    limit = f"{start} is not known to be able to" if start else "It is not known whether the running release can"
    return (IrreversibleEffect(f"{limit} take over again from {hop.release}", rollback_targets(hop, start)),)
