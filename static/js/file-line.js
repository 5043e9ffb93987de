/* A line to an instance's files: requests one after another over a WebSocket that opens when one is made and closes when none
   was for a while. What is asked and answered: docs/files.md. */
"use strict";
class FileRefusal extends Error {
  constructor(code, detail) {
    super(detail || code);
    this.code = code;
  }
}

class FileLine {
  static IDLE_MS = 45_000;
  static PASSING = new Set(["lost", "host_away", "dial_timeout", "bad_grant", "grant_used", "bad_ticket"]);

  /* `leave` gives the address of a fresh WebSocket, and rejects with a FileRefusal. */
  constructor(leave) {
    this.leave = leave;
    this.turn = Promise.resolve();
    this.socket = null;
    this.current = null;
    this.idle = 0;
  }

  /* The last word of the answer. `onWord` gets those before it, `onBytes` the pieces of a file. */
  request(words, { onWord, onBytes } = {}) {
    const asked = this.turn.then(() => this.ask(words, onWord, onBytes));
    this.turn = asked.catch(() => {});
    return asked;
  }

  async ask(words, onWord, onBytes) {
    clearTimeout(this.idle);
    await this.open();
    const answer = new Promise((resolve, reject) => { this.current = { resolve, reject, onWord, onBytes }; });
    this.send(JSON.stringify(words));
    try {
      return await answer;
    } finally {
      this.current = null;
      clearTimeout(this.idle);
      this.idle = setTimeout(() => this.close(), FileLine.IDLE_MS);
    }
  }

  async open() {
    if (this.socket && this.socket.readyState === WebSocket.OPEN) return;
    const socket = new WebSocket(await this.leave());
    socket.binaryType = "arraybuffer";
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onclose = (event) => reject(new FileRefusal(event.reason || "lost"));
    });
    socket.onmessage = (event) => this.hear(event.data);
    socket.onclose = (event) => this.lose(socket, event.reason);
    this.socket = socket;
  }

  hear(frame) {
    const { current } = this;
    if (!current) return;
    if (typeof frame !== "string") {
      current.onBytes?.(new Uint8Array(frame));
      return;
    }
    const words = JSON.parse(frame);
    if (words.ok === true) current.resolve(words);
    else if (words.ok === false) current.reject(new FileRefusal(words.code, words.detail));
    else current.onWord?.(words);
  }

  lose(socket, reason) {
    if (this.socket === socket) this.socket = null;
    this.current?.reject(new FileRefusal(reason || "lost"));
  }

  /* False when the way is gone. */
  send(frame) {
    if (!this.socket || this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(frame);
    return true;
  }

  close() {
    clearTimeout(this.idle);
    this.socket?.close();
  }
}
