"""What a renter does all day, clicked in a real browser before the whole stack and two real engines."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.docker.browser_desk import PATIENCE_MS, TOO_LATE, Desk, Engine, held, rent
from tests.docker.engine_contents import paths_with
from tests.stack import renting
from tests.waiting import wait_until

pytestmark = pytest.mark.docker


def test_a_day_with_one_instance(desk: Desk, here: Engine, ssh_key: Path) -> None:
    page = desk.page
    page.set_viewport_size({"width": 1440, "height": 900})
    renting.offer_of(desk.stack.client("alice"), "one")

    # Rent: from the market's row to a running instance, without a reload.
    page.goto("/market?data_disk_gb=1")
    page.locator("tr", has_text="one").locator("a.btn-primary").first.click()
    page.wait_for_url("**/rent?*")
    page.get_by_role("radio", name=re.compile("^desk")).check()
    page.get_by_text("Add another key").click()
    page.fill("#new-key", ssh_key.with_suffix(".pub").read_text().strip())
    page.get_by_role("button", name="Add key").click()
    expect(page.locator("#keys input[type=checkbox]")).to_have_count(2, timeout=PATIENCE_MS)
    page.fill("#id_name", "diary")
    expect(page.locator("#bill")).to_contain_text("$3.60", timeout=PATIENCE_MS)
    desk.look("rent")
    page.locator("#confirm:enabled").dblclick()  # a nervous finger
    page.wait_for_url("**/instances/inst_*")
    desk.look("requested")
    desk.is_now("Running")
    diary = desk.instance
    desk.says("Running: all GPUs are visible")
    assert len(here.gpus(diary)) == 1
    assert len(desk.stack.client("alice").get("/api/v1/instances").json()["results"]) == 1, "one order of two clicks"
    desk.look("running")

    # In it by SSH as the page says it, and by the terminal; a program that it starts opens in another tab.
    command = page.locator("#ssh-command").inner_text().split()
    quiet = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
    line = ["ssh", *quiet, "-o", "BatchMode=yes", "-i", str(ssh_key), *command[1:]]
    subprocess.run([*line, "echo mine >/root/kept && echo data >/data/kept"], check=True, timeout=60)
    page.get_by_role("link", name="Terminal").click()
    expect(page.locator("#term-state")).to_have_text("Connected", timeout=PATIENCE_MS)
    serve = "python3 -m http.server 8888 --bind 127.0.0.1 --directory /root"
    page.keyboard.type("mkdir /root/lab && echo '<meta charset=utf-8><h1>笔记本 of diary</h1>' >/root/lab/index.html\n")
    page.keyboard.type(f"(setsid {serve} &)\n")
    expect(page.locator(".xterm-rows")).to_contain_text("Serving HTTP", timeout=PATIENCE_MS)
    desk.look("terminal")
    page.get_by_role("link", name="Back to the instance").click()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="JupyterLab").click()
    expect(opened.value.locator("h1")).to_have_text("笔记本 of diary", timeout=PATIENCE_MS)
    opened.value.close()

    # Stop; without a GPU; stop; with one again.
    desk.act("stop")
    desk.is_now("Stopped")
    desk.says("Stopped; no charges")
    desk.says("are kept for 30 days after the stop")
    assert not here.runs(diary) and len(here.containers(diary)) == 1
    desk.look("stopped")
    desk.act("start_cpu")
    desk.is_now("Running")
    desk.says("Running without a GPU")
    assert here.gpus(diary) == [] and here.running(diary)["HostConfig"]["NanoCpus"] == 500_000_000
    assert here.inside(diary, "cat", "/root/kept", "/data/kept") == "mine\ndata"
    desk.look("without-gpu")
    desk.act("stop")
    desk.is_now("Stopped")

    # Another number of GPUs and a larger disk, then both at once by a start.
    page.get_by_role("link", name="Choose size").click()
    page.locator("#resize-gpus").select_option("2")
    page.fill("#resize-disk", "2")
    expect(page.locator("#resize-price")).to_contain_text("→ $7.20", timeout=PATIENCE_MS)
    desk.look("resize")
    page.locator("#action button[type=submit]").click()
    desk.toast("Resizing")
    desk.says("Number of GPUs changed")
    desk.says("Data disk expanded")
    desk.act("start", sure=False)
    desk.is_now("Running")
    assert len(here.gpus(diary)) == 2
    assert int(here.inside(diary, "df", "--output=size", "-m", "/data").split()[-1]) > 1_800
    with held(desk.stack, "agent-one"):
        desk.act("restart")
        desk.is_now("Restarting")
        desk.says("Restart requested")
        desk.look("restarting")
    desk.is_now("Running")
    assert here.inside(diary, "cat", "/root/kept", "/data/kept") == "mine\ndata"
    with held(desk.stack, "agent-one"):
        desk.act("release")
        desk.is_now("Releasing")
        desk.look("releasing")
    desk.is_now("Released")
    desk.says("Released: nothing is left on the host")
    desk.look("gone")
    wait_until("nothing to be left", lambda: not here.traces(diary))


def test_fresh_roots_saved_images_and_the_lock(desk: Desk, here: Engine) -> None:
    page = desk.page
    painter = rent(desk, "one", "painter", image="desk")
    here.inside(painter, "sh", "-c", "echo mine >/root/kept; echo data >/data/kept")

    # Re-imaged while it stands, and taken back.
    desk.act("stop")
    desk.is_now("Stopped")
    ask_for_fresh_root(desk)
    desk.says("The image changes to fresh at the next start")
    desk.look("fresh-root-to-come")
    page.get_by_role("button", name="Cancel image change").click()
    desk.says("Image change cancelled")
    desk.act("start", sure=False)
    desk.is_now("Running")
    assert here.inside(painter, "cat", "/root/kept") == "mine"

    # While it runs, for good.
    with held(desk.stack, "agent-one"):
        ask_for_fresh_root(desk)
        desk.says("Changing the image to fresh")
        desk.look("fresh-root")
    desk.says("Running from the new system disk")
    desk.is_now("Running")
    assert here.inside(painter, "cat", "/etc/berth-fresh", "/data/kept") == "fresh\ndata"
    assert here.inside(painter, "ls", "/root") == "tf-logs"
    assert len(here.containers(painter)) == 1

    # Saved as an image, which another is rented from: its root, not its disk.
    here.inside(painter, "sh", "-c", "echo painted >/root/picture")
    page.locator("[data-open=save-image]").click()
    page.fill("#image-name", "Picture")
    page.fill("#image-description", "with a picture")
    desk.look("save-image")
    page.get_by_role("button", name="Save image").click()
    page.wait_for_url("**/images")
    desk.toast("Saving “Picture”. It will appear in My images.")
    desk.look("images")
    page.locator("li", has_text="Picture").get_by_role("link", name="Rent with this image").click()
    page.wait_for_url("**/market?image=*")
    page.locator("tr", has_text="one").locator("a.btn-primary").first.click()
    expect(page.get_by_role("radio", name=re.compile("^Picture"))).to_be_checked(timeout=PATIENCE_MS)
    page.locator("#confirm:enabled").click()
    page.wait_for_url("**/instances/inst_*")
    desk.is_now("Running")
    print_of = desk.instance
    assert here.inside(print_of, "cat", "/root/picture", "/etc/berth-fresh") == "painted\nfresh"
    assert here.inside(print_of, "ls", "/data") in ("", "lost+found")
    desk.release()

    # Locked in one tab while a second is about to release it and a third, without scripts, has not heard of it.
    desk.open(painter)
    desk.button("release").click()
    plain = desk.sign_in(scripts=False)
    plain.goto(f"/instances/inst_{painter}")
    other = desk.another_tab(f"/instances/inst_{painter}")
    other.locator("[data-open=schedule]").click()
    other.locator("#schedule [name=locked]").check()
    other.locator("#schedule button[type=submit]").click()
    expect(other.locator("#toasts")).to_contain_text("Saved. The schedule is active.", timeout=PATIENCE_MS)
    expect(other.locator(".page-head")).to_contain_text("protected", timeout=PATIENCE_MS)
    expect(other.locator("main form[action$='/release']")).to_have_count(0, timeout=PATIENCE_MS)
    desk.says("Release protection turned on")
    desk.confirm()
    desk.toast(TOO_LATE)
    desk.look("locked")
    plain.locator("main form[action$='/release'] button").click()
    expect(plain.locator("#toasts")).to_contain_text("The instance is protected.", timeout=PATIENCE_MS)
    expect(plain.locator("main form[action$='/release']")).to_have_count(0, timeout=PATIENCE_MS)
    assert here.runs(painter)
    other.locator("[data-open=schedule]").click()
    other.locator("#schedule [name=locked]").uncheck()
    other.locator("#schedule button[type=submit]").click()
    desk.says("Release protection turned off")
    desk.release()
    page.goto("/images")
    page.locator("li", has_text="Picture").get_by_role("button", name="Delete").click()
    desk.confirm()
    desk.says("No images of your own yet")


def ask_for_fresh_root(desk: Desk) -> None:
    page = desk.page
    page.get_by_role("link", name="Choose image").click()
    page.locator("#action input[value=fresh]").check()
    page.locator("#action [name=understood]").check()
    desk.look("reimage")
    page.locator("#action button[type=submit]").click()
    desk.toast("Changing the image. /data is kept.")


def test_a_volume_outlives_its_instances(desk: Desk, here: Engine) -> None:
    page = desk.page
    page.goto("/volumes")
    desk.says("No volumes yet")
    desk.look("no-volumes")
    page.get_by_role("link", name="New volume", exact=True).click()
    page.fill("#storage-new [name=name]", "shelf")
    on_one = page.locator("#storage-new [name=host] option", has_text="· one ·").get_attribute("value")
    page.locator("#storage-new [name=host]").select_option(on_one)
    page.fill("#storage-new [name=size_gb]", "1")
    desk.look("new-volume")
    page.locator("#storage-new button[type=submit]").click()
    shelf = page.locator("article", has_text="shelf")
    expect(shelf.locator(".state")).to_have_text("Ready", timeout=PATIENCE_MS)
    desk.look("volume")

    # Rented with it; a snapshot while a program has it; then what was written is lost.
    shelf.get_by_role("link", name="Find compatible GPUs").click()
    page.locator("tr", has_text="one").locator("a.btn-primary").first.click()
    page.get_by_role("checkbox", name=re.compile("shelf")).check()
    page.get_by_role("radio", name=re.compile("^desk")).check()
    page.fill("#id_name", "reader")
    desk.look("rent-with-volume")
    page.locator("#confirm:enabled").click()
    page.wait_for_url("**/instances/inst_*")
    desk.is_now("Running")
    reader = desk.instance
    desk.says("/mnt/shelf")
    here.inside(reader, "sh", "-c", "echo first edition >/mnt/shelf/book && sync")
    page.goto("/volumes")
    shelf.get_by_role("link", name="Snapshot").click()
    expect(page.locator("#storage-title")).to_have_text("Create snapshot", timeout=PATIENCE_MS)
    page.fill("#storage-new [name=name]", "edition")
    desk.look("new-snapshot")
    page.locator("#storage-new button[type=submit]").click()
    page.wait_for_url("**/snapshots")
    edition = page.locator("article", has_text="edition")
    expect(edition.locator(".state")).to_have_text("Ready", timeout=PATIENCE_MS)
    desk.look("snapshot")
    here.inside(reader, "sh", "-c", "echo burnt >/mnt/shelf/book")

    # Not while it is in use; then put back, and read by another instance.
    edition.get_by_role("button", name="Restore").click()
    desk.confirm()
    desk.toast("in use")
    desk.look("restore-refused")
    desk.open(reader)
    desk.act("stop")
    desk.is_now("Stopped")
    page.locator("#disks").get_by_role("button", name="Detach").click()
    desk.says("Volume detached")
    page.goto("/snapshots")
    with held(desk.stack, "agent-one"):
        edition.get_by_role("button", name="Restore").click()
        with page.expect_response("**/restore"):
            desk.confirm()
        page.goto("/volumes")
        expect(shelf).to_contain_text("Restoring snapshot", timeout=PATIENCE_MS)
        desk.look("restoring")
    expect(shelf).not_to_contain_text("Restoring snapshot", timeout=PATIENCE_MS)
    shelf.get_by_role("combobox").select_option("reader")
    shelf.get_by_role("button", name="Attach").click()
    expect(shelf.get_by_role("link", name="reader")).to_be_visible(timeout=PATIENCE_MS)
    desk.look("volume-attached")
    desk.open(reader)
    desk.act("start", sure=False)
    desk.is_now("Running")
    assert here.inside(reader, "cat", "/mnt/shelf/book") == "first edition"
    desk.release()

    # A second one from the snapshot; then all of it is deleted.
    page.goto("/snapshots")
    edition.get_by_role("link", name="New volume from snapshot").click()
    page.fill("#storage-new [name=name]", "reprint")
    page.locator("#storage-new button[type=submit]").click()
    page.wait_for_url("**/volumes")
    reprint = page.locator("article", has_text="reprint")
    expect(reprint.locator(".state")).to_have_text("Ready", timeout=PATIENCE_MS)
    for volume in (reprint, shelf):
        volume.get_by_role("button", name="Delete").click()
        desk.confirm()
        expect(volume).to_have_count(0, timeout=PATIENCE_MS)
    page.goto("/snapshots")
    edition.get_by_role("button", name="Delete").click()
    desk.confirm()
    desk.says("No snapshots yet")
    wait_until("no disk to be left", lambda: not paths_with(here.state, ".ext4"))


def test_a_clone_and_a_move_to_another_host(desk: Desk, here: Engine, away: Engine) -> None:
    page = desk.page
    walker = rent(desk, "one", "walker", image="tiny")
    model = os.urandom(3_000_000)
    (here.state / "mounts" / walker / "model.bin").write_bytes(model)
    desk.act("stop")
    desk.is_now("Stopped")

    page.get_by_role("link", name="Clone").click()
    page.fill("#id_name", "twin")
    expect(page.locator("#bill")).to_contain_text("$3.60", timeout=PATIENCE_MS)
    desk.look("clone")
    with held(desk.stack, "agent-one"):
        page.locator("#confirm:enabled").click()
        page.wait_for_url("**/instances/inst_*")
        desk.is_now("Copying")
        desk.says("Cloning")
        desk.says("The clone isn't charged until it runs.")
        desk.look("cloning")
    desk.is_now("Running")
    copy = desk.instance
    assert copy != walker
    assert (here.state / "mounts" / copy / "model.bin").read_bytes() == model
    assert here.runs(copy) and not here.runs(walker)
    desk.release()

    # Given up on the way; then all the way.
    desk.open(walker)
    with held(desk.stack, "agent-two"):
        ask_to_move(desk)
        desk.is_now("Copying")
        desk.says("Moving to another host")
        desk.says("one → two")
        desk.look("moving")
        desk.act("cancel-move")
        desk.says("Move cancelled; nothing was changed and you weren't charged")
    desk.is_now("Stopped")
    removed = "Deleting the partial copy on the other host"
    expect(page.locator("main")).not_to_contain_text(removed, timeout=PATIENCE_MS)
    ask_to_move(desk)
    desk.is_now("Running")
    desk.says("local · two")
    desk.says("Running on the new host; deleting the data on the old one")
    desk.look("moved")
    assert away.runs(walker)
    assert (away.state / "mounts" / walker / "model.bin").read_bytes() == model
    wait_until("the source to be cleared", lambda: not here.traces(walker), timeout=60)
    desk.release()
    wait_until("nothing to be left there", lambda: not away.traces(walker))


def ask_to_move(desk: Desk) -> None:
    page = desk.page
    page.get_by_role("link", name="Move to another host").click()
    page.locator("label.pick-card", has_text="two").click()
    expect(page.locator("#bill")).to_contain_text("$2.40", timeout=PATIENCE_MS)
    desk.look("move")
    page.locator("#confirm:enabled").click()
    page.wait_for_url(re.compile("/instances/inst_[0-9a-f]+$"))
