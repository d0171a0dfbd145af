"""Short reachability check before a scan, so that an unresponsive cluster does not occupy a scan worker."""

from django.conf import settings

from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.errors import InvalidInput, InvalidSetting, ReadError
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.runtime.connections import connect
from migrations_app.use_cases.scans import queue, store
from migrations_app.use_cases.scans.queue import ScanClaim


def probe_limits() -> ClientLimits:
    """KARPDASH_PROBE_SECONDS as limit of each phase and of the whole probe, with one retry."""
    seconds = float(settings.ENV.probe_seconds)
    return ClientLimits(
        connect_seconds=seconds, read_seconds=seconds, call_seconds=seconds, scan_seconds=seconds, tries=2
    )


def probe_claimed(claim: ScanClaim) -> bool:
    """True if the cluster answered and its scan was queued for a scan worker; False if the scan ended with an error."""
    cluster = Cluster.objects.get(pk=claim.cluster_id)
    try:
        with connect(cluster, within=probe_limits()) as api:
            api.get("/version")
    except (ReadError, InvalidInput, InvalidSetting) as reason:
        store.fail(claim.scan_id, fence=claim.fence, code=reason.code, detail=reason.message)
        return False
    return queue.pass_to_scan_queue(claim)
