"""`python -m karpdash.probe [PORT [PATH]]`: container health check that requests a page of this machine's web server.

It sends the headers of a proxy, so that neither ALLOWED_HOSTS nor the redirect to https refuses it.
"""

import http.client
import sys
from collections.abc import Sequence

from karpdash.configuration.env import current

TIMEOUT_SECONDS = 5.0


def main(argv: Sequence[str]) -> int:
    """Returns 0 for a response with status 200, otherwise 1 after printing the reason."""
    port, path, *_ = (*argv, *("8000", "/healthz")[len(argv) :])
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=TIMEOUT_SECONDS)
    headers = {"Host": (*current().allowed_hosts, "localhost")[0], "X-Forwarded-Proto": "https"}
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        sys.stderr.write(f"{path}: {error}\n")
        return 1
    finally:
        connection.close()
    if answer.status == 200:
        return 0
    sys.stderr.write(f"{path}: HTTP {answer.status} {body}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
