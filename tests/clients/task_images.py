"""Stand-ins for the images that the task pages name: asked and started in the same way, without a model."""

import subprocess
from pathlib import Path
from typing import Any, Final

from tests.storage.stub_registry import StubRegistry

# What images/llm is to its renter: a server on port 8000 that asks for the key everywhere but at /health.
_SERVICE: Final = """\
#!/usr/bin/env python3
import os
from http.server import BaseHTTPRequestHandler, HTTPServer


class Model(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.headers.get("Authorization") == "Bearer " + os.environ["API_KEY"]
        self.send_response(200 if known or self.path == "/health" else 401)
        self.end_headers()
        self.wfile.write((os.environ["MODEL"] if known else "?").encode() + b"\\n")


HTTPServer(("0.0.0.0", 8000), Model).serve_forever()
"""
_TRAINER: Final = """\
import json, os, sys, time

model, file, folder = sys.argv[1:]
assert os.environ["HF_HOME"] and all(json.loads(line)["messages"] for line in open(file))
print(model, "{'loss': 0.5}", flush=True)
time.sleep(1)
os.mkdir(folder)
open(f"{folder}/adapter_model.safetensors", "w").write("weights")
"""
# vLLM's image: its entrypoint is the server, which takes options alone.
_ENTRYPOINT: Final = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int n, char **v) {
  if (n != 5 || strcmp(v[1], "--model") || strcmp(v[3], "--port")) return 2;
  if (!getenv("VLLM_API_KEY") || !getenv("HF_TOKEN")) return 3;
  printf("serving %s on %s\\n", v[2], v[4]);
  fflush(stdout);
  for (;;) pause();
}
"""


def build_official(base: str, folder: Path) -> dict[str, str]:
    """Build the stand-ins of official images; return their references by slug."""
    programs = {
        "llm": ("/usr/local/bin/berth-service", _SERVICE),
        "finetune": ("/usr/share/berth/images/finetune/sft.py", _TRAINER),
    }
    found = {"berth-base": "berth/tasks:base"}
    subprocess.run(["docker", "tag", base, found["berth-base"]], check=True)
    for slug, (path, text) in programs.items():
        context = folder / slug
        context.mkdir()
        (context / "program").write_text(text)
        (context / "program").chmod(0o755)
        (context / "Dockerfile").write_text(f"FROM {base}\nCOPY program {path}\n")
        found[slug] = f"berth/tasks:{slug}"
        subprocess.run(["docker", "build", "-q", "-t", found[slug], context], check=True, capture_output=True, timeout=300)
    return found


def add_vllm(registry: StubRegistry, folder: Path) -> None:
    """Put the stand-in for vLLM's image into a registry."""
    (folder / "server.c").write_text(_ENTRYPOINT)
    subprocess.run(["gcc", "-static", "-Os", "-s", "-o", folder / "server", folder / "server.c"], check=True)
    layers = [{"server": (folder / "server").read_bytes()}]
    registry.add("vllm/vllm-openai", "v0.6.3", layers=layers, Entrypoint=["/server"])


def remove_pulled(engine: Any, registry: StubRegistry) -> None:
    """Remove from the engine what it has pulled from the registry."""
    for image in engine.images():
        if any(registry.host in name for name in image["RepoDigests"] or []):
            engine.remove_image(image["Id"], force=True)
