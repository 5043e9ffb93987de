/* SHA-256 of files as large as one likes, piece by piece beside the page. Browsers hash at once or not at all. */
"use strict";
const K = new Int32Array(64); /* whole numbers with a sign are what engines add fastest */
const FIRST = new Int32Array(8);
(() => {
  const part = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32);
  for (let number = 2, count = 0; count < 64; number++) {
    let prime = true;
    for (let by = 2; by * by <= number; by++) if (number % by === 0) { prime = false; break; }
    if (!prime) continue;
    if (count < 8) FIRST[count] = part(Math.sqrt(number));
    K[count++] = part(Math.cbrt(number));
  }
})();
const PIECE = 4 << 20;

class Sum {
  constructor() {
    this.state = FIRST.slice();
    this.rest = new Uint8Array(64);
    this.held = 0;
    this.bytes = 0;
    this.words = new Int32Array(64);
  }

  add(piece) {
    this.bytes += piece.length;
    let at = 0;
    if (this.held) {
      at = Math.min(64 - this.held, piece.length);
      this.rest.set(piece.subarray(0, at), this.held);
      this.held += at;
      if (this.held < 64) return;
      this.blocks(this.rest, 0, 64);
      this.held = 0;
    }
    const whole = at + ((piece.length - at) & ~63);
    this.blocks(piece, at, whole);
    this.rest.set(piece.subarray(whole));
    this.held = piece.length - whole;
  }

  blocks(from, start, end) {
    const { state, words: w } = this;
    const k = K;
    let [h0, h1, h2, h3, h4, h5, h6, h7] = state;
    for (let at = start; at < end; at += 64) {
      for (let i = 0, p = at; i < 16; i++, p += 4) w[i] = (from[p] << 24) | (from[p + 1] << 16) | (from[p + 2] << 8) | from[p + 3];
      for (let i = 16; i < 64; i++) {
        const x = w[i - 15], y = w[i - 2];
        const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
        const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
        w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
      }
      let a = h0, b = h1, c = h2, d = h3, e = h4, f = h5, g = h6, h = h7;
      for (let i = 0; i < 64; i++) {
        const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
        const t1 = (h + s1 + ((e & f) ^ (~e & g)) + k[i] + w[i]) | 0;
        const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
        const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
      }
      h0 = (h0 + a) | 0; h1 = (h1 + b) | 0; h2 = (h2 + c) | 0; h3 = (h3 + d) | 0;
      h4 = (h4 + e) | 0; h5 = (h5 + f) | 0; h6 = (h6 + g) | 0; h7 = (h7 + h) | 0;
    }
    state.set([h0, h1, h2, h3, h4, h5, h6, h7]);
  }

  hex() {
    const bits = this.bytes * 8;
    const end = new Uint8Array(this.held < 56 ? 64 : 128);
    end.set(this.rest.subarray(0, this.held));
    end[this.held] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(end.length - 4, bits >>> 0);
    this.blocks(end, 0, end.length);
    return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

onmessage = async ({ data: { id, file } }) => {
  try {
    const sum = new Sum();
    for (let at = 0; at < file.size; at += PIECE) sum.add(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()));
    postMessage({ id, sha256: sum.hex() });
  } catch {
    postMessage({ id, sha256: "" });
  }
};
