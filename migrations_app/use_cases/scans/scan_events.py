"""Numbers the ends of scans in commit order, for programs that follow resource events."""

import uuid

from django.db.models import F
from django.utils import timezone

from migrations_app.models.scan_event import ScanEvent, ScanEventHead

HEAD = 1


def note_end(scan_id: uuid.UUID, *, cluster_id: uuid.UUID, state: str, code: str = "") -> int:
    """Records the end of a scan, as the last statement of the caller's transaction.

    Returns the event's number. The row of the head is changed first and stays locked until the transaction ends, so
    that a reader who finds number 7 also finds 1 to 6.
    """
    head = ScanEventHead.objects.filter(pk=HEAD)
    if not head.update(seq=F("seq") + 1):
        ScanEventHead.objects.bulk_create([ScanEventHead(pk=HEAD)], ignore_conflicts=True)
        head.update(seq=F("seq") + 1)
    seq = head.get().seq
    ScanEvent.objects.create(
        seq=seq, at=timezone.now(), cluster_id=cluster_id, scan_id=scan_id, state=state, code=code[:60]
    )
    return seq
