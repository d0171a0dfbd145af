"""Five-second reachability check before a scan, so that an unresponsive cluster does not occupy a scan worker."""

from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.errors import InvalidInput, InvalidSetting, ReadError
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.runtime.connections import connect
from migrations_app.use_cases.scans import queue, store
from migrations_app.use_cases.scans.queue import ScanClaim

SECONDS = 5.0
SHORT = ClientLimits(connect_seconds=SECONDS, read_seconds=SECONDS, call_seconds=SECONDS, scan_seconds=SECONDS, tries=2)


def probe_claimed(claim: ScanClaim) -> bool:
    """True when the cluster answered and its scan was passed on; False when the scan was ended with the error."""
    cluster = Cluster.objects.get(pk=claim.cluster_id)
    try:
        with connect(cluster, within=SHORT) as api:
            api.get("/version")
    except (ReadError, InvalidInput, InvalidSetting) as reason:
        store.fail(claim.scan_id, fence=claim.fence, code=reason.code, detail=reason.message)
        return False
    return queue.pass_to_scan_queue(claim)
