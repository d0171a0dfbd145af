"""Records of releases as a helm that was killed, or that failed, leaves them."""

import base64
import gzip
import json
from typing import Any


def with_status(secret: dict[str, Any], status: str) -> dict[str, Any]:
    """The patch that makes the record say this status, in its label and in itself."""
    packed = base64.b64decode(base64.b64decode(secret["data"]["release"]))
    record = json.loads(gzip.decompress(packed))
    record["info"]["status"] = status
    body = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(record).encode()))).decode()
    return {"metadata": {"labels": {"status": status}}, "data": {"release": body}}
