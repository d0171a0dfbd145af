"""A thousand small clusters behind one TLS port, told apart by their path; some of them take a request and say nothing.

Run as `python -m tests.bench.fleet_server FOLDER CLUSTERS HANGING`; FOLDER/server.json tells the ports and the CA.
"""

import asyncio
import json
import os
import ssl
import sys
from functools import cache
from pathlib import Path

from tests.fakes.evilk8s import AUTHORITY, GOOD, LOOPBACK
from tests.installations.slow_cluster import SlowCluster

STORY = "beta_037"
ABSENT = b'{"kind":"Status","code":404,"reason":"NotFound"}'


class Fleet:
    """Clusters 0 to `clusters` - 1; the last `hanging` of them hang, every other one of these before its TLS."""

    def __init__(self, clusters: int, hanging: int) -> None:
        self.first_hanging = clusters - hanging
        self._cluster = SlowCluster(STORY)
        self.body = cache(self._body)

    def _body(self, path: str) -> bytes | None:
        found = self._cluster._body(path)
        return None if found is None else json.dumps(found).encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                writer.write(await self._answer(head.split(b" ", 2)[1].decode()))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            writer.close()

    async def _answer(self, target: str) -> bytes:
        _, _, number, path = target.partition("?")[0].split("/", 3)
        if int(number) >= self.first_hanging:
            await asyncio.Event().wait()
        body = self.body(f"/{path}")
        status, body = ("200 OK", body) if body is not None else ("404 Not Found", ABSENT)
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


async def hang(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Takes the connection and never says a word of TLS."""
    await asyncio.Event().wait()


def context() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    descriptor = os.memfd_create("served")
    os.write(descriptor, (GOOD.certificate + GOOD.key).encode())
    made.load_cert_chain(f"/proc/self/fd/{descriptor}")
    os.close(descriptor)
    return made


async def main(folder: Path, clusters: int, hanging: int) -> None:
    fleet = Fleet(clusters, hanging)
    served = await asyncio.start_server(fleet.serve, LOOPBACK, 0, ssl=context(), backlog=1024)
    mute = await asyncio.start_server(hang, LOOPBACK, 0, backlog=1024)
    ports = [one.sockets[0].getsockname()[1] for one in (served, mute)]
    told = {
        "port": ports[0],
        "mute": ports[1],
        "ca": AUTHORITY.pem,
        "clusters": clusters,
        "first_hanging": fleet.first_hanging,
    }
    (folder / "server.tmp").write_text(json.dumps(told))
    (folder / "server.tmp").rename(folder / "server.json")
    await asyncio.gather(served.serve_forever(), mute.serve_forever())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
