"""A mail server on this machine: it takes mail, refuses addresses, or says nothing at all."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class MailServer:
    """What it took, how often it was asked, and how it answers from now on."""

    port: int = 0
    hangs: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    taken: list[tuple[str, str]] = field(default_factory=list)
    asked: int = 0
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def mail_server() -> Iterator[MailServer]:
    server = MailServer()

    class Talk(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            server.asked += 1
            if server.hangs:
                server.over.wait(20)
                return
            self.say("220 here")
            to = ""
            while line := self.rfile.readline().decode().strip():
                word = line.upper()
                if word.startswith("RCPT"):
                    to = line[line.index("<") + 1 : line.index(">")]
                    self.say(server.refused.get(to, "250 yes"))
                elif word == "DATA":
                    self.say("354 go on")
                    server.taken.append((to, self.text()))
                    self.say("250 taken")
                else:
                    self.say("221 bye" if word == "QUIT" else "250 yes")

        def text(self) -> str:
            lines = iter(lambda: self.rfile.readline().decode().rstrip("\r\n"), ".")
            return "\n".join(lines)

        def say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Talk) as listening:
        server.port = listening.server_address[1]
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            listening.shutdown()
            thread.join()
