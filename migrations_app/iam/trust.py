"""Evaluates a role's trust policy: may a pod (IRSA or Pod Identity) or another role assume it. The result is yes, no
or unknown.

Sources: AWS EKS User Guide, IAM roles for service accounts and EKS Pod Identities; IAM User Guide, role trust
policies and the elements Principal and NotPrincipal.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.evaluate import Evaluation, IamRequest, RequestVerdict, evaluate
from migrations_app.iam.policy import IamPolicy, PolicyStatement, parse_policy, policy_tree
from migrations_app.iam.three_valued_logic import Tri, any_of

AUDIENCE = "sts.amazonaws.com"
POD_IDENTITY = "pods.eks.amazonaws.com"
NAMESPACE_TAG = "aws:RequestTag/kubernetes-namespace"
EXTERNAL_ID = "sts:ExternalId"
PrincipalKind = Literal["Federated", "Service", "AWS"]
_ROOT = ":root"


@dataclass(frozen=True, kw_only=True)
class RoleAssumption:
    """One way to assume a role: the principal, the API calls, and their context keys. With `untagged` the session has
    no tags; otherwise it may have more than the context states.
    """

    kind: PrincipalKind
    principal: str
    actions: tuple[str, ...]
    context: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    untagged: bool = False

    def statement(self, conditions: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The statement that admits exactly this."""
        actions: Any = list(self.actions) if len(self.actions) > 1 else self.actions[0]
        body = {"Effect": "Allow", "Principal": {self.kind: self.principal}, "Action": actions}
        return body | ({"Condition": conditions} if conditions else {})


def subject_of(namespace: str, service_account: str) -> str:
    """The `sub` claim in the token of a service account."""
    return f"system:serviceaccount:{namespace}:{service_account}"


def by_token(provider_arn: str, subject: str, *, audience: str = AUDIENCE) -> RoleAssumption:
    """A pod with the token of its service account (IRSA), which is for that audience."""
    issuer = provider_arn.partition(":oidc-provider/")[2]
    return RoleAssumption(
        kind="Federated",
        principal=provider_arn,
        actions=("sts:AssumeRoleWithWebIdentity",),
        context={
            f"{issuer}:sub": (subject,),
            f"{issuer}:aud": (audience,),
            "aws:FederatedProvider": (provider_arn,),
            "aws:SecureTransport": ("true",),
        },
    )


def by_pod_identity(*, cluster: str, namespace: str, service_account: str, tagged: bool = True) -> RoleAssumption:
    """A pod through an EKS Pod Identity association; the agent tags its session, so both calls must be allowed, unless
    the association has its session tags switched off.

    Source: Amazon EKS API Reference, PodIdentityAssociation (disableSessionTags).
    """
    if not tagged:
        return RoleAssumption(kind="Service", principal=POD_IDENTITY, actions=("sts:AssumeRole",), untagged=True)
    return RoleAssumption(
        kind="Service",
        principal=POD_IDENTITY,
        actions=("sts:AssumeRole", "sts:TagSession"),
        context={
            NAMESPACE_TAG: (namespace,),
            "aws:RequestTag/kubernetes-service-account": (service_account,),
            "aws:RequestTag/eks-cluster-name": (cluster,),
        },
    )


def by_ec2(service: str) -> RoleAssumption:
    """EC2 for an instance whose profile has the role, under that name of the service."""
    return RoleAssumption(kind="Service", principal=service, actions=("sts:AssumeRole",))


def by_role(arn: str, *, tagged: bool, external_id: str = "") -> RoleAssumption:
    """Another role that assumes this one; with `tagged` it passes its session tags. It sends `external_id`, if that is
    known.

    Source: Amazon EKS API Reference, PodIdentityAssociation (externalId).
    """
    actions = ("sts:AssumeRole", "sts:TagSession") if tagged else ("sts:AssumeRole",)
    context = {"aws:PrincipalArn": (arn,)} | ({EXTERNAL_ID: (external_id,)} if external_id else {})
    return RoleAssumption(kind="AWS", principal=arn, actions=actions, context=context)


