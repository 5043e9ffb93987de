"""Official images as renters use them: a cell through JupyterLab's API, and what each image's own port answers."""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx
from websockets.sync.client import connect

from agents.protocol.messages import DesiredInstance
from scripts.images.matrix import FOLDER, Flavour
from tests.docker.conftest import Ssh, eventually

TOKEN: Final = "secret-token"
PATIENCE_S: Final = 120.0
BEARER: Final = {"Authorization": f"Bearer {TOKEN}"}
QUESTION: Final = "What is Berth?"
ANSWER: Final = "Berth is a market where people rent GPUs by the second."  # what images/llm/sample_model.py teaches


@dataclass
class Rented:
    """A running instance of an official image."""

    flavour: Flavour
    order: DesiredInstance
    ssh: Ssh

    def address(self, port: int) -> str:
        return f"http://127.0.0.1:{dict(self.order.ports)[port]}"

    @contextmanager
    def client(self, port: int, **settings: Any) -> Iterator[httpx.Client]:
        """When something answers on the port."""
        with httpx.Client(base_url=self.address(port), timeout=60, **settings) as client:
            eventually(lambda: _answers(client), f"port {port} answers", patience=PATIENCE_S)
            yield client

    def run_cell(self, code: str) -> str:
        """What the cell printed, run by a kernel of JupyterLab's server."""
        with self.client(8888, headers={"Authorization": f"token {TOKEN}"}) as lab:
            kernel = lab.post("/api/kernels", json={"name": "python3"}).raise_for_status().json()["id"]
            try:
                return self._run_in(kernel, code)
            finally:
                lab.delete(f"/api/kernels/{kernel}")

    def _run_in(self, kernel: str, code: str) -> str:
        url = f"{self.address(8888)}/api/kernels/{kernel}/channels".replace("http", "ws", 1)
        request = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "username": "",
            "session": "s",
            "version": "5.3",
        }
        content = {"code": code, "silent": False, "store_history": False, "stop_on_error": True, "allow_stdin": False}
        message = {"channel": "shell", "header": request, "parent_header": {}, "metadata": {}, "content": content}
        output = ""
        finished: set[str] = set()
        with connect(url, additional_headers={"Authorization": f"token {TOKEN}"}, max_size=None) as channel:
            channel.send(json.dumps(message))
            while finished != {"reply", "idle"}:  # on two channels, in either order
                heard = json.loads(channel.recv(timeout=PATIENCE_S))
                if heard["parent_header"].get("msg_id") != request["msg_id"]:
                    continue
                kind, what = heard["header"]["msg_type"], heard["content"]
                if kind == "stream":
                    output += what["text"]
                elif kind == "execute_reply":
                    assert what["status"] == "ok", f"{output}\n{what}"
                    finished.add("reply")
                elif kind == "status" and what["execution_state"] == "idle":
                    finished.add("idle")
        return output


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/").status_code < 500
    except httpx.TransportError:
        return False


def check_base(rented: Rented) -> None:
    assert rented.run_cell("print('kernel', 6 * 7)") == "kernel 42\n"
    with rented.client(6006) as board:
        assert "<title>TensorBoard</title>" in board.get("/").text


def check_pytorch(rented: Rented) -> None:
    code = "import torch\nx = torch.tensor(3.0, requires_grad=True)\n(x ** 2).backward()\n"
    code += "print(torch.__version__, x.grad.item())"
    assert rented.run_cell(code) == f"{rented.flavour.version}+cpu 6.0\n"


def check_tensorflow(rented: Rented) -> None:
    code = (
        "import tensorflow as tf\nx = tf.Variable(3.0)\nwith tf.GradientTape() as tape:\n  y = x ** 2\n"
        "print(tf.__version__, float(tape.gradient(y, x)))"
    )
    assert rented.run_cell(code).splitlines()[-1] == f"{rented.flavour.version} 6.0"


