"""Serializers of journeys, for answers and requests."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.response import Response

from migrations_app.api.conversions import StrictBoolean
from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import (
    OutputText,
    PagedSerializer,
    StrictInteger,
    StrictSerializer,
    Text,
    ordering,
)
from migrations_app.journeys.compose import SOAK_SECONDS
from migrations_app.journeys.disruption_hold import WANTED
from migrations_app.journeys.evidence import CheckSeen, StepEvidence
from migrations_app.journeys.outline import PlanDifference
from migrations_app.journeys.plan import COVERABLE, Command
from migrations_app.journeys.rollback import StepRollback
from migrations_app.journeys.states import JOURNEY_STATES
from migrations_app.queries.journeys.disruption_hold import DisruptionHold
from migrations_app.queries.journeys.journeys import (
    JOURNEY_GROUPS,
    JOURNEY_ORDERS,
    CurrentRollback,
    JourneyApprovalRow,
    JourneyDetail,
    JourneyRow,
    StepRollout,
    StepRow,
)
from migrations_app.use_cases.journeys.drafts import LONGEST_SOAK


class JourneyLineSerializer(StructSerializer):
    """A journey without its steps."""

    struct = JourneyRow
    leave_out = ("environment", "author_id")
    published_as = {"target_release": "lands"}


class CheckSeenSerializer(StructSerializer):
    """One check as a scan answered it; `not_asked` if the check belongs to none of the hops any more."""

    struct = CheckSeen


class EvidenceSerializer(StructSerializer):
    """What a scan showed of the step: proven, open, unknown or other_release."""

    struct = StepEvidence


class DifferenceSerializer(StructSerializer):
    """How the current plan differs from the one that was shown."""

    struct = PlanDifference


class StepRolloutSerializer(StructSerializer):
    """A rollout that was made for the step."""

    struct = StepRollout


class JourneyCommandSerializer(StructSerializer):
    """How a person does the step: the tool, and the commands to run or the files to commit to the repository that the
    tool applies."""

    struct = Command


class JourneyStepSerializer(serializers.Serializer[Any]):
    """One step with its state."""

    id = OutputText()
    kind = OutputText(help_text="rollout, outside, person or wait: who does it.")
    title = OutputText()
    phase = OutputText()
    state = OutputText(help_text="waiting, ready, running, done, failed, skipped or undoing.")
    cause_code = OutputText()
    cause = OutputText()
    since = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    checks = serializers.ListField(child=OutputText(), help_text="Checks that have to pass in a scan.")
    release = OutputText(help_text="The release that has to run after the step; empty for none.")
    action = OutputText()
    parameters = serializers.DictField()
    seconds = serializers.IntegerField(help_text="How long a step waits.")
    protects = serializers.BooleanField(
        help_text="Whether the step protects the cluster, so that it cannot be skipped."
    )
    back = OutputText(help_text="How the step is rolled back while it is in progress.")
    no_return = serializers.ListField(child=OutputText(), help_text="What cannot be undone after the step.")
    commands = JourneyCommandSerializer(many=True)
    by = OutputText(help_text="Who confirmed or skipped it.")
    note = OutputText(help_text="What that person wrote.")
    evidence = EvidenceSerializer(allow_null=True)
    differences = DifferenceSerializer(many=True)
    accepted = serializers.BooleanField(
        help_text="Whether a person accepted a plan that differs from the one that was shown."
    )
    preview = StepRolloutSerializer(allow_null=True)
    work = StepRolloutSerializer(allow_null=True)
    rollback = StepRolloutSerializer(allow_null=True)


class JourneyAgreedSerializer(StructSerializer):
    """One person's approval of the journey."""

    struct = JourneyApprovalRow


@extend_schema_serializer(component_name="GoingBack")
class CurrentRollbackSerializer(StructSerializer):
    """The rollback of the journey; null if it is not being rolled back."""

    struct = CurrentRollback


class DisruptionHoldSerializer(StructSerializer):
    """The hold of Karpenter's own disruption for a pause; null if there was none."""

    struct = DisruptionHold
    leave_out = ("held_at",)


