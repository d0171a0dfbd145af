"""A real Redis."""

import secrets
import socket

from tests.servers.processes import Child, discard, folder, free_port, program


class RedisServer:
    """A running Redis that keeps nothing on disk; `url` carries its password."""

    def __init__(self) -> None:
        self.folder, self.port, password = folder("redis"), free_port(), secrets.token_hex(16)
        configuration = self.folder / "redis.conf"  # not the command line, where everyone reads the password
        configuration.write_text(
            f'bind 127.0.0.1\nport {self.port}\nrequirepass {password}\nsave ""\nappendonly no\n'
            f"dir {self.folder}\nmaxmemory-policy noeviction\n"
        )
        self.url = f"redis://:{password}@127.0.0.1:{self.port}/0"
        self.child = Child([program("redis-server"), configuration], log=self.folder / "redis.log")
        self.child.wait_until(self._listens, what="redis-server")

    def stop(self) -> None:
        self.child.stop()
        discard(self.folder)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
