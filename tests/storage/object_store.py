"""A real S3 server for tests: on this machine's loopback, or at a public-looking address in a network of its own.

Users, keys and signatures are checked as object storages do.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

ROOT = Path(__file__).resolve().parent.parent.parent
BUCKET = "renters-data"
REGION = "us-east-1"
PATIENCE = 60.0
# Of the networks that are kept for examples: no private address, and nobody's.
NETWORK = "198.51.{number}"
_EVERYTHING = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
_READING = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:Get*","s3:List*"],"Resource":"*"}]}'


@dataclass(frozen=True)
class Key:
    """A user's access key."""

    key_id: str
    secret: str


@dataclass
class ObjectStore:
    """Started on entry; on exit everything of it is gone. `apart`: in a network of its own, which needs root."""

    apart: bool = False
    number: int = field(default_factory=lambda: 101 + os.getpid() % 100)
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="berth-s3-")))
    key: Key = Key("", "")
    reader: Key = Key("", "")
    _process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return f"bs3{self.number}"

    @property
    def network(self) -> str:
        return f"{NETWORK.format(number=self.number)}.0/24" if self.apart else "127.0.0.0/8"

    @property
    def endpoint(self) -> str:
        address = f"{NETWORK.format(number=self.number)}.2" if self.apart else "127.0.0.1"
        return f"http://{address}:{(self.folder / 'port').read_text()}"

    def __enter__(self) -> "ObjectStore":
        try:
            if self.apart:
                self._make_network()
            self._start()
            self._make_users()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
        if self.apart:
            _try("ip", "link", "delete", f"{self.name}h")
            _try("ip", "netns", "delete", self.name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def client(self, key: Key | None = None) -> Any:
        return self._service("s3", key or self.key)

    def files(self, prefix: str = "") -> dict[str, int]:
        """Name → bytes of what lies there."""
        found = self.client().list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return {item["Key"]: item["Size"] for item in found.get("Contents", [])}

    def put(self, name: str, body: bytes) -> None:
        self.client().put_object(Bucket=BUCKET, Key=name, Body=body)

    def clear(self) -> None:
        for name in self.files():
            self.client().delete_object(Bucket=BUCKET, Key=name)

    def hold(self, words: str) -> None:
        """Let requests wait whose "METHOD /path" holds these words; "" lets all go on."""
        (self.folder / "held").unlink(missing_ok=True)
        spare = self.folder / "hold.new"
        spare.write_text(words)
        spare.replace(self.folder / "hold")

    def until_held(self) -> None:
        end = time.monotonic() + PATIENCE
        while not (self.folder / "held").exists():
            assert time.monotonic() < end, "no such request came"
            time.sleep(0.02)

    def _make_network(self) -> None:
        inside, outside, network = f"{self.name}n", f"{self.name}h", NETWORK.format(number=self.number)
        _must("ip", "netns", "add", self.name)
        _must("ip", "link", "add", outside, "type", "veth", "peer", "name", inside)
        _must("ip", "link", "set", inside, "netns", self.name)
        _must("ip", "addr", "add", f"{network}.1/24", "dev", outside)
        _must("ip", "link", "set", outside, "up")
        for words in (f"addr add {network}.2/24 dev {inside}", f"link set {inside} up", "link set lo up"):
            _must("ip", "-n", self.name, *words.split())

    def _start(self) -> None:
        command = [sys.executable, "-m", "tests.storage.object_store_server"]
        command += ["0.0.0.0" if self.apart else "127.0.0.1", "0", str(self.folder)]
        if self.apart:
            command = ["nsenter", f"--net=/var/run/netns/{self.name}", *command]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE
        while not (self.folder / "port").exists():
            if time.monotonic() > end or self._process.poll() is not None:
                raise AssertionError((self.folder / "log").read_text()[-3000:])
            time.sleep(0.05)

    def _make_users(self) -> None:
        """Before anybody is asked who they are."""
        anybody = Key("anybody", "anybody")
        users = self._service("iam", anybody)
        made = []
        for name, policy in (("owner", _EVERYTHING), ("reader", _READING)):
            users.create_user(UserName=name)
            users.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=policy)
            key = users.create_access_key(UserName=name)["AccessKey"]
            made.append(Key(key["AccessKeyId"], key["SecretAccessKey"]))
        self.key, self.reader = made
        self._service("s3", anybody).create_bucket(Bucket=BUCKET)
        request = urllib.request.Request(
            f"{self.endpoint}/moto-api/reset-auth", data=b"0", headers={"Content-Type": "text/plain"}
        )
        with urllib.request.urlopen(request, timeout=30):
            pass

    def _service(self, name: str, key: Key) -> Any:
        return boto3.client(
            name,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=key.key_id,
            aws_secret_access_key=key.secret,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
        )


def _must(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{command}: {done.stderr}"


def _try(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=False, timeout=60)
