"""JupyterLab and TensorBoard as renters use them, through the relay in a real browser. Not in the suite: the image takes
minutes to build.

  images/base/build berth/base:1
  BERTH_NOTEBOOK_IMAGE=berth/base:1 python -m pytest -n 0 tests/docker/notebook_by_hand.py
"""

import os
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, expect

from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host, Ssh, eventually, free_port
from tests.docker.test_web_programs import Link, link
from tests.web.conftest import chromium

__all__ = ["chromium", "link"]
pytestmark = [pytest.mark.docker]

WRITE = """
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter("/root/tf-logs/run")
for step in range(20):
    value = Summary.Value(tag="loss", simple_value=1 / (step + 1))
    writer.add_event(Event(wall_time=step, step=step, summary=Summary(value=[value])))
writer.close()
"""


def test_a_kernel_runs_and_a_scalar_is_shown(
    host: Host, order: DesiredInstance, link: Link, ssh: Ssh, chromium: Browser
) -> None:
    ports = [(22, dict(order.ports)[22]), (8888, free_port()), (6006, free_port())]
    order = replace(order, image=os.environ["BERTH_NOTEBOOK_IMAGE"], ports=ports, ram_mb=2048, cpu_millis=2000)
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    ssh.must(order, f"/opt/venv/bin/python3 - <<'END'\n{WRITE}\nEND")
    page = chromium.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.set_default_timeout(90_000)

    path = f"lab?token={order.env['JUPYTER_TOKEN']}"
    eventually(lambda: ssh.run(order, "curl -so /dev/null http://127.0.0.1:8888/login").returncode == 0, "JupyterLab is up")
    page.goto(link(order, 8888, path), wait_until="commit")
    page.locator(".jp-LauncherCard[data-category=Notebook]").first.click()
    cell = page.locator(".jp-Notebook .cm-content").first
    cell.click()
    page.keyboard.type("import sys; print('kernel', sys.version_info[0] * 14, 'works')")
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".jp-OutputArea-output").first).to_contain_text("kernel 42 works")
    page.screenshot(path=os.environ.get("BERTH_SHOTS", "/tmp") + "/jupyter.png")
    print("JupyterLab's console:", wrong)

    board = chromium.new_page()
    board.set_default_timeout(90_000)
    eventually(lambda: ssh.run(order, "curl -so /dev/null http://127.0.0.1:6006/").returncode == 0, "TensorBoard is up")
    board.goto(link(order, 6006, ""), wait_until="commit")
    board.locator("text=loss").first.wait_for()
    board.screenshot(path=os.environ.get("BERTH_SHOTS", "/tmp") + "/tensorboard.png")
