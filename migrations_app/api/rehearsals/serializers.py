"""Serializers of rehearsals, for answers and requests."""

from typing import Any

from rest_framework import serializers

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import OutputText, StrictInteger, StrictSerializer, Text
from migrations_app.queries.rehearsals.rehearsals import MAX_LISTED, RehearsalRow
from migrations_app.rehearsals.document import PlayRefusal, RehearsalDocument, RehearsalPlay, read_document
from migrations_app.rehearsals.play import Failure
from migrations_app.rehearsals.result import (
    BudgetGap,
    HeldEviction,
    NodeGroupCount,
    PodWithoutPlace,
    PoolUse,
    RehearsalMoment,
    RehearsalResult,
    RehearsalStop,
    UnknownPart,
    WorkloadGap,
)
from migrations_app.use_cases.rehearsal_runs.queue import HIGHEST_SEED, SCENARIOS


class RehearsalStopSerializer(StructSerializer):
    """Where the plan stops and why: the code with which the real rollout would stop."""

    struct = RehearsalStop


class NodeGroupSerializer(StructSerializer):
    """Nodes of one pool, size and zone; `peak` is their highest number at any time."""

    struct = NodeGroupCount


class PoolUseSerializer(StructSerializer):
    """A pool's limits, and what its nodes use of them. CPU in thousandths, memory in bytes; peaks are upper bounds."""

    struct = PoolUse


class HeldEvictionSerializer(StructSerializer):
    """Evictions that a PodDisruptionBudget, or `annotation`, refused."""

    struct = HeldEviction


class WorkloadGapSerializer(StructSerializer):
    """A workload that had no Ready pod for a time, in seconds."""

    struct = WorkloadGap


class BudgetGapSerializer(StructSerializer):
    """A PodDisruptionBudget whose minimum was not met, in pods and seconds."""

    struct = BudgetGap


class PodWithoutPlaceSerializer(StructSerializer):
    """A pod that is pending at the end, as an example of its kind, with the reason."""

    struct = PodWithoutPlace


class RehearsalMomentSerializer(StructSerializer):
    """The cluster at one time, in seconds since the start."""

    struct = RehearsalMoment


class UnknownPartSerializer(StructSerializer):
    """What is not known, and which results are missing because of it."""

    struct = UnknownPart


class RehearsalResultSerializer(StructSerializer):
    """The result of one play. Null always means: not known. Times are in seconds."""

    struct = RehearsalResult


class PlayRefusalSerializer(StructSerializer):
    """Why a play could not begin."""

    struct = PlayRefusal


class RehearsalPlaySerializer(StructSerializer):
    """One play: its result, or why it could not begin."""

    struct = RehearsalPlay


class RehearsalDocumentSerializer(StructSerializer):
    """The plays; the first one is without a failure. `cut` names the lists that were shortened."""

    struct = RehearsalDocument


class RehearsalSerializer(serializers.Serializer[Any]):
    """One rehearsal of a plan."""

    id = serializers.UUIDField()
    digest = OutputText(help_text="The digest of the plan that is played.")
    current = serializers.BooleanField(help_text="Whether that is the current plan.")
    state = OutputText(help_text="queued, running, finished or failed.")
    seed = serializers.IntegerField()
    requested_by = OutputText()
    made_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    error_code = OutputText()
    error = OutputText()
    result = RehearsalDocumentSerializer(
        allow_null=True, help_text="Null until the rehearsal has finished, and if it failed."
    )


class RehearsalListSerializer(serializers.Serializer[Any]):
    """The newest rehearsals of the plan, newest first."""

    results = RehearsalSerializer(many=True)


class RehearsalQuerySerializer(StrictSerializer):
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MAX_LISTED, default=1)


class FailureSerializer(serializers.Serializer[Any]):
    """The failure in a further play. `zone` is for `full_zone`; by default the zone with most of Karpenter's nodes."""

    scenario = serializers.ChoiceField(choices=SCENARIOS)
    zone = Text(required=False, allow_blank=True, max_length=60, default="")


class NewRehearsalSerializer(StrictSerializer):
    """The failures to play, besides the plan without a failure."""

    failures = serializers.ListField(child=FailureSerializer(), required=False, default=list, max_length=len(SCENARIOS))
    seed = StrictInteger(required=False, min_value=0, max_value=HIGHEST_SEED, default=0)


def failures_of(choices: list[dict[str, str]]) -> list[Failure]:
    """Returns the failures as the rehearsal takes them, with a zone only for failures that have one."""
    return [
        Failure(choice["scenario"], choice["zone"] if choice["scenario"] == "full_zone" else "")  # type: ignore[arg-type]  # one of the choices
        for choice in choices
    ]


def rehearsal_body(row: RehearsalRow) -> dict[str, Any]:
    """Returns a rehearsal for the answer."""
    names = set(RehearsalSerializer().fields) - {"result"}
    values = {name: getattr(row, name) for name in names}
    return dict(RehearsalSerializer(values | {"result": read_document(row.raw) if row.raw else None}).data)
