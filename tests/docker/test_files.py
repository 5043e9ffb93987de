"""Files of a real container: over the relay by a script, and by plain HTTP."""

import asyncio
import hashlib
import os
from pathlib import Path
from urllib.parse import quote_from_bytes

import httpx
import pytest

from tests.agents.relay.file_client import FileClient, Refused
from tests.docker.conftest import eventually
from tests.docker.test_streams import Way, relay_port, way

__all__ = ["relay_port", "way"]
pytestmark = pytest.mark.docker

MB = 2**20
ODD = ["a name", "数据 集.txt", 'it\'s "quoted" $HOME `id` \\n', "two\nlines\n", "-rf", "*", "\udcff\udcfe"]


def test_a_large_file_goes_in_with_a_cut_in_the_middle_and_comes_back_equal(way: Way) -> None:
    content = os.urandom(24 * MB)
    wanted = hashlib.sha256(content).hexdigest()

    async def story() -> None:
        async with way.stream("files") as ws:
            await FileClient(ws).write("/data/in/model.bin", content, cut_at=10 * MB, make_folders=True, key="k")
        async with way.stream("files") as ws:
            client = FileClient(ws)
            await client.say(do="write", path="/data/in/model.bin", size=len(content), key="k")
            assert (await client.word())["offset"] >= 10 * MB
        async with way.stream("files") as ws:
            assert await FileClient(ws).write("/data/in/model.bin", content, key="k") == wanted

    asyncio.run(asyncio.wait_for(story(), 120))
    assert way.ssh("sha256sum </data/in/model.bin; ls -A /data/in").split() == [wanted, "-", "model.bin"]

    url = f"{way.url.replace('ws', 'http', 1)}/relay/v1/download"
    ticket = {"ticket": way.ticket("read", path="/data/in/model.bin", once=False)}
    whole = httpx.get(url, params=ticket, timeout=60)
    assert hashlib.sha256(whole.content).hexdigest() == wanted
    part = httpx.get(
        url, params=ticket, headers={"Range": f"bytes={20 * MB}-", "If-Range": whole.headers["ETag"]}, timeout=60
    )
    assert (part.status_code, part.content) == (206, content[20 * MB :])


def test_any_name_is_kept_and_nothing_but_the_container_is_reached(way: Way) -> None:
    async def story() -> None:
        async with way.stream("files") as ws:
            client = FileClient(ws)
            await client.ask("make_folder", path="/root/odd")
            for name in ODD:
                await client.write(f"/root/odd/{name}", name.encode("utf-8", "surrogateescape"))
            assert set(await client.list("/root/odd")) == set(ODD)
            for name in ODD:
                assert await client.read(f"/root/odd/{name}") == os.fsencode(name)
            inside = (await client.read("/../../../../etc/hostname")).decode()
            assert inside == way.ssh("cat /etc/hostname") != Path("/etc/hostname").read_text()
            await client.ask("move", path="/root/odd/-rf", to="/root/odd/-- rf")
            await client.ask("remove", path="/root/odd/two\nlines\n")
            assert [
                await client.refusal("write", path="/sys/x", size=1),
                await client.refusal("make_folder", path="/sys/x"),
            ] == [
                "read_only",
                "read_only",
            ]
            assert await client.refusal("remove", path="/data") == "mounted"

    asyncio.run(asyncio.wait_for(story(), 60))
    left = way.ssh("cd /root/odd && find . -type f -print0 | sort -z | tr '\\0\\n' '|?' | tr -d '\\200-\\377'")
    assert left.count("|") == len(ODD) - 1
    assert "./-- rf" in left


FILL = (
    "fallocate -l $(df --output=avail -B1 /data | tail -n 1) /data/filler; "
    "head -c 200M /dev/zero >/data/rest 2>/dev/null || true"
)


def test_a_disk_that_fills_up_meanwhile_is_told_and_given_free(way: Way) -> None:
    async def story() -> None:
        async with way.stream("files") as ws:
            client = FileClient(ws)
            assert await client.refusal("write", path="/data/file", size=2**40) == "no_room"
            await client.say(do="write", path="/data/file", size=8 * MB)
            assert (await client.word())["offset"] == 0
            await client.ws.send(b"x" * MB)
            assert (await client.word())["got"] == MB
            way.ssh(FILL)
            with pytest.raises(Refused) as refused:
                for _ in range(7):
                    await client.ws.send(b"x" * MB)
                await client.say(eof=True)
                while "ok" not in await client.word():
                    continue
            assert refused.value.code == "disk_full"
            left = await client.list("/data")
            assert not [name for name in left if name.endswith(".berth-part")]
            await client.ask("remove", paths=["/data/filler", "/data/rest"])

    asyncio.run(asyncio.wait_for(story(), 60))


def test_who_leaves_in_the_middle_leaves_no_program_behind(way: Way) -> None:
    way.ssh("truncate -s 1T /root/huge")

    async def story() -> None:
        async with way.stream("files") as ws:
            client = FileClient(ws)
            await client.say(do="read", path="/root/huge")
            assert (await client.word())["size"] == 2**40
            assert way.ssh("pgrep -c -x cat || true").strip() == "1"
            ws.transport.abort()

    asyncio.run(asyncio.wait_for(story(), 60))
    eventually(lambda: way.ssh("pgrep -c -x cat || true").strip() == "0", "the program has ended")
    ticket = way.ticket("read", path=quote_from_bytes(b"/root"), once=False)
    with httpx.stream("GET", f"{way.url.replace('ws', 'http', 1)}/relay/v1/download?ticket={ticket}", timeout=30) as reply:
        assert reply.headers["content-type"] == "application/x-tar"
        next(reply.iter_raw())
    eventually(lambda: way.ssh("pgrep -c -x tar || true").strip() == "0", "the program has ended")