class JourneyWholeSerializer(JourneyLineSerializer):
    """A journey with its steps in order."""

    risk = OutputText(help_text="The highest risk that its approval covers; empty if it covers no plan.")
    needed = serializers.IntegerField(help_text="Approvals that the policies ask for now.")
    agreed = JourneyAgreedSerializer(many=True)
    going_back = CurrentRollbackSerializer(allow_null=True)
    steps = JourneyStepSerializer(many=True)
    paused_deliveries = serializers.ListField(
        child=OutputText(), help_text="GitOps deliveries that its steps have paused, or may have, and not resumed."
    )
    disruption_hold = DisruptionHoldSerializer(allow_null=True)


class JourneyQuerySerializer(PagedSerializer):
    cluster = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(
        required=False, choices=(*JOURNEY_STATES, *JOURNEY_GROUPS), help_text="A state or a group."
    )
    ordering = ordering(JOURNEY_ORDERS, default="-made_at")


class NewJourneySerializer(StrictSerializer):
    """The cluster and the choices of the author. The steps are those of the cluster's next hop."""

    cluster = serializers.UUIDField()
    covers = serializers.ChoiceField(
        required=False,
        choices=COVERABLE,
        default="high",
        help_text="The highest risk of plans that the approval of the journey covers.",
    )
    parameters = serializers.DictField(
        required=False, default=dict, child=serializers.DictField(), help_text="Choices, by the id of the action."
    )
    soak_seconds = StrictInteger(
        required=False, default=SOAK_SECONDS, min_value=0, max_value=LONGEST_SOAK,
        help_text="How long the new release runs before the next step.",
    )  # fmt: skip
    ticket = Text(required=False, allow_blank=True, max_length=200, default="")
    note = Text(required=False, allow_blank=True, max_length=2000, default="")


class JourneyStartSerializer(StrictSerializer):
    """The digest of the journey as it was read."""

    digest = Text(max_length=64)


class JourneyPauseSerializer(StrictSerializer):
    """Whether to hold Karpenter's own disruption as well, until the journey is resumed or ended."""

    hold_disruption = StrictBoolean(required=False, default=False)


class JourneyHoldSerializer(StrictSerializer):
    """held: a budget of no nodes on every NodePool; released: the former budgets."""

    asked_for = serializers.ChoiceField(choices=WANTED)


class JourneyReasonSerializer(StrictSerializer):
    reason = Text(required=False, allow_blank=True, max_length=2000, default="")


class StepNameSerializer(StrictSerializer):
    """The id of the step, such as j03."""

    step = Text(max_length=8)


class StepTickSerializer(StepNameSerializer):
    """What the person did or saw, as a note."""

    note = Text(max_length=2000)


class StepSkipSerializer(StepNameSerializer):
    reason = Text(max_length=2000)


class RollbackQuerySerializer(StrictSerializer):
    to = Text(max_length=8, help_text="The id of the step, such as j03.")


@extend_schema_serializer(component_name="WayBack")
class RollbackPreviewSerializer(StructSerializer):
    """How one step would be undone: rollback, person, outside, nothing or no_return."""

    struct = StepRollback


class StepAcceptSerializer(StepNameSerializer):
    """The digest of the step's plan as it was read."""

    digest = Text(max_length=64)


def journey_answer(detail: JourneyDetail, *, status: int = 200) -> Response:
    """Returns the journey with its ETag."""
    values = JourneyLineSerializer().to_representation(detail.row)
    values |= {"risk": detail.risk, "needed": detail.needed, "agreed": detail.approvals}
    values["going_back"] = detail.current_rollback
    values["paused_deliveries"] = detail.paused_deliveries
    values["disruption_hold"] = detail.disruption_hold
    values["steps"] = [_step(step) for step in detail.steps]
    answer = Response(JourneyWholeSerializer(values).data, status=status)
    answer["ETag"] = etags.of_version(detail.row.version)
    return answer


_DEFINED = (
    "id", "kind", "title", "phase", "checks", "release", "action", "parameters", "seconds", "protects", "back",
    "no_return", "commands",
)  # fmt: skip
_STANDING = (
    "state", "cause_code", "cause", "since", "ended_at", "by", "note", "evidence", "differences", "accepted",
    "preview", "work", "rollback",
)  # fmt: skip


def _step(step_row: StepRow) -> dict[str, Any]:
    defined = {name: getattr(step_row.definition, name) for name in _DEFINED}
    return defined | {name: getattr(step_row, name) for name in _STANDING}
