"""What a renter does with files in a browser, wherever the files lie."""

import hashlib
import tarfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

SMALL = {"数据 '集' \"1\" $x.txt": "你好\n", "-rf": "dash\n", "two\nlines": "lines\n"}
# Cuts the connection once, when this many bytes of a file have been given to it.
CUT = """
(() => {
  const send = WebSocket.prototype.send;
  let given = 0;
  window.cuts = 0;
  WebSocket.prototype.send = function (piece) {
    given += piece.byteLength || 0;
    if (given > LIMIT && !window.cuts) { window.cuts = 1; this.close(); return; }
    send.call(this, piece);
  };
})();
"""


def cut_after(page: Page, limit: int) -> None:
    page.add_init_script(CUT.replace("LIMIT", str(limit)))


def row(page: Page, name: str) -> Locator:
    return page.locator("#files-rows tr", has=page.get_by_role("button", name=name, exact=True))


def upload(page: Page, big: Path) -> None:
    """A large file with its cut, and small ones with names of every kind."""
    small = [{"name": name, "mimeType": "text/plain", "buffer": text.encode()} for name, text in SMALL.items()]
    page.set_input_files("#files-input", big)
    page.set_input_files("#files-input", small)  # type: ignore[arg-type]  # payloads as playwright takes them
    expect(page.locator("#uploads-title")).to_have_text("4 of 4 uploaded", timeout=90_000)
    expect(page.locator("#upload-list .upload-state")).to_have_text(["done, checksum matches"] * 4)
    assert page.evaluate("window.cuts") == 1, "it was cut, and went on"
    expect(page.locator("#files-rows tr")).to_have_count(4)


def change(page: Page) -> None:
    """Look, replace, make, move, remove: each says what it does, and the list follows."""
    name = "数据 '集' \"1\" $x.txt"
    row(page, name).locator(".file-name").click()
    expect(page.locator("#look-text")).to_have_text("你好\n")
    page.keyboard.press("Escape")
    page.set_input_files("#files-input", {"name": "-rf", "mimeType": "text/plain", "buffer": b"another\n"})
    expect(page.locator(".upload[data-state=exists]")).to_contain_text("A file or folder with this name already exists.")
    page.click(".upload[data-state=exists] [data-do=replace]")
    expect(page.locator("#uploads-title")).to_have_text("5 of 5 uploaded")
    page.click("#new-folder")
    page.fill("#folder-name", "-rf")
    page.click("#folder-dialog [value=yes]")
    expect(page.locator("#folder-dialog [role=alert]")).to_have_text("A file or folder with this name already exists.")
    page.fill("#folder-name", "新 folder")
    page.click("#folder-dialog [value=yes]")
    expect(row(page, "新 folder")).to_be_visible()
    _deed(page, name, "rename")
    page.locator("#move-to").fill(page.locator("#move-to").input_value().replace(name, "新 folder/moved"))
    page.click("#move-dialog [value=yes]")
    expect(row(page, name)).to_have_count(0)
    _deed(page, "-rf", "delete")
    expect(page.locator("#delete-title")).to_have_text("Delete -rf?")
    page.click("#delete-dialog [value=yes]")
    expect(row(page, "-rf")).to_have_count(0)
    row(page, "新 folder").locator(".file-name").click()
    expect(row(page, "moved")).to_be_visible()
    page.go_back()
    expect(row(page, "two↵lines")).to_be_visible()


def fetch(page: Page, big: Path, folder: Path) -> None:
    """The large file comes back as it was, a folder as a tar."""
    with page.expect_download() as saving:
        row(page, big.name).locator("[data-do=download]").click()
    assert saving.value.suggested_filename == big.name
    saving.value.save_as(folder / "back")
    assert sum_of(folder / "back") == sum_of(big)
    with page.expect_download() as saving:
        row(page, "新 folder").locator("[data-do=download]").click()
    saving.value.save_as(folder / "back.tar")
    with tarfile.open(folder / "back.tar") as tar:
        assert sorted(tar.getnames()) == ["./新 folder", "./新 folder/moved"]


def journey(page: Page, big: Path, folder: Path, sum_inside: Callable[[], str]) -> None:
    upload(page, big)
    assert sum_inside() == sum_of(big)
    change(page)
    fetch(page, big, folder)


def sum_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _deed(page: Page, name: str, deed: str) -> None:
    row(page, name).locator("summary").click()
    row(page, name).locator(f"[data-do={deed}]").click()
