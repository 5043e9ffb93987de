"""Files over a stream: client, relay, agent, and the scripts at work in a folder of this machine in place of a container."""

import asyncio
import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from websockets.asyncio.client import connect

from .conftest import Relay, wait_until
from .file_client import FileClient, Refused
from .streaming import StreamHost

ODD = ["a name", "数据 集.txt", 'it\'s "quoted" $HOME `id` \\n', "two\nlines\n", "-rf", ".hidden", "*", "\udcff\udcfe"]
Story = Callable[[FileClient], Coroutine[Any, Any, None]]


def files(relay: Relay, host: StreamHost, kind: str = "files", **more: Any) -> Any:
    ticket = host.ticket(host.grant(kind, **more))
    url = relay.url.replace("http", "ws", 1) + f"/relay/v1/streams?ticket={ticket}"
    return connect(url, compression=None, max_size=None)


@pytest.fixture
def tell(relay: Relay, host: StreamHost) -> Callable[..., None]:
    def run(story: Story, **more: Any) -> None:
        async def talk() -> None:
            async with files(relay, host, **more) as ws:
                await story(FileClient(ws))

        asyncio.run(asyncio.wait_for(talk(), 60))

    return run


def test_any_name_is_listed_written_read_moved_and_removed(tell: Callable[..., None], tmp_path: Path) -> None:
    root = str(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "broken").symlink_to("nowhere")

    async def story(client: FileClient) -> None:
        for number, name in enumerate(ODD):
            content = os.urandom(1000 + number)
            result = await client.write(f"{root}/{name}", content, early=bool(number % 2))
            assert result == hashlib.sha256(content).hexdigest()
            assert (tmp_path / name).read_bytes() == content
            assert await client.read(f"{root}/{name}") == content
            assert (await client.ask("sum", path=f"{root}/{name}"))["sha256"] == result
        found = await client.list(root)
        assert {name: (item["kind"], item.get("leads_to")) for name, item in found.items()} == {
            **dict.fromkeys(ODD, ("file", None)),
            "folder": ("folder", None),
            "link": ("link", "folder"),
            "broken": ("link", None),
        }
        assert found["-rf"]["size"] == 1004
        for name in ODD:
            await client.ask("move", path=f"{root}/{name}", to=f"{root}/folder/{name} moved")
        assert set(await client.list(f"{root}/link")) == {f"{name} moved" for name in ODD}
        await client.ask("remove", paths=[f"{root}/folder/{name} moved" for name in ODD])
        await client.ask("make_folder", path=f"{root}/folder/新 one")
        assert {path.name for path in (tmp_path / "folder").iterdir()} == {"新 one"}
        await client.ask("remove", path=f"{root}/folder")
        assert not (tmp_path / "folder").exists()

    tell(story)


def test_an_upload_that_broke_off_goes_on_where_it_was(
    relay: Relay, host: StreamHost, tell: Callable[..., None], tmp_path: Path
) -> None:
    content = os.urandom(3 * 2**20)
    path, key = f"{tmp_path}/deep/er/model.bin", "model.bin-1"

    async def cut(client: FileClient) -> None:
        await client.write(path, content, cut_at=2 * 2**20, key=key, make_folders=True)

    tell(cut)
    [part] = (tmp_path / "deep/er").iterdir()
    assert part.name.endswith(".berth-part")
    wait_until(lambda: part.stat().st_size >= 2**20)

    async def go_on(client: FileClient) -> None:
        found = (await client.list(f"{tmp_path}/deep/er"))[part.name]
        assert found["unfinished"]
        await client.say(do="write", path=path, size=len(content), key=key)
        assert (await client.word())["offset"] >= 2**20
        async with files(relay, host) as ws:  # the same file from elsewhere: it takes over
            result = await FileClient(ws).write(path, content, key=key, early=False)
        assert result == hashlib.sha256(content).hexdigest()
        with pytest.raises(Refused) as refused:
            await client.word()
        assert refused.value.code == "taken_over"

    tell(go_on)
    assert Path(path).read_bytes() == content
    assert [each.name for each in (tmp_path / "deep/er").iterdir()] == ["model.bin"]


