"""A disk and a bucket of the renter's own: copied there and back, by schedule, and before a deletion."""

import os

import pytest
from playwright.sync_api import expect

from tests.docker.browser_desk import PATIENCE_MS, Desk, Engine, rent
from tests.docker.test_object_storage import contents
from tests.storage.object_store import BUCKET, REGION, Key, ObjectStore

pytestmark = pytest.mark.docker

# The day on which its data is deleted is now: what the sweeps do then, whether or not they have come by already.
DAY_OF_DELETION = """
from common import clock
from instances.models import Instance
from instances.retention.archive import start_due_archives
from instances.enforcement.sweeps import purge_expired
now = clock.now()
Instance.objects.filter(pk="{id}").update(release_at=now)
purge_expired(now=now)
start_due_archives(now=now)
"""
DELETION_AGAIN = """
from common import clock
from instances.enforcement.sweeps import purge_expired
purge_expired(now=clock.now())
"""


def test_there_and_back_by_schedule_and_before_a_deletion(desk: Desk, here: Engine, store: ObjectStore) -> None:
    page = desk.page
    keeper = rent(desk, "one", "keeper", image="tiny")
    disk = here.state / "mounts" / keeper
    (disk / "work" / "sub").mkdir(parents=True)
    (disk / "work" / "big").write_bytes(os.urandom(3_000_000))
    (disk / "work" / "sub" / "模型 1.bin").write_bytes(b"weights")

    # A connection is tried when it is saved: a wrong key is refused in words.
    page.goto("/object-storage")
    desk.says("No buckets connected yet")
    desk.look("no-bucket")
    page.get_by_role("link", name="Connect a bucket").first.click()
    connect(desk, store, Key(store.key.key_id, "not-the-secret"))
    desk.says("The object storage rejected this access key.")
    desk.look("wrong-key")
    connect(desk, store, store.key)
    page.wait_for_url("**/object-storage")
    desk.toast("“backups” connected")
    desk.look("connected")

    # Up, while it runs: the page follows by itself.
    store.hold(f"PUT /{BUCKET}/berth/mine/big")
    ask_for_sync(desk, direction="up", path="work", folder="mine")
    desk.toast("Sync started")
    run = page.locator("#syncs article").first
    expect(run).to_contain_text("of 2 files", timeout=PATIENCE_MS)
    store.until_held()
    desk.look("copying")
    store.hold("")
    expect(run.locator(".state")).to_have_text("Done", timeout=PATIENCE_MS)
    expect(run).to_contain_text("2 files copied", timeout=PATIENCE_MS)
    assert store.files("berth/") == {"berth/mine/big": 3_000_000, "berth/mine/sub/模型 1.bin": 7}

    # Down again, into another folder.
    ask_for_sync(desk, direction="down", path="back", folder="mine")
    expect(page.locator("#syncs article")).to_have_count(2, timeout=PATIENCE_MS)
    expect(run.locator(".state")).to_have_text("Done", timeout=PATIENCE_MS)
    assert contents(disk / "back") == contents(disk / "work")
    desk.look("copied")

    # A schedule, made and removed.
    ask_for_sync(desk, direction="up", path="work", folder="nightly", repeat="days")
    plans = page.locator("#syncs section", has_text="Scheduled")
    expect(plans).to_contain_text("daily 03:00 (Asia/Shanghai)", timeout=PATIENCE_MS)
    desk.look("scheduled-sync")
    plans.get_by_role("button", name="Delete").click()
    desk.confirm()
    expect(plans).to_have_count(0, timeout=PATIENCE_MS)

    # Before its data is deleted, it is archived: the disk stands until that is done.
    desk.open(keeper)
    page.get_by_text("Deleted without an archive when retention ends").click()
    page.get_by_role("combobox", name="Archive before deletion").select_option("backups")
    page.locator("form[action$='/archive'] button").click()
    desk.says("Archived to backups before deletion")
    desk.act("stop")
    desk.is_now("Stopped")
    desk.says("/data is then archived to backups first.")
    desk.look("to-be-archived")
    kept = contents(disk)
    store.hold(f"PUT /{BUCKET}/berth/archives/")
    desk.stack.manage("shell", "-c", DAY_OF_DELETION.format(id=keeper))
    store.until_held()
    desk.says("Archiving")
    desk.stack.manage("shell", "-c", DELETION_AGAIN)
    desk.is_now("Stopped")
    desk.says("Retention has ended: the data is archived to backups first")
    assert here.traces(keeper)
    desk.look("archiving")
    store.hold("")
    desk.says("Data disk archived")
    desk.stack.manage("shell", "-c", DELETION_AGAIN)
    desk.is_now("Released")
    desk.says("Released: nothing is left on the host")
    assert here.traces(keeper) == []
    archived = {name.split("/", 4)[-1]: size for name, size in store.files("berth/archives/").items()}
    assert archived == {name: len(body) for name, body in kept.items()}
    desk.look("archived")
    page.goto("/object-storage")
    expect(run).to_contain_text("archive", timeout=PATIENCE_MS, ignore_case=True)
    page.get_by_role("button", name="Remove backups").click()
    desk.confirm()
    desk.toast("Connection deleted. Files in the bucket are kept.")
    desk.stack.manage("verify_ledger")


def connect(desk: Desk, store: ObjectStore, key: Key) -> None:
    form = {"name": "backups", "endpoint": store.endpoint, "region": REGION, "bucket": BUCKET, "root_folder": "berth"}
    for name, text in {**form, "key_id": key.key_id, "secret": key.secret}.items():
        desk.page.fill(f"#connection-{name}", text)
    desk.look("connect")
    desk.page.get_by_role("button", name="Test and save").click()


def ask_for_sync(desk: Desk, *, direction: str, path: str, folder: str, repeat: str = "once") -> None:
    page = desk.page
    page.get_by_role("link", name="New sync").first.click()
    page.locator("#sync-direction").select_option(direction)
    page.fill("#sync-path", path)
    page.fill("#sync-folder", folder)
    page.locator("#sync-repeat").select_option(repeat)
    desk.look("new-sync")
    page.get_by_role("button", name="Start sync").click()
    page.wait_for_url("**/object-storage")
