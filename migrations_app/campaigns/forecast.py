"""Sums the previews of a campaign's clusters."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from migrations_app.campaigns.campaign_preview import MemberPreview, accepted_of, destroyed_by, known_sum


class CampaignForecast(msgspec.Struct, frozen=True, kw_only=True):
    """What the whole campaign would do. A sum is None if the number of one cluster is not known.

    `causes` counts the clusters that do not join, most frequent first; `nodes_known` and `minutes_known` sum the known
    numbers; `by_people` are steps that people or tools outside do; `blocked` counts clusters with an open blocker,
    which their journeys have to clear, and `unknown` those with an unknown check. `weighs` counts, by the id of a
    check, the clusters in which only a person can judge it and it does not fail. `fails` counts the clusters with a
    failing warning that an approver may accept, `destroyed` the objects that the approval lets plans delete.
    """

    clusters: int = 0
    left_out: int = 0
    causes: dict[str, int] = {}
    nodes: int | None = 0
    nodes_known: int = 0
    pods: int | None = 0
    minutes: int | None = 0
    minutes_known: int = 0
    by_people: int = 0
    weighs: dict[str, int] = {}
    fails: dict[str, int] = {}
    destroyed: int | None = 0
    blocked: int = 0
    unknown: int = 0


def campaign_forecast(members: Iterable[MemberPreview]) -> CampaignForecast:
    """Returns the sums of the previews."""
    previews = tuple(members)
    joined = [member for member in previews if not member.cause]
    causes = Counter(member.cause for member in previews if member.cause)
    weighs = Counter(check for member in joined for check in _weighed(member))
    fails = Counter(check for member in joined for check in accepted_of((member,)))
    return CampaignForecast(
        clusters=len(joined),
        left_out=len(previews) - len(joined),
        causes=dict(sorted(causes.items(), key=lambda pair: (-pair[1], pair[0]))),
        nodes=known_sum(member.nodes for member in joined),
        nodes_known=sum(member.nodes or 0 for member in joined),
        pods=known_sum(member.pods for member in joined),
        minutes=known_sum(member.minutes for member in joined),
        minutes_known=sum(member.minutes or 0 for member in joined),
        by_people=sum(hop.by_people for member in joined for hop in member.hops),
        weighs=dict(sorted(weighs.items(), key=lambda pair: (-pair[1], pair[0]))),
        fails=dict(sorted(fails.items(), key=lambda pair: (-pair[1], pair[0]))),
        destroyed=known_sum(len(destroyed_by(member)) if member.objects is not None else None for member in joined),
        blocked=sum(any(hop.blockers for hop in member.hops) for member in joined),
        unknown=sum(any(hop.unknowns for hop in member.hops) for member in joined),
    )


def _weighed(member: MemberPreview) -> set[str]:
    steps = [step for hop in member.hops for step in hop.steps]
    return {check for step in steps for check in step.checks if check not in step.failing}
