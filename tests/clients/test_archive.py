"""T05: archives are read as streams; links, odd names and bombs are refused; nothing is written."""

import gzip
import io
import os
import random
import tarfile
import tracemalloc
import zlib
from pathlib import Path

import pytest

from migrations_app.clients.archive import ArchiveLimits, is_archive, members
from migrations_app.clients.kubernetes.limits import MIB
from migrations_app.errors import InvalidBundle
from tests.clients.archives import header, member, of, packed, tar
from tests.trust.tampering import changed_archive

LIMITS = ArchiveLimits(members=20, member_bytes=MIB, total_bytes=8 * MIB)
GOOD = member("pods.json", b"{}")


def read(raw: bytes, limits: ArchiveLimits = LIMITS) -> list[tuple[str, bytes]]:
    return list(members(io.BytesIO(raw), limits))


def refusal(raw: bytes, limits: ArchiveLimits = LIMITS) -> str:
    with pytest.raises(InvalidBundle) as caught:
        read(raw, limits)
    return caught.value.code


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_of_every_tool_are_read(form: int) -> None:
    deep = "/".join(["folder"] * 12) + "/a-file-with-a-rather-long-name-indeed.json"
    wide = f"{'x' * 90}/{'y' * 90}.yaml"
    files = {"pods.json": b"{}", "./b/c.yml": b"a: 1", deep: b"1" * 1000, wide: b"2", "\u00e9.json": b"3"}
    named = {name.removeprefix("./"): body for name, body in files.items()}
    assert dict(read(of(files, form=form))) == named


def test_a_plain_tar_is_read() -> None:
    assert read(gzip.decompress(of({"a.json": b"1"}))) == [("a.json", b"1")]


def test_other_files_are_passed_over() -> None:
    files = {
        "README.md": b"x",
        "._pods.json": b"x",
        ".git/a.json": b"x",
        "a.json": b"1",
        "run.sh": b"x",
        "a.json/b": b"x",
    }
    assert read(of(files)) == [("a.json", b"1")]


NAMES = [
    "/etc/cron.d/x.json",
    "../x.json",
    "a/../../x.json",
    "a/..",
    "..",
    "a\\b.json",
    "a\x1b[2J.json",
    "a\u202ejson.json",
]
LINKS = [b"1", b"2", b"3", b"4", b"6", b"S", b"M", b"D", b"V", b"N", b"\xff"]
HANDMADE = [
    *[(packed(member(name, b"x")), "archive_name") for name in NAMES],
    *[(packed(member(f"{name}/", kind=b"5")), "archive_name") for name in NAMES if not name.endswith(".json")],
    *[(packed(member("a.json", kind=kind, link="/etc/passwd")), "archive_link") for kind in LINKS],
    (packed(member("x", b"30 path=../../etc/x.json\n", kind=b"x"), member("ok.json", b"x")), "archive_name"),
    (packed(member("x", b"../../etc/x.json\0", kind=b"L"), member("ok.json", b"x")), "archive_name"),
    (packed(member("/a.json", b"x", prefix="..")), "archive_name"),
    (packed(*[GOOD] * 21), "archive_members"),
    (packed(*[member("x", b"", kind=b"5")] * 21), "archive_members"),
    (packed(*[member("x", b"9 a=b\n", kind=b"x")] * 21), "archive_members"),
    (packed(member("a.json", b"x" * (MIB + 1))), "archive_member_size"),
    (gzip.compress(tar(member("a.json", os.urandom(MIB + 1)))), "archive_member_size"),
    (packed(header("a.json", 8**11 - 1)), "archive_member_size"),
    (packed(header("a.md", 8**11 - 1)), "archive_truncated"),
    (packed(header("x", 10**7, kind=b"x")), "archive_broken"),
    (packed(header("x", 10**7, kind=b"L")), "archive_broken"),
    (packed(GOOD[:100] + b"9" + GOOD[101:]), "archive_broken"),
    (packed(b"x" * 1024), "archive_broken"),
    (packed(GOOD[:124] + b"\x80" + b"\0" * 10 + b"\1" + GOOD[136:]), "archive_broken"),
    (gzip.compress(tar(GOOD, end=False)), "archive_truncated"),
    (gzip.compress(tar(GOOD[:700], end=False)), "archive_truncated"),
    (gzip.compress(b""), "archive_truncated"),
    (packed(GOOD)[:-30], "archive_truncated"),
    (packed(GOOD)[:12], "archive_truncated"),
    (b"\x1f\x8b", "archive_truncated"),
    (b"\x1f\x8b\x08" + b"\xff" * 100, "archive_broken"),
    (b"\x1f\x8b" + b"garbage" * 20, "archive_broken"),
    (b"", "archive_truncated"),
]


@pytest.mark.parametrize(("raw", "code"), HANDMADE, ids=[f"{n}-{code}" for n, (_, code) in enumerate(HANDMADE)])
def test_a_bad_archive_is_refused_with_its_code(raw: bytes, code: str) -> None:
    assert refusal(raw) == code


def test_there_are_forty_of_them() -> None:
    assert len(HANDMADE) >= 40


def test_a_bomb_is_left_before_it_unfolds() -> None:
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    start = deflate.compress(header("a.json", 2 * 10**9))
    bomb = start + b"".join(deflate.compress(b"\0" * MIB) for _ in range(64)) + deflate.flush()
    tracemalloc.start()
    assert refusal(bomb, ArchiveLimits(member_bytes=4 * 10**9, total_bytes=4 * 10**9)) == "archive_bomb"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * MIB


def test_the_sum_of_all_members_has_a_limit() -> None:
    many = [member(f"{number}.json", os.urandom(MIB - 600)) for number in range(9)]
    assert refusal(gzip.compress(tar(*many), 1)) == "archive_total"
    assert refusal(gzip.compress(tar(*[member("x.md", os.urandom(MIB))] * 9), 1)) == "archive_total"


def test_a_dump_that_packs_well_is_no_bomb() -> None:
    pods = b"".join(
        b'{"metadata": {"name": "pod-%d"}, "spec": {"nodeName": "node-%d"}},\n' % (n, n % 50) for n in range(12000)
    )
    assert read(of({"pods.json": pods})) == [("pods.json", pods)]


@pytest.mark.parametrize(
    ("beginning", "answer"),
    [(b"\x1f\x8b\x08", True), (GOOD[:512], True), (b"PK\x03\x04", False), (b"{", False), (b"", False)],
)
def test_archives_are_told_from_texts(beginning: bytes, answer: bool) -> None:
    assert is_archive(beginning) is answer


def test_two_thousand_changed_archives_end_in_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seed = random.randrange(2**32)
    dice = random.Random(seed)
    plain = tar(
        GOOD, member("x", b"30 path=folder/other.json\n", kind=b"x"), member("b.yaml", b"a: 1"), member("c", kind=b"5")
    )
    codes = {outcome(changed_archive(plain, dice)) for _ in range(2000)}
    known = ["truncated", "broken", "name", "link", "members", "member_size", "bomb", "total"]
    assert codes <= {"read", *(f"archive_{why}" for why in known)}, seed
    assert list(tmp_path.iterdir()) == []


def outcome(raw: bytes) -> str:
    try:
        found = read(raw)
    except InvalidBundle as refused:
        return refused.code
    assert [name for name, _ in found if name.startswith("/") or ".." in name.split("/")] == []
    return "read"
