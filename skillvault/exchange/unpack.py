"""Unpack zip and tar archives of skills into memory. Writes nothing.

The sizes that an archive states are not trusted: bytes are counted while they are unpacked.
"""

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from skillvault.exchange.source_tree import (
    MAX_BYTES,
    MAX_FILES,
    check_distinct,
    check_path,
    too_large_error,
)
from skillvault.model.change import Program
from skillvault.model.errors import BadInputError

_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_CHUNK = 64 * 1024
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RuntimeError,
            NotImplementedError, ValueError)  # fmt: skip


def unpack(archive: bytes) -> dict[str, bytes]:
    """Unpack a zip, tar or tar.gz: path -> bytes.

    BadInputError if it is damaged or too large, or holds anything but files and folders.
    """
    members = _read_zip if archive.startswith(_ZIP) else _read_tar
    files: dict[str, bytes] = {}
    try:
        for path, data in members(archive):
            check_path(path)
            if path in files:
                raise BadInputError(f"{path!r}: stands in the archive twice", code="unsafe-path")
            files[path] = data
            if len(files) > MAX_FILES:
                raise _too_many_files()
    except _DAMAGED as error:
        raise BadInputError(
            f"the archive is damaged or of another kind ({error}); a zip or tar.gz is expected",
            code="bad-archive",
        ) from None
    check_distinct(files)
    return files


def _read_zip(archive: bytes) -> Iterator[tuple[str, bytes]]:
    free_bytes = MAX_BYTES
    with zipfile.ZipFile(io.BytesIO(archive)) as source:
        entries = source.infolist()
        if len(entries) > 2 * MAX_FILES:  # folders have entries too
            raise _too_many_files()
        for entry in entries:
            mode = entry.external_attr >> 16  # 0 in an archive that knows no modes
            if entry.is_dir():
                check_path(entry.filename.rstrip("/"))
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise _member_error(entry.filename)
            with source.open(entry) as file:
                data = _read_bounded(file, free_bytes)
            free_bytes -= len(data)
            yield entry.filename, _mark_program(data, mode)


def _read_tar(archive: bytes) -> Iterator[tuple[str, bytes]]:
    is_gzip = archive.startswith(_GZIP)
    raw = gzip.GzipFile(fileobj=io.BytesIO(archive)) if is_gzip else io.BytesIO(archive)
    stream = io.BytesIO(_read_bounded(raw, 2 * MAX_BYTES))  # headers and padding count too
    free_bytes, count = MAX_BYTES, 0
    with tarfile.open(fileobj=stream, mode="r:") as source:
        for entry in source:
            count += 1
            if count > 2 * MAX_FILES:
                raise _too_many_files()
            name = entry.name.removeprefix("./")
            if entry.isdir():
                if name not in ("", "."):
                    check_path(name)
                continue
            if not entry.isreg() or entry.issparse():
                raise _member_error(entry.name)
            file = source.extractfile(entry)
            data = _read_bounded(file, free_bytes) if file else b""
            free_bytes -= len(data)
            yield name, _mark_program(data, entry.mode)


def _mark_program(data: bytes, mode: int) -> bytes:
    """Mark the content of a member as a program if its owner may run it."""
    return Program(data) if mode & stat.S_IXUSR else data


def _read_bounded(file: IO[bytes] | gzip.GzipFile | io.BytesIO, limit: int) -> bytes:
    """Read a file; BadInputError as soon as it exceeds `limit` bytes."""
    chunks: list[bytes] = []
    size = 0
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise too_large_error()
        chunks.append(chunk)
    return b"".join(chunks)


def _too_many_files() -> BadInputError:
    message = f"more than {MAX_FILES} files in one archive; a skill has fewer, ask its author"
    return BadInputError(message, code="too-large")


def _member_error(path: str) -> BadInputError:
    return BadInputError(
        f"{path!r}: a link, a device or a sparse file; an archive of a skill holds plain files",
        code="unsafe-path",
    )
