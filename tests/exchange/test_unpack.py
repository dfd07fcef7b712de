"""unpack: an archive is plain files of a few megabytes, or it is refused with a reason."""

import io
import stat
import tarfile
import zipfile
from collections.abc import Callable

import pytest

from skillvault.exchange.source_tree import MAX_BYTES, MAX_FILES, unpack
from skillvault.model.errors import BadInputError
from tests.exchange.sites import tarred, zipped

FILES = {"SKILL.md": b"a", "scripts/run.sh": b"b" * 100_000}


def tar_entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    return entry


def zip_entry(name: str, mode: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, b"/etc/passwd")
    return content.getvalue()


def encrypted() -> bytes:
    content = bytearray(zipped({"SKILL.md": b"a"}))
    for at in (content.index(b"PK\x03\x04") + 6, content.index(b"PK\x01\x02") + 8):
        content[at] |= 1
    return bytes(content)


def sparse() -> bytes:
    """A file of a terabyte that takes a few bytes."""
    header = tar_entry("big", tarfile.GNUTYPE_SPARSE).tobuf(tarfile.GNU_FORMAT)
    block = bytearray(header)
    block[483:495] = b"\x80" + (10**12).to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    return bytes(block) + bytes(1024)


def lying() -> bytes:
    """A zip that says that its bomb is small."""
    content = zipped({"SKILL.md": b"\0" * (MAX_BYTES + 1)})
    size = (MAX_BYTES + 1).to_bytes(4, "little")
    return content.replace(size, (10).to_bytes(4, "little"))


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_what_was_packed_comes_out(pack: Callable[..., bytes]) -> None:
    assert unpack(pack(FILES)) == FILES


def test_folders_have_no_files_of_their_own() -> None:
    archive = tarred(
        {"./SKILL.md": b"a"}, tar_entry("./", tarfile.DIRTYPE), tar_entry("d", tarfile.DIRTYPE)
    )
    assert unpack(archive) == {"SKILL.md": b"a"}


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a path upward in a zip": (lambda: zipped({"../x": b""}), "unsafe-path"),
    "a path upward in a tar": (lambda: tarred({"a/../../x": b""}), "unsafe-path"),
    "a folder upward": (lambda: tarred({}, tar_entry("../d", tarfile.DIRTYPE)), "unsafe-path"),
    "an absolute path": (lambda: tarred({"/etc/x": b""}), "unsafe-path"),
    "a drive": (lambda: zipped({"C:/x": b""}), "unsafe-path"),
    "a backslash": (lambda: tarred({"a\\..\\x": b""}), "unsafe-path"),
    "a control character": (lambda: tarred({"a\x1b[2Jb": b""}), "unsafe-path"),
    "a path into .git": (lambda: zipped({"a/.GIT/hooks/x": b""}), "unsafe-path"),
    "a hidden .git": (lambda: zipped({"a/.g\u200cit/config": b""}), "unsafe-path"),
    "a name that ends with a dot": (lambda: zipped({"a./x": b""}), "unsafe-path"),
    "a very long name": (lambda: tarred({"x" * 300: b""}), "unsafe-path"),
    "a symbolic link": (lambda: tarred({}, tar_entry("l", tarfile.SYMTYPE, "/etc")), "unsafe-path"),
    "a hard link": (lambda: tarred({}, tar_entry("l", tarfile.LNKTYPE, "SKILL.md")), "unsafe-path"),
    "a device": (lambda: tarred({}, tar_entry("d", tarfile.CHRTYPE)), "unsafe-path"),
    "a pipe": (lambda: tarred({}, tar_entry("p", tarfile.FIFOTYPE)), "unsafe-path"),
    "a link in a zip": (lambda: zip_entry("l", stat.S_IFLNK | 0o777), "unsafe-path"),
    "a device in a zip": (lambda: zip_entry("d", stat.S_IFBLK | 0o666), "unsafe-path"),
    "names that differ in case": (lambda: zipped({"A": b"", "a": b""}), "unsafe-path"),
    "names that differ in form": (lambda: zipped({"\u00e9": b"", "e\u0301": b""}), "unsafe-path"),
    "folders that differ in case": (lambda: zipped({"A/x": b"", "a/y": b""}), "unsafe-path"),
    "a file that is a folder": (lambda: zipped({"a": b"", "a/b": b""}), "unsafe-path"),
    "a file twice": (lambda: tarred({"a": b""}, tar_entry("a")), "unsafe-path"),
    "a bomb in a zip": (lambda: zipped({"a": b"\0" * (MAX_BYTES + 1)}), "too-large"),
    "a bomb in a tar": (lambda: tarred({"a": b"\0" * (MAX_BYTES + 1)}), "too-large"),
    "a bomb of many": (
        lambda: zipped({str(n): b"\0" * (MAX_BYTES // 4) for n in range(5)}), "too-large"
    ),
    "a bomb that says it is small": (lying, "bad-archive"),
    "a file with holes": (sparse, "unsafe-path"),
    "too many files": (lambda: zipped({str(n): b"" for n in range(MAX_FILES + 1)}), "too-large"),
    "too many folders": (
        lambda: zipped({f"{n}/": b"" for n in range(2 * MAX_FILES + 1)}), "too-large"
    ),
    "an encrypted zip": (encrypted, "bad-archive"),
    "half a zip": (lambda: zipped(FILES)[:-30], "bad-archive"),
    "half a tar": (lambda: tarred(FILES)[:-30], "bad-archive"),
    "no archive": (lambda: b"<html>", "bad-archive"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused(case: str) -> None:
    archive, code = HOSTILE[case]
    with pytest.raises(BadInputError) as caught:
        unpack(archive())
    assert caught.value.code == code, caught.value.message
