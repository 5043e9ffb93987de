"""SFTP for images without a server for it: each request becomes a shell command in the container.

asyncssh's own server reads and writes the machine that it runs on. So every request is handled here; a test checks
that none is left to it.
"""

import posixpath
import re
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import asyncssh
from asyncssh.sftp import SFTPAttrs, SFTPName, SFTPServer, SFTPVFSAttrs

from agents.daemon.ssh.sftp_handles import OpenFile
from agents.daemon.ssh.sftp_listing import ContainerCommandFailed, ShellWorker, quoted

SEVERAL: Final = b"200"  # names of a folder that are handled together
FORMAT: Final = b"'%f %s %u %g %X %Y'"
_ROW: Final = re.compile(rb"\./([^/]+)/([0-9a-f]+ \d+ \d+ \d+ -?\d+ -?\d+)\n")
_KNOWN_ERRORS: Final = (
    ("no such file", asyncssh.SFTPNoSuchFile),
    ("nonexistent", asyncssh.SFTPNoSuchFile),
    ("can't cd", asyncssh.SFTPNoSuchFile),
    ("permission denied", asyncssh.SFTPPermissionDenied),
    ("not permitted", asyncssh.SFTPPermissionDenied),
    ("read-only", asyncssh.SFTPPermissionDenied),
)


