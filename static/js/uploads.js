/* Uploads into an instance: a few at a time, each sent from where an earlier try broke off, known by its checksum at the end.
   Of a file no more than a few pieces are in memory at any time. */
"use strict";
class Uploads {
  static AT_ONCE = 2;
  static PIECE = 256 << 10;
  static WINDOW = 4 << 20; /* bytes on the way that the instance has not written yet */
  static SMALL = 8 << 20; /* hashed before it is sent, which saves asking twice */
  static PAUSES = [500, 1000, 2000, 4000, 8000, 15000];

  constructor({ leave, sums, onChange, onDone }) {
    this.lines = Array.from({ length: Uploads.AT_ONCE }, () => new FileLine(leave));
    this.free = [...this.lines];
    this.items = [];
    this.onChange = onChange;
    this.onDone = onDone;
    this.replaceAll = false;
    this.worker = null;
    this.sums = sums;
    this.asked = new Map();
    this.sent = [];
  }

  get active() { return this.items.filter((item) => ["waiting", "sending", "checking", "again"].includes(item.state)); }

  add(files) {
    for (const { file, path, label } of files) {
      const item = { file, path, label, state: "waiting", sentBytes: 0, error: "", replace: false, tries: 0, stop: null, timer: 0 };
      this.items.push(item);
    }
    this.onChange();
    this.work();
  }

  retry(item, replace = false) {
    Object.assign(item, { state: "waiting", error: "", tries: 0, replace: item.replace || replace });
    this.onChange();
    this.work();
  }

  cancel(item, state = "cancelled") {
    clearTimeout(item.timer);
    item.state = state;
    item.stop?.();
    this.onChange();
    this.work();
  }

  clear() {
    this.items = this.active;
    this.onChange();
  }

  work() {
    for (const item of this.items) {
      if (!this.free.length) return;
      if (item.state === "waiting") this.run(item, this.free.pop());
    }
  }

  async run(item, line) {
    item.state = "sending";
    this.onChange();
    try {
      const { sha256 } = await this.send(item, line);
      if (item.state === "cancelled") return;
      Object.assign(item, { state: "done", sha256, sentBytes: item.file.size });
      this.onDone(item);
    } catch (error) {
      this.fail(item, error);
    } finally {
      item.stop = null;
      this.free.push(line);
      this.onChange();
      this.work();
    }
  }

  fail(item, error) {
    if (item.state === "cancelled" || item.state === "skipped") return;
    const code = error instanceof FileRefusal ? error.code : "unreadable";
    if (code === "exists" && this.replaceAll && !item.replace) {
      Object.assign(item, { state: "waiting", replace: true });
    } else if (FileLine.PASSING.has(code)) {
      item.state = "again";
      const pause = Uploads.PAUSES[Math.min(item.tries++, Uploads.PAUSES.length - 1)];
      item.timer = setTimeout(() => { item.state = "waiting"; this.work(); }, pause * (0.75 + Math.random() / 2));
    } else Object.assign(item, { state: code === "exists" ? "exists" : "failed", error: code, detail: error.message });
  }

  async send(item, line) {
    const { file } = item;
    const known = file.size <= Uploads.SMALL ? await this.hash(file) : "";
    if (item.state !== "sending") throw new FileRefusal("cancelled"); /* meanwhile */
    const late = known ? null : this.hash(file);
    const words = {
      do: "write", path: item.path, size: file.size, key: `${file.lastModified}`, make_folders: true, replace: item.replace,
      ...(known ? { sha256: known } : {}),
    };
    const flow = { got: 0, wake: null, over: false };
    item.stop = () => { flow.over = true; flow.wake?.(); if (!line.send('{"cancel":true}')) line.close(); };
    let pumping = Promise.resolve();
    const answer = line.request(words, {
      onWord: (word) => {
        if ("offset" in word) {
          flow.got = word.offset;
          pumping = this.pump(item, line, flow, known, late);
          pumping.catch((error) => { flow.failed = error; line.send('{"cancel":true}'); });
        } else if ("got" in word) {
          this.count(word.got - flow.got);
          flow.got = word.got;
          item.tries = 0;
          flow.wake?.();
        }
        item.sentBytes = flow.got;
        this.onChange();
      },
    });
    try {
      return await answer;
    } catch (error) {
      throw flow.failed || error;
    } finally {
      flow.over = true;
      flow.wake?.();
      await pumping.catch(() => {});
    }
  }

  async pump(item, line, flow, known, late) {
    const { file } = item;
    for (let at = flow.got; at < file.size && !flow.over;) {
      const piece = await file.slice(at, at + Uploads.PIECE).arrayBuffer();
      while (at - flow.got > Uploads.WINDOW && !flow.over) await new Promise((resolve) => { flow.wake = resolve; });
      if (flow.over || !line.send(piece)) return;
      at += piece.byteLength;
    }
    if (flow.over) return;
    item.state = "checking";
    this.onChange();
    const sha256 = known || (await late);
    if (!flow.over) line.send(JSON.stringify({ eof: true, sha256 }));
  }

  hash(file) {
    if (!this.worker) {
      this.worker = new Worker(this.sums);
      this.worker.onmessage = ({ data: { id, sha256 } }) => {
        const { resolve, reject } = this.asked.get(id);
        this.asked.delete(id);
        if (sha256) resolve(sha256);
        else reject(new FileRefusal("unreadable"));
      };
    }
    const id = crypto.getRandomValues(new Uint32Array(2)).join("-");
    const sum = new Promise((resolve, reject) => this.asked.set(id, { resolve, reject }));
    sum.catch(() => {}); /* whoever waits for it hears of it */
    this.worker.postMessage({ id, file });
    return sum;
  }

  /* Bytes written in the last few seconds, for the speed. */
  count(bytes) {
    const now = performance.now();
    this.sent.push([now, bytes]);
    while (this.sent.length && now - this.sent[0][0] > 5000) this.sent.shift();
  }

  get speed() {
    const now = performance.now();
    const lately = this.sent.filter(([at]) => now - at <= 5000);
    if (!lately.length) return 0;
    return lately.reduce((sum, [, bytes]) => sum + bytes, 0) / Math.max(1, (now - lately[0][0]) / 1000);
  }
}

/* What was dropped or picked, with paths below the folder; folders are walked. */
const dropped = {
  async walk(entry, prefix, found) {
    const path = prefix + entry.name;
    if (entry.isFile) {
      found.files.push({ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path });
      return;
    }
    const reader = entry.createReader();
    let some;
    let any = false;
    while ((some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length) {
      any = true;
      for (const inner of some) await dropped.walk(inner, `${path}/`, found);
    }
    if (!any) found.folders.push(path);
  },
  async of(transfer) {
    const found = { files: [], folders: [] };
    const entries = Array.from(transfer.items, (item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const plain = Array.from(transfer.files);
    if (!entries.length) found.files = plain.map((file) => ({ file, path: file.name }));
    for (const entry of entries) await dropped.walk(entry, "", found);
    return found;
  },
};
