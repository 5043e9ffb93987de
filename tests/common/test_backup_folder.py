"""What a backup's archive of the registry may hold."""

import io
import tarfile
from pathlib import Path

import pytest

from common.backup_folder import finish_unpacking, pack, takes_files, unpack


def _archive(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def _member(name: str, *, kind: bytes = tarfile.REGTYPE, leads_to: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, leads_to, 1 if kind == tarfile.REGTYPE else 0
    return member


def test_a_folder_comes_out_as_it_was_packed(tmp_path: Path) -> None:
    (tmp_path / "made" / "docker").mkdir(parents=True)
    (tmp_path / "made" / "docker" / "layer").write_bytes(b"content")
    pack(tmp_path / "made", tmp_path / "packed.tar")
    unpack(tmp_path / "packed.tar", tmp_path / "out")
    assert takes_files(tmp_path / "out"), "the restore may yet be broken off"
    finish_unpacking(tmp_path / "out")
    assert not takes_files(tmp_path / "out")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in sorted((tmp_path / "out").rglob("*"))] == [
        "docker",
        "docker/layer",
    ]
    assert (tmp_path / "out" / "docker" / "layer").read_bytes() == b"content"


@pytest.mark.parametrize(
    "wrong",
    [
        _member("../outside"),
        _member("in/../../outside"),
        _member("/outside"),
        _member("link", kind=tarfile.SYMTYPE, leads_to="/etc"),
        _member("link", kind=tarfile.LNKTYPE, leads_to="../outside"),
        _member("device", kind=tarfile.CHRTYPE),
        _member("pipe", kind=tarfile.FIFOTYPE),
    ],
    ids=lambda member: f"{member.name}-{member.type.decode()}",
)
def test_what_leads_out_of_the_folder_is_refused_before_anything_is_written(tmp_path: Path, wrong: tarfile.TarInfo) -> None:
    archive = _archive(tmp_path / "packed.tar", _member("fine"), wrong)
    with pytest.raises(tarfile.ReadError, match="does not belong into a backup"):
        unpack(archive, tmp_path / "out")
    assert takes_files(tmp_path / "out") and not (tmp_path / "out").exists()
    assert not (tmp_path / "outside").exists()