def test_what_is_refused_says_why_and_the_stream_goes_on(tell: Callable[..., None], tmp_path: Path) -> None:
    root = str(tmp_path)
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o755)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    async def story(client: FileClient) -> None:
        requests = [
            await client.refusal("list", path=f"{root}/none"),
            await client.refusal("list", path=f"{root}/file"),
            await client.refusal("list", path="relative"),
            await client.refusal("list", path=f"{root}/\0"),
            await client.refusal("read", path=f"{root}/pipe"),
            await client.refusal("read", path="/proc"),
            await client.refusal("make_folder", path=f"{root}/file"),
            await client.refusal("make_folder", path=f"{root}/{'x' * 256}"),
            await client.refusal("move", path=f"{root}/none", to=f"{root}/new"),
            await client.refusal("move", path=f"{root}/file", to=f"{root}/folder"),
            await client.refusal("remove", path="/"),
            await client.refusal("remove", path="/proc"),
            await client.refusal("remove", path=f"{root}/."),
            await client.refusal("write", path=f"{root}/file", size=1),
            await client.refusal("write", path=f"{root}/folder", size=1, replace=True),
            await client.refusal("write", path=f"{root}/big", size=2**52),
            await client.refusal("write", path=f"{root}/x", size=-1),
            await client.refusal("dance"),
        ]
        assert requests == [
            *("missing", "not_folder", "bad_path", "bad_path", "not_file", "not_kept", "exists", "name_too_long", "missing"),
            *(
                "exists",
                "bad_path",
                "mounted",
                "bad_path",
                "exists",
                "is_folder",
                "no_room",
                "bad_request",
                "unknown_request",
            ),
        ]
        for words, code in (
            ({"eof": True}, "short"),
            ({"eof": True, "sha256": "0" * 64}, "short"),
            ({"cancel": True}, "cancelled"),
        ):
            await client.say(do="write", path=f"{root}/{code}-{len(words)}", size=10)
            await client.word()
            await client.ws.send(b"12345")
            await client.say(**words)
            with pytest.raises(Refused) as refused:
                await client.word()
            assert refused.value.code == code
        await client.say(do="write", path=f"{root}/part", size=10, sha256="0" * 64)
        await client.word()
        await client.ws.send(b"1234567890")
        await client.say(eof=True)
        with pytest.raises(Refused) as refused:
            while await client.word():
                continue
        assert refused.value.code == "checksum_differs"
        await client.write(f"{root}/file", b"new", replace=True)
        await client.write(f"{root}/empty", b"")

    tell(story)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o755
    kept = sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".short-"))
    assert kept == ["empty", "file", "folder", "pipe"]


def test_a_grant_to_read_leads_to_one_path_alone(tell: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "数据\udcff").write_bytes(b"0123456789")
    (tmp_path / "other").write_bytes(b"secret")
    path = quote_from_bytes(os.fsencode(tmp_path / "数据\udcff"))

    async def story(client: FileClient) -> None:
        assert await client.read(f"{tmp_path}/other") == b"0123456789"
        assert await client.read(offset=4, most=3) == b"456"
        assert await client.refusal("read", offset=11) == "past_end"
        result = (await client.ask("sum", path=f"{tmp_path}/other"))["sha256"]
        assert result == hashlib.sha256(b"0123456789").hexdigest()
        assert await client.refusal("remove", path=f"{tmp_path}/other") == "unknown_request"
        assert await client.refusal("list", path="/") == "unknown_request"

    tell(story, kind="read", path=path)


def test_a_folder_comes_as_a_tar_and_a_reader_who_leaves_ends_the_program(
    relay: Relay, host: StreamHost, tell: Callable[..., None], tmp_path: Path
) -> None:
    folder = tmp_path / "-my folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "数据").write_bytes(b"x" * 100_000)
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(2**32)

    async def story(client: FileClient) -> None:
        with tarfile.open(fileobj=io.BytesIO(await client.read(str(folder)))) as tar:
            assert tar.extractfile("./-my folder/deep/数据").read() == b"x" * 100_000  # type: ignore[union-attr]  # it is there
        await client.say(do="read", path=str(big))
        assert (await client.word())["size"] == 2**32
        assert _readers(big) == 1
        client.ws.transport.abort()

    tell(story)
    wait_until(lambda: _readers(big) == 0)


def _readers(path: Path) -> int:
    """Programs that hold the file open."""
    found = 0
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            found += link.readlink() == path
        except OSError:
            continue
    return found
