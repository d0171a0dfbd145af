"""The short look before a scan: does the cluster answer at all. Whoever hangs costs five seconds, and no scan slot."""

from migrations_app.clients.kubernetes.limits import Limits
from migrations_app.errors import BadInput, BadSetting, CouldNotLook
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.runtime.connections import connect
from migrations_app.use_cases.scans import queue, store
from migrations_app.use_cases.scans.queue import Claim

SECONDS = 5.0
SHORT = Limits(connect_seconds=SECONDS, read_seconds=SECONDS, call_seconds=SECONDS, scan_seconds=SECONDS, tries=2)


def probe_claimed(claim: Claim) -> bool:
    """True when the cluster answered and its scan may go on; else the scan has ended with the reason."""
    cluster = Cluster.objects.get(pk=claim.cluster_id)
    try:
        with connect(cluster, within=SHORT) as api:
            api.get("/version")
    except (CouldNotLook, BadInput, BadSetting) as reason:
        store.fail(claim.scan_id, fence=claim.fence, code=reason.code, detail=reason.message)
        return False
    return queue.hand_on(claim)
