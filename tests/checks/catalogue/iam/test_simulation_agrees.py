import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.inventory.objects.aws import CrossCheck
from migrations_app.inventory.parts import NOT_ASKED, Unseen
from tests.builders.aws import parse_all
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without, without_changes

CHECK = "simulation_agrees"
GOOD = ("pass", "AWS and karpdash agree on the controller's permissions", ())
ROLE = "arn:aws:iam::111122223333:role/karpenter"


def checked(**changed):
    row = {
        "release": "0.37.8", "role_arn": ROLE, "action": "ec2:CreateFleet", "resource": "*",
        "ours": "allowed", "theirs": "allowed", "agreement": "agree",
    }  # fmt: skip
    return CrossCheck(**(row | changed))


REFUSED = checked(theirs="explicitDeny", agreement="disagree", because="a policy of the organisation denies it")
OPEN = checked(theirs="implicitDeny", agreement="cannot_tell", because="AWS was not told aws:SourceIp")


def cluster(*rows):
    return a_cluster().with_aws(simulation=rows)


def test_both_say_the_same():
    assert result_of(CHECK, "1.0", cluster(checked(), OPEN)) == GOOD


def test_both_words_are_told():
    ours = checked(ours="blocked_by_condition", agreement="disagree")
    seen = "karpdash: allowed; AWS: explicitDeny, a policy of the organisation denies it"
    row = {"kind": "Role", "name": ROLE, "path": "ec2:CreateFleet on *", "wanted": "one word for what 0.37.8 asks"}
    rows = (Evidence(**row, seen=seen), Evidence(**row, seen="karpdash: blocked by condition; AWS: allowed"))
    found = result_of(CHECK, "1.0", cluster(checked(), REFUSED, ours))
    assert found == ("fail", "AWS evaluates 2 requests differently from karpdash", rows)


def test_nothing_but_open_answers():
    summary = "AWS could answer none of 2 requests; the first: AWS was not told aws:SourceIp"
    assert result_of(CHECK, "1.0", cluster(OPEN, OPEN)) == ("unknown", summary, ())


def test_nothing_was_simulated():
    assert result_of(CHECK, "1.0", cluster()) == ("not_applicable", "AWS simulated no request", ())


@pytest.mark.parametrize(
    ("part", "summary"),
    [
        (NOT_ASKED, "nothing was put to SimulatePrincipalPolicy: neither role nor running release is known"),
        (Unseen("forbidden", "refused"), "aws.simulation could not be read: forbidden (refused)"),
    ],
)
def test_what_was_not_simulated_is_unknown(part, summary):
    assert result_of(CHECK, "1.0", a_cluster().with_aws(simulation=part)) == ("unknown", summary, ())


def test_without_aws_it_says_how_to_give_access():
    status, summary, _ = result_of(CHECK, "1.0", a_cluster())
    assert (status, summary[:36]) == ("unknown", "AWS not connected: give karpdash the")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_it_is_asked_at_every_hop():
    assert asked_hops(CHECK) == ("*",)


def test_the_remedy_asks_aws_for_the_statement_once():
    found = remedies(CHECK, "1.0", cluster(REFUSED, REFUSED))
    command = (
        f"aws iam simulate-principal-policy --policy-source-arn {ROLE} "
        "--action-names ec2:CreateFleet --resource-arns '*'"
    )
    note = "# Which statement decides, without the tags that Karpenter sends: add them by --context-entries"
    assert without_changes(found) == (Remedy(how="iam", text=f"{note}\n{command}"),)
    parse_all(found)
