"""Fails for each request that SimulatePrincipalPolicy answers differently from karpdash."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import group
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.remedies.observations import read_command
from migrations_app.inventory.parts import NOT_ASKED, Unseen

MAX_COMMANDS = 5
check = Check(
    __name__,
    title="AWS and karpdash agree on the controller's permissions",
    phase="iam",
    severity="warning",
    why=(
        "A policy of the organisation, or a condition that only AWS can evaluate, may refuse what the role's own "
        "documents allow: where the two differ, every other answer about permissions is uncertain."
    ),
    reads=("aws.identity",),
    says=(
        "AWS evaluates {count} request differently from karpdash",
        "AWS evaluates {count} requests differently from karpdash",
    ),
    how=(
        "Sends the requests of the running version to SimulatePrincipalPolicy, and compares each answer with that of "
        "karpdash."
    ),
    sources=("AWS IAM API Reference, SimulatePrincipalPolicy",),
    remedy_tools=("iam",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    answers = case.inventory.aws.simulation
    if answers == NOT_ASKED:
        yield Unknown("nothing was put to SimulatePrincipalPolicy: neither role nor running release is known")
    elif isinstance(answers, Unseen):
        yield could_not_read("aws.simulation", answers)
    elif not answers.items:
        yield NotApplicable("AWS simulated no request")
    elif all(row.agreement == "cannot_tell" for row in answers.items):
        yield Unknown(f"AWS could answer none of {len(answers.items)} requests; the first: {answers.items[0].because}")
    for row in case.inventory.aws.disagreements:
        yield Evidence(
            kind="Role",
            name=row.role_arn,
            path=f"{row.action} on {row.resource}",
            seen=f"karpdash: {row.ours.replace('_', ' ')}; AWS: {row.theirs}"
            + (f", {row.because}" * bool(row.because)),
            wanted=f"one word for what {row.release} asks",
        )


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    arguments = (("--policy-source-arn", row.role_arn, "--action-names", row.action, "--resource-arns", row.resource)
             for row in case.inventory.aws.disagreements[:MAX_COMMANDS])  # fmt: skip
    looks = (read_command("aws", "iam", "simulate-principal-policy", *words) for words in dict.fromkeys(arguments))
    note = "Which statement decides, without the tags that Karpenter sends: add them by --context-entries"
    yield in_aws(group(*looks, notes=(note,)))
