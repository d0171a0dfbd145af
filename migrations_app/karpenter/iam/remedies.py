"""The smallest statements that close the gaps, and documents that fit what IAM stores."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from migrations_app.errors import BadPolicy
from migrations_app.karpenter.iam.evaluate import Verdict, evaluate
from migrations_app.karpenter.iam.gaps import Gap, Refusal, Report
from migrations_app.karpenter.iam.grants import GRANTS, Grant
from migrations_app.karpenter.iam.policy import WITH_VARIABLES, Policy, Statement, filled
from migrations_app.karpenter.iam.ranges import Minor
from migrations_app.karpenter.iam.site import Site

# Characters without white space. A role takes ten managed policies by default, and 10,240 characters inline in all.
MANAGED_LIMIT = 6144
INLINE_LIMIT = 10240

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Closing:
    """Statements to add, and refusals that no added statement lifts: explicit denies and the permissions boundary."""

    statements: tuple[Statement, ...]
    stubborn: tuple[Refusal, ...]

    def documents(self, *, limit: int = MANAGED_LIMIT) -> tuple[Document, ...]:
        """The statements as policy documents of at most `limit` characters; none if there is nothing to add."""
        return fitted(self.statements, limit=limit)


def closing(report: Report, site: Site, *, legacy: bool = True, conditional: bool = False) -> Closing:
    """What to add for every gap that is always needed, with `conditional` also for those that hang on rare settings.

    With `legacy` it also covers capacity that Provisioners still own, which 0.32 needs until the last of it is gone.
    """
    gaps = (*report.gaps, *(report.legacy_gaps if legacy else ()))
    refusals = [one for gap in gaps if conditional or gap.required == "always" for one in _counted(gap, conditional)]
    stubborn = tuple(one for one in refusals if one.answer.verdict is Verdict.DENIED)
    asked: dict[Grant, tuple[set[str], set[str]]] = {}
    for one in refusals:
        if one not in stubborn:
            actions, kinds = asked.setdefault(_grant_for(one, report.minor, site=site), (set(), set()))
            actions.add(one.probe.action)
            kinds.add(one.probe.kind)
    return Closing(
        statements=tuple(
            grant.statement(site, actions=frozenset(asked[grant][0]), kinds=frozenset(asked[grant][1]))
            for grant in GRANTS
            if grant in asked
        ),
        stubborn=stubborn,
    )


def _counted(gap: Gap, conditional: bool) -> tuple[Refusal, ...]:
    return gap.refusals if conditional else tuple(one for one in gap.refusals if one.applies)


def _grant_for(refusal: Refusal, minor: Minor, *, site: Site) -> Grant:
    """The first grant that allows the request. Every row of probes.py has one; a test holds the two tables together."""
    probe = refusal.probe
    for grant in GRANTS:
        if minor in grant.span and probe.action in grant.actions and probe.kind in grant.kinds:
            statement = grant.statement(site, actions=frozenset({probe.action}), kinds=frozenset({probe.kind}))
            if evaluate(refusal.request, [Policy(name="", statements=(statement,))]).verdict is Verdict.ALLOWED:
                return grant
    raise LookupError(f"grants.py has no row for {probe.id} in {minor}")


def merged(policies: Iterable[Policy], added: Iterable[Statement], *, site: Site) -> tuple[Document, ...]:
    """The policies and the added statements in as few managed documents as their size allows, doubles dropped."""
    present = [statement for policy in policies for statement in filled(policy, site).statements]
    return fitted((*present, *added), limit=MANAGED_LIMIT)


def merged_size(policies: Iterable[Policy], added: Iterable[Statement], *, site: Site) -> int:
    """Characters of the policies and the added statements in one document, doubles dropped."""
    present = [statement for policy in policies for statement in filled(policy, site).statements]
    return size_of(document_of(_without_doubles((*present, *added))))


def fitted(statements: Iterable[Statement], *, limit: int) -> tuple[Document, ...]:
    """Documents of at most `limit` characters that hold all statements, each at the first place where it fits."""
    piles: list[list[Statement]] = []
    for statement in _without_doubles(statements):
        if size_of(document_of([statement])) > limit:
            raise BadPolicy(f"alone exceeds the {limit:,} characters of a document", where=statement.where)
        roomy = (pile for pile in piles if size_of(document_of([*pile, statement])) <= limit)
        pile = next(roomy, None)
        if pile is None:
            piles.append(pile := [])
        pile.append(statement)
    return tuple(document_of(pile) for pile in piles)


def _without_doubles(statements: Iterable[Statement]) -> list[Statement]:
    kept: dict[str, Statement] = {}
    for statement in statements:
        kept.setdefault(json.dumps(replace(statement, sid="").as_json(), sort_keys=True), statement)
    return list(kept.values())


def document_of(statements: Sequence[Statement]) -> Document:
    """A policy document. IAM wants each Sid once, so a later statement loses one that is taken."""
    listed = []
    for n, statement in enumerate(statements):
        taken = any(other.sid == statement.sid for other in statements[:n])
        listed.append((replace(statement, sid="") if taken else statement).as_json())
    return {"Version": WITH_VARIABLES, "Statement": listed}


def size_of(document: Document) -> int:
    """The size as IAM counts it for its quotas: characters without white space."""
    return len("".join(json.dumps(document, separators=(",", ":"), ensure_ascii=False).split()))
