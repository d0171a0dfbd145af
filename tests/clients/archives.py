"""Archives for tests, made header by header, so that they can be wrong in every way."""

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping

BLOCK = 512


def header(name: str, size: int = 0, *, kind: bytes = b"0", prefix: str = "", link: str = "") -> bytes:
    """One ustar header with its checksum."""
    fields = [
        name.encode().ljust(100, b"\0"),
        b"\0".join([b"0000644", b"0000000", b"0000000", b""]),
        f"{size:011o}\0".encode(),
        b"00000000000\0",
        b" " * 8,
        kind,
        link.encode().ljust(100, b"\0"),
        b"ustar\x0000",
        b"\0" * (32 + 32 + 8 + 8),
        prefix.encode().ljust(155, b"\0"),
    ]
    block = b"".join(fields).ljust(BLOCK, b"\0")
    return block[:148] + f"{sum(block):06o}\0 ".encode() + block[156:]


def member(name: str, body: bytes = b"", **more: object) -> bytes:
    padded = body + b"\0" * (-len(body) % BLOCK)
    return header(name, len(body), **more) + padded  # type: ignore[arg-type]  # passed on


def tar(*members: bytes, end: bool = True) -> bytes:
    return b"".join(members) + (b"\0" * 1024 if end else b"")


def packed(*members: bytes) -> bytes:
    return gzip.compress(tar(*members), mtime=0)


def of(files: Mapping[str, bytes] | Iterable[tuple[str, bytes]], *, form: int = tarfile.PAX_FORMAT) -> bytes:
    """A .tar.gz as the standard library writes it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=form) as archive:
        for name, body in dict(files).items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return out.getvalue()
