"""A real Redis server."""

import secrets
import socket

from tests.servers.processes import Child, discard, folder, free_port, program


class RedisServer:
    """A running Redis that stores nothing on disk; `url` contains its password."""

    def __init__(self) -> None:
        self.folder, self.port, password = folder("redis"), free_port(), secrets.token_hex(16)
        configuration = self.folder / "redis.conf"  # not the command line, where everyone reads the password
        configuration.write_text(
            f'bind 127.0.0.1\nport {self.port}\nrequirepass {password}\nsave ""\nappendonly no\n'
            f"dir {self.folder}\nmaxmemory-policy noeviction\n"
        )
        self.url = f"redis://:{password}@127.0.0.1:{self.port}/0"
        self._configuration = configuration
        self.child = self._started()

    def stop(self) -> None:
        self.child.stop()
        discard(self.folder)

    def crash(self) -> None:
        """Sends kill -9, then starts a new one on the same port without the messages of the first."""
        self.kill()
        self.child = self._started()

    def kill(self) -> None:
        """Sends kill -9; nothing listens on the port any more."""
        self.child.process.kill()
        self.child.process.wait()

    def _started(self) -> Child:
        child = Child([program("redis-server"), self._configuration], log=self.folder / "redis.log")
        child.wait_until(self._listens, what="redis-server")
        return child

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