class ContainerFiles(SFTPServer):
    """Files of one container."""

    def __init__(self, channel: Any, worker: ShellWorker) -> None:
        super().__init__(channel)
        self._worker = worker

    # -- paths

    def _place(self, path: bytes) -> bytes:
        return path if path.startswith(b"/") else self._worker.home + b"/" + path

    def _quoted(self, path: bytes) -> bytes:
        return quoted(self._place(path))

    def map_path(self, path: bytes) -> bytes:
        return self._place(path)

    def reverse_map_path(self, path: bytes) -> bytes:
        return path

    def format_user(self, uid: int | None) -> str:
        return "" if uid is None else str(uid)

    def format_group(self, gid: int | None) -> str:
        return "" if gid is None else str(gid)

    async def realpath(self, path: bytes) -> bytes:
        place = self._place(path or b".")
        try:
            return (await self._worker.run(b"readlink -f " + quoted(place))).removesuffix(b"\n")
        except ContainerCommandFailed:  # it does not exist yet, and may be about to be made
            return posixpath.normpath(place)

    async def _run(self, script: bytes) -> bytes:
        with _convert_errors():
            return await self._worker.run(script)

    # -- queries

    async def stat(self, path: bytes) -> SFTPAttrs:
        return attributes(await self._run(b"stat -L -c %s %s" % (FORMAT, self._quoted(path))))

    async def lstat(self, path: bytes) -> SFTPAttrs:
        return attributes(await self._run(b"stat -c %s %s" % (FORMAT, self._quoted(path))))

    async def fstat(self, file_obj: object) -> SFTPAttrs:
        return await self.stat(await self._flush(file_obj))

    async def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
        look = b"stat -c '%n/%f %s %u %g %X %Y' \"$@\""
        script = b"""cd %s || exit 1
            set --
            for f in * .[!.]* ..?*; do
                if [ -e "./$f" ] || [ -L "./$f" ]; then set -- "$@" "./$f"; fi
                if [ $# -ge %s ]; then %s; set --; fi
            done
            if [ $# -gt 0 ]; then %s; fi
            true"""
        listed = await self._run(script % (self._quoted(path), SEVERAL, look, look))
        for name in (b".", b".."):
            yield SFTPName(name, attrs=SFTPAttrs(permissions=stat.S_IFDIR | 0o755))
        for name, row in _ROW.findall(listed):
            yield SFTPName(name, attrs=attributes(row))

    async def readlink(self, path: bytes) -> bytes:
        return (await self._run(b"readlink " + self._quoted(path))).removesuffix(b"\n")

    async def statvfs(self, path: bytes) -> SFTPVFSAttrs:
        row = await self._run(b"stat -f -c '%%S %%b %%f %%a %%c %%d %%l' %s" % self._quoted(path))
        size, blocks, free, available, files, files_free, longest = (int(word) for word in row.split())
        return SFTPVFSAttrs(
            bsize=size,
            frsize=size,
            blocks=blocks,
            bfree=free,
            bavail=available,
            files=files,
            ffree=files_free,
            favail=files_free,
            fsid=0,
            flags=0,
            namemax=longest,
        )

    async def fstatvfs(self, file_obj: object) -> SFTPVFSAttrs:
        return await self.statvfs(open_file_of(file_obj).path)

    # -- changes

    async def setstat(self, path: bytes, attrs: SFTPAttrs) -> None:
        where, wanted = self._quoted(path), []
        if attrs.size is not None:
            wanted.append(b"truncate -s %d %s" % (attrs.size, where))
        if attrs.uid is not None and attrs.gid is not None:
            wanted.append(b"chown %d:%d %s" % (attrs.uid, attrs.gid, where))
        if attrs.permissions is not None:
            wanted.append(b"chmod %o %s" % (stat.S_IMODE(attrs.permissions), where))
        if attrs.atime is not None and attrs.mtime is not None:
            wanted.append(b"touch -c -a -d @%d %s && touch -c -m -d @%d %s" % (attrs.atime, where, attrs.mtime, where))
        if wanted:
            await self._run(b" && ".join(wanted))

    async def lsetstat(self, path: bytes, attrs: SFTPAttrs) -> None:
        found = await self.lstat(path)
        if stat.S_ISLNK(found.permissions or 0):
            return  # a link's own mode and times do not matter
        await self.setstat(path, attrs)

    async def fsetstat(self, file_obj: object, attrs: SFTPAttrs) -> None:
        await self.setstat(await self._flush(file_obj), attrs)

    async def remove(self, path: bytes) -> None:
        where = self._quoted(path)
        await self._run(b"[ -e %s ] || [ -L %s ] || { echo No such file; false; } && rm -f %s" % (where, where, where))

    async def mkdir(self, path: bytes, attrs: SFTPAttrs) -> None:
        mode = stat.S_IMODE(attrs.permissions) if attrs.permissions is not None else 0o755
        await self._run(b"mkdir -m %o %s" % (mode, self._quoted(path)))

    async def rmdir(self, path: bytes) -> None:
        await self._run(b"rmdir " + self._quoted(path))

    async def rename(self, oldpath: bytes, newpath: bytes) -> None:
        old, new = self._quoted(oldpath), self._quoted(newpath)
        there = b"if [ -e %s ] || [ -L %s ]; then echo It exists already; false; else mv %s %s; fi"
        await self._run(there % (new, new, old, new))

    async def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        old, new = self._quoted(oldpath), self._quoted(newpath)
        # `mv` would move it into an existing folder of that name
        there = b"if [ -d %s ] && [ ! -L %s ]; then rmdir %s; fi && mv -f %s %s"
        await self._run(there % (new, new, new, old, new))

    async def symlink(self, oldpath: bytes, newpath: bytes) -> None:
        await self._run(b"ln -s -- %s %s" % (quoted(oldpath), self._quoted(newpath)))

    async def link(self, oldpath: bytes, newpath: bytes) -> None:
        await self._run(b"ln %s %s" % (self._quoted(oldpath), self._quoted(newpath)))

    # -- content

    async def open(self, path: bytes, pflags: int, attrs: SFTPAttrs) -> OpenFile:
        place = self._place(path)
        where = quoted(place)
        if not pflags & asyncssh.FXF_WRITE:
            # a folder can be opened too, but not read
            await self._run(b"if [ -d %s ]; then echo Is a directory; false; else true <%s; fi" % (where, where))
            return OpenFile(self._worker, place)
        await self._run(self._opening(where, pflags, attrs))
        return OpenFile(self._worker, place, append=bool(pflags & asyncssh.FXF_APPEND))

    @staticmethod
    def _opening(where: bytes, pflags: int, attrs: SFTPAttrs) -> bytes:
        mode = stat.S_IMODE(attrs.permissions) if attrs.permissions is not None else 0o644
        there = b"[ -e %s ] || [ -L %s ]" % (where, where)
        steps = []
        if pflags & asyncssh.FXF_CREAT and pflags & asyncssh.FXF_EXCL:
            steps.append(b"if %s; then echo It exists already; exit 1; fi" % there)
        if not pflags & asyncssh.FXF_CREAT:
            steps.append(b"[ -e %s ] || { echo No such file; exit 1; }" % where)
        steps.append(b"new=; [ -e %s ] || new=1" % where)
        steps.append((b"true >%s" if pflags & asyncssh.FXF_TRUNC else b"true >>%s") % where + b" || exit 1")
        steps.append(b'if [ -n "$new" ]; then chmod %o %s; fi' % (mode, where))
        return b"\n".join(steps)

    async def open56(self, path: bytes, desired_access: int, flags: int, attrs: SFTPAttrs) -> object:
        raise asyncssh.SFTPOpUnsupported("Only SFTP version 3 is supported.")

    async def read(self, file_obj: object, offset: int, size: int) -> bytes:
        with _convert_errors():
            return await open_file_of(file_obj).read(offset, size)

    async def write(self, file_obj: object, offset: int, data: bytes) -> int:
        with _convert_errors():
            await open_file_of(file_obj).write(offset, data)
        return len(data)

    async def close(self, file_obj: object) -> None:
        with _convert_errors():
            await open_file_of(file_obj).close()

    async def fsync(self, file_obj: object) -> None:
        await self._flush(file_obj)
        await self._run(b"sync")

    @staticmethod
    async def _flush(file_obj: object) -> bytes:
        """Flush an open file and return its path."""
        found = open_file_of(file_obj)
        with _convert_errors():
            await found.settle()
        return found.path

    async def lock(self, file_obj: object, offset: int, length: int, flags: int) -> None:
        raise asyncssh.SFTPOpUnsupported("File locking is not supported.")

    async def unlock(self, file_obj: object, offset: int, length: int) -> None:
        raise asyncssh.SFTPOpUnsupported("File locking is not supported.")

    async def exit(self) -> None:
        return None


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Convert the container's errors into SFTP's."""
    try:
        yield
    except ContainerCommandFailed as error:
        raise as_sftp_error(error) from error


def open_file_of(file_obj: object) -> OpenFile:
    if not isinstance(file_obj, OpenFile):
        raise asyncssh.SFTPFailure("Not an open file.")
    return file_obj


def attributes(row: bytes) -> SFTPAttrs:
    """Parse a line in FORMAT."""
    mode, size, uid, gid, read_at, changed_at = row.split()
    return SFTPAttrs(
        permissions=int(mode, 16), size=int(size), uid=int(uid), gid=int(gid), atime=int(read_at), mtime=int(changed_at)
    )


def as_sftp_error(error: ContainerCommandFailed) -> asyncssh.SFTPError:
    """Convert an error of the container into SFTP's."""
    text = str(error)
    for words, kind in _KNOWN_ERRORS:
        if words in text.lower():
            return kind(text)
    return asyncssh.SFTPFailure(text)
