"""Resource snapshots/{id}/changes: what differs from an earlier snapshot of the same cluster."""

import uuid

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import StrictSerializer
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.queries.scans.snapshot_changes import (
    ChangedCheck,
    SnapshotAnswer,
    SnapshotChanges,
    snapshot_changes,
)
from migrations_app.readiness.report_diff import NumberChange, TextChange


class SnapshotAnswerSerializer(StructSerializer):
    """The answer of a check in one of the two snapshots."""

    struct = SnapshotAnswer


class ChangedCheckSerializer(StructSerializer):
    """A check whose status, severity or number of objects changed. `hops` are those for which it changed in this way;
    `direction` compares the answers.
    """

    struct = ChangedCheck


class TextChangeSerializer(StructSerializer):
    """A fact before and after; empty if not known."""

    struct = TextChange


class NumberChangeSerializer(StructSerializer):
    """A count before and after; null if it could not be read."""

    struct = NumberChange


class SnapshotChangesSerializer(StructSerializer):
    """What differs between two snapshots of a cluster. `legacy` counts objects by kind, `owners` nodes by owner."""

    struct = SnapshotChanges


class SnapshotChangesQuerySerializer(StrictSerializer):
    before = serializers.UUIDField(
        required=False, help_text="An earlier snapshot of the same cluster; by default the one just before."
    )


class SnapshotChangesView(Endpoint):
    """What changed since an earlier snapshot."""

    needs = {"GET": READ}
    tag = "snapshots"
    operations = {
        "GET": Operation("snapshot_changes", query=SnapshotChangesQuerySerializer, answer=SnapshotChangesSerializer)
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The checks, counts and facts that differ, what became worse first. Waivers are those that each snapshot was
        last counted with, the current ones for the newest.
        """
        query = query_params(request, SnapshotChangesQuerySerializer)
        changes = snapshot_changes(id, before=query.get("before"))
        return Response(SnapshotChangesSerializer(changes).data)