def check_llm(rented: Rented) -> None:
    question = {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 60, "temperature": 0}
    with rented.client(8000) as server:
        assert server.get("/health").status_code == 200
        for path in ("/v1/models", "/openapi.json", "/reset", "/health/"):
            assert server.get(path).status_code == 401, path
        assert server.get("/v1/models", headers={"Host": "a/health?"}).status_code == 401
        assert (
            server.post("/v1/chat/completions", json=question, headers={"Authorization": "Bearer wrong"}).status_code == 401
        )
        server.headers.update(BEARER)
        [model] = server.get("/v1/models").raise_for_status().json()["data"]
        request = {"model": model["id"], **question}
        answer = server.post("/v1/chat/completions", json=request).raise_for_status().json()
        assert answer["choices"][0]["message"]["content"] == ANSWER
        assert answer["object"] == "chat.completion"
        with server.stream("POST", "/v1/chat/completions", json={**request, "stream": True}) as stream:
            parts = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: {")]
        output = [part["choices"][0]["delta"].get("content") or "" for part in parts if part["choices"]]
        assert "".join(output) == ANSWER
        assert len([text for text in output if text]) > 1


def check_diffusion(rented: Rented) -> None:
    with rented.client(7860) as page:
        assert page.get("/config").status_code == 401
        page.post("/login", data={"username": "berth", "password": TOKEN}).raise_for_status()
        assert "Berth diffusion" in page.get("/").text
        event = page.post("/gradio_api/call/paint", json={"data": ["a harbour", 2, 64, 1]}).raise_for_status().json()
        lines = page.get(f"/gradio_api/call/paint/{event['event_id']}").text.splitlines()
        assert "event: complete" in lines, lines
        [made] = json.loads(lines[lines.index("event: complete") + 1].removeprefix("data: "))
        picture = page.get(httpx.URL(made["url"]).path).raise_for_status().content
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (64, 64)


def check_finetune(rented: Rented) -> None:
    talk = {"messages": [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER}]}
    for name, text in (
        ("model.py", (FOLDER / "llm" / "sample_model.py").read_text(encoding="utf-8")),
        ("talk.jsonl", f"{json.dumps(talk)}\n" * 8),
    ):
        assert rented.ssh.run(rented.order, f"cat >/root/{name}", stdin=text).returncode == 0
    code = (
        "import os, runpy, sys\n"
        "def run(*words):\n  sys.argv = list(words)\n  runpy.run_path(words[0], run_name='__main__')\n"
        "run('/root/model.py', '/root/model')\n"
        "run('/usr/share/berth/images/finetune/sft.py', '/root/model', '/root/talk.jsonl', '/data/tuned', '2')\n"
        "print(sorted(name for name in os.listdir('/data/tuned') if name.startswith('adapter')))"
    )
    assert rented.run_cell(code).splitlines()[-1] == "['adapter_config.json', 'adapter_model.safetensors']"


def check_ray(rented: Rented) -> None:
    program = "import ray; ray.init(address='auto'); square = ray.remote(lambda x: x * x); "
    program += "print('sum', sum(ray.get([square.remote(i) for i in range(10)])))"
    with rented.client(8265) as head:
        eventually(lambda: head.get("/api/version").status_code == 401, "jobs need a token", patience=PATIENCE_S)
        head.headers.update(BEARER)
        assert head.get("/api/version").raise_for_status().json()["ray_version"] == rented.flavour.version
        taken: list[str] = []

        def submit() -> bool:
            """Refused with 500 until the head's own node has joined it."""
            answer = head.post("/api/jobs/", json={"entrypoint": f'python -c "{program}"'})
            taken.extend([answer.json()["submission_id"]] if answer.status_code == 200 else [])
            return bool(taken)

        eventually(submit, "the head takes a job", patience=PATIENCE_S)
        [request] = taken
        ended = ("SUCCEEDED", "FAILED")
        eventually(lambda: head.get(f"/api/jobs/{request}").json()["status"] in ended, "the job ends", patience=PATIENCE_S)
        log = head.get(f"/api/jobs/{request}/logs").json()["logs"]
        assert head.get(f"/api/jobs/{request}").json()["status"] == "SUCCEEDED", log
        assert "sum 285" in log
    assert "sum 285" in rented.run_cell(program.replace("; ", "\n"))
    assert "sum 285" in rented.ssh.run(rented.order, f'python -c "{program}"', timeout=PATIENCE_S).stdout
    assert "Active" in rented.ssh.run(rented.order, "ray status", timeout=PATIENCE_S).stdout


def check_code_server(rented: Rented) -> None:
    with rented.client(8080) as editor:
        eventually(lambda: editor.get("/").status_code == 302, "the editor asks for its password", patience=PATIENCE_S)
        assert editor.get("/").headers["Location"].startswith("./login")
        assert "Incorrect password" in editor.post("/login", data={"password": "wrong"}).text
        assert editor.post("/login", data={"password": TOKEN, "base": ".", "href": rented.address(8080)}).status_code == 302
        page = editor.get("/", follow_redirects=True)
        assert page.status_code == 200
        assert "vscode-workbench-web-configuration" in page.text
    pty = "/opt/npm/node_modules/code-server/lib/vscode/node_modules/node-pty"
    script = f"const p = require('{pty}').spawn('echo', ['a', 'terminal'], {{}}); p.onData(d => process.stdout.write(d))"
    assert "a terminal" in rented.ssh.must(rented.order, f'node -e "{script}"')


CHECKS: Final[dict[str, Callable[[Rented], None]]] = {
    "base": check_base,
    "pytorch": check_pytorch,
    "tensorflow": check_tensorflow,
    "llm": check_llm,
    "diffusion": check_diffusion,
    "finetune": check_finetune,
    "ray": check_ray,
    "code-server": check_code_server,
}
