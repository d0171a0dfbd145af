"""Serializers of pull requests, for answers and requests."""

from typing import Any

from rest_framework import serializers

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import OutputText, StrictSerializer, Text
from migrations_app.queries.pull_requests import STATES, RepositoryRow, RequestRow
from migrations_app.readiness.pull_requests.conversion import CONVERSION, TARGETS
from migrations_app.readiness.pull_requests.proposal import Proposal


class CodeRepositorySerializer(StructSerializer):
    """A repository in which pull requests may be opened; its credential is never returned."""

    struct = RepositoryRow
    leave_out = ("made_by_name", "made_at")


class PullRequestSerializer(StructSerializer):
    """One pull or merge request of a change. `number` and `link` are set once it is open on the Git host.

    `check` is `conversion` if manifests are converted; `hop` is then the generation.
    """

    struct = RequestRow
    leave_out = ("cluster_id", "check_id", "made_by_name", "approved_by_name")

    cluster = serializers.UUIDField(source="cluster_id")
    check = OutputText(source="check_id")
    state = serializers.ChoiceField(choices=STATES)
    made_by = OutputText(source="made_by_name")
    approved_by = OutputText(source="approved_by_name", help_text="The person who opened it; empty before.")


class FileDifferenceSerializer(serializers.Serializer[Any]):
    """One file that the pull request changes, with its diff."""

    path = OutputText()
    diff = OutputText()


class ProposalSerializer(serializers.Serializer[Any]):
    """The content of the pull request, as it was previewed."""

    title = OutputText()
    body = OutputText(help_text="The text of the request, as Markdown.")
    files = FileDifferenceSerializer(many=True)
    missing = serializers.ListField(
        child=OutputText(), help_text="Objects that are in none of the files that were read."
    )
    beside = serializers.ListField(child=OutputText(), help_text="Parts of the change that are in no file.")


class PullRequestWholeSerializer(PullRequestSerializer):
    """One pull request with its content."""

    proposal = ProposalSerializer(allow_null=True, help_text="Null if the key that seals it is missing.")


class NewPullRequestSerializer(StrictSerializer):
    """Either `check` and `hop` of a failing check, or `convert_to`; and the repository and path of the files."""

    check = Text(required=False, max_length=80, help_text="The id of a check that fails.")
    hop = Text(required=False, allow_blank=True, max_length=20, default="", help_text="Its hop, such as 1.0.")
    convert_to = serializers.ChoiceField(
        required=False, choices=tuple(TARGETS), help_text="The generation to which manifests are converted."
    )
    repository = serializers.UUIDField(help_text="One of `repositories`.")
    path = Text(required=False, allow_blank=True, max_length=500, default="", help_text="A file or a folder.")
    branch = Text(required=False, allow_blank=True, max_length=200, default="", help_text="Empty: the default branch.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Requires exactly one of the two, and `check` and `hop` as previews take them."""
        to = attrs.pop("convert_to", "")
        if bool(to) == bool(attrs.get("check")) or (to and attrs["hop"]):
            raise serializers.ValidationError({"check": ["Either a check with its hop, or convert_to."]})
        return attrs | ({"check": CONVERSION, "hop": to} if to else {})


class OpeningSerializer(StrictSerializer):
    """The digest of the preview as it was read."""

    digest = Text(max_length=64)


def proposal_body(proposal: Proposal | None) -> dict[str, Any] | None:
    """Returns the content of the pull request for the answer."""
    if proposal is None:
        return None
    files = [{"path": file.path, "diff": file.diff} for file in proposal.files]
    return {
        "title": proposal.title,
        "body": proposal.body,
        "files": files,
        "missing": list(proposal.missing),
        "beside": list(proposal.beside),
    }