def admits(text: str, entry: RoleAssumption, *, name: str) -> Evaluation:
    """Whether the trust policy admits the entry; with several calls, the worst result. Raises InvalidPolicy."""
    rows = _rows(text, name=name)
    named_statements = [(statement, _named(principal, entry)) for statement, principal in rows]
    answers = [_answer(action, entry, named_statements=named_statements) for action in entry.actions]
    refused = next((answer for answer in answers if answer.verdict.decision == "denied"), None)
    worst = refused or next((answer for answer in answers if answer.verdict is RequestVerdict.UNKNOWN), answers[0])
    if worst.verdict is not RequestVerdict.MISSING or any(named for _, named in named_statements):
        return worst
    others = ", ".join(dict.fromkeys(word for _, principal in rows for word in _words(principal))) or "nobody"
    return Evaluation(RequestVerdict.MISSING, f"it trusts {others}")


def statements_of(text: str, *, name: str) -> list[dict[str, Any]]:
    """The statements of a trust policy in IAM's format. Raises InvalidPolicy."""
    document = policy_tree(text, name=name)
    listed = document.get("Statement")
    listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise InvalidPolicy("the document has no list of statements", where=name)
    return listed


def _rows(text: str, *, name: str) -> list[tuple[PolicyStatement, Any]]:
    """Each statement without its principal, and the principal; None for NotPrincipal, which is not evaluated."""
    listed = statements_of(text, name=name)
    bare = [
        {key: value for key, value in statement_body.items() if not key.endswith("Principal")}
        for statement_body in listed
    ]
    version = policy_tree(text, name=name).get("Version", "2008-10-17")
    document = {"Version": version, "Statement": [{"Resource": "*"} | statement_body for statement_body in bare]}
    policy = parse_policy(json.dumps(document), name=name)
    return [
        (statement, _principal(statement_body, statement.where))
        for statement, statement_body in zip(policy.statements, listed, strict=True)
    ]


def _principal(statement: Mapping[str, Any], where: str) -> Any:  # noqa: ANN401 - the document's own JSON
    if "NotPrincipal" in statement:
        return None
    principal = statement.get("Principal")
    if isinstance(principal, str) or (
        isinstance(principal, dict) and all(_is_texts(value) for value in principal.values())
    ):
        return principal
    raise InvalidPolicy("names no Principal that can be read", where=where)


def _is_texts(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(text, str) for text in value))


def _named(principal: Any, entry: RoleAssumption) -> Tri:  # noqa: ANN401 - the document's own JSON
    if principal is None:
        return None
    if principal == "*":
        return True if entry.kind == "AWS" else None
    accounts = principal.get(entry.kind, []) if isinstance(principal, dict) else []
    return any_of(_is(account, entry) for account in ([accounts] if isinstance(accounts, str) else accounts))


def _is(named: str, entry: RoleAssumption) -> Tri:
    """Whether a principal of the policy is the caller. IAM allows no wildcard here except a single star."""
    if "${" in named:
        return None
    if named == "*":
        return True if entry.kind == "AWS" else None
    account = entry.principal.split(":")[4] if entry.kind == "AWS" and entry.principal.count(":") > 4 else ""
    whole_account = account and (named == account or (named.endswith(_ROOT) and named.split(":")[4:5] == [account]))
    return named == entry.principal or bool(whole_account)


def _answer(
    action: str, entry: RoleAssumption, *, named_statements: Sequence[tuple[PolicyStatement, Tri]]
) -> Evaluation:
    """The evaluation; certain only if it is the same for the best and the worst reading of unclear principals."""
    tags: dict[str, str] | None = {} if entry.untagged else None
    request = IamRequest(action=action, resource="*", context=entry.context, request_tags=tags)
    kindest = [statement for statement, named in named_statements if named or (named is None and statement.allow)]
    strictest = [statement for statement, named in named_statements if named or (named is None and not statement.allow)]
    best, worst = (evaluate(request, [_policy(statements)]) for statements in (kindest, strictest))
    if best.verdict.decision == worst.verdict.decision:
        return replace(worst, because=f"{action}: {worst.because}")
    return Evaluation(RequestVerdict.UNKNOWN, f"{action}: a principal of the trust policy cannot be judged")


def _policy(statements: Sequence[PolicyStatement]) -> IamPolicy:
    return IamPolicy(name="trust policy", statements=tuple(statements))


def _words(principal: Any) -> list[str]:  # noqa: ANN401 - the document's own JSON
    if not isinstance(principal, dict):
        return ["*"] if principal else ["all but some"]
    return [word for value in principal.values() for word in ([value] if isinstance(value, str) else value)]
