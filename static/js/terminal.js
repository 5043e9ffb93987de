/* A terminal in an instance: xterm.js at this end, a shell at the other, the relay between. A lost connection comes back to
   the same shell; nothing that is typed is kept here. */
"use strict";
(() => {
  const box = document.getElementById("terminal");
  const words = box.dataset;
  const state = document.getElementById("term-state");
  const note = document.getElementById("term-note");
  const FULL = 1 << 20; /* bytes that xterm.js has not drawn yet: the shell waits above this, and goes on below a quarter */
  const PAUSES = [300, 1000, 2000, 4000, 8000];
  const HOPELESS = new Set(["not_running", "not_there", "bad_grant", "unknown_kind", "too_many_streams"]);
  const encoder = new TextEncoder();
  let socket = null;
  let ended = false;
  let tries = 0;
  let timer = 0;
  let undrawn = 0;
  let held = false;
  let ctrl = false;

  /* xterm.js writes its colours as style elements and attributes. The page's policy takes elements with its nonce, and
     attributes only through the object model. */
  const nonce = document.currentScript.nonce;
  const make = document.createElement.bind(document);
  document.createElement = (name, options) => {
    const made = make(name, options);
    if (name === "style") made.nonce = nonce;
    return made;
  };
  const setAttribute = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function set(name, value) {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };

  const term = new Terminal({
    allowProposedApi: true,
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    fontFamily: getComputedStyle(document.body).getPropertyValue("--tblr-font-monospace") || "monospace",
    fontSize: matchMedia("(max-width: 575.98px)").matches ? 12 : 14,
    scrollback: 5000,
    theme: { background: "#11151c", foreground: "#dfe5ee", cursor: "#8fb4ff", selectionBackground: "#3b6ef080" },
  });
  const fit = new FitAddon.FitAddon();
  term.loadAddon(fit);
  term.loadAddon(new Unicode11Addon.Unicode11Addon());
  term.unicode.activeVersion = "11";
  term.open(box);
  fit.fit();

  /* The shell's name is this tab's: a reload finds it again, another tab gets one of its own. */
  const key = `terminal:${words.instance}`;
  function session(fresh) {
    let name = sessionStorage.getItem(key);
    if (!name || fresh) {
      name = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
      sessionStorage.setItem(key, name);
    }
    return name;
  }

  function show(kind, text, button) {
    state.dataset.state = kind;
    state.textContent = words[kind];
    note.hidden = !text;
    note.querySelector("span").textContent = text || "";
    note.querySelector("button").hidden = !button;
  }

  const say = (message) => socket && socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
  const type = (text) => socket && socket.readyState === WebSocket.OPEN && socket.send(encoder.encode(text));

  async function ask(fresh) {
    const reply = await fetch(words.streams, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRFToken": words.csrf },
      body: JSON.stringify({ kind: "terminal", session: session(fresh) }),
    });
    const answer = await reply.json();
    if (reply.status !== 201) throw Object.assign(new Error(answer.code), { code: answer.code || "refused" });
    return answer.url;
  }

  async function open(fresh) {
    clearTimeout(timer);
    ended = false;
    show("opening", "", false);
    try {
      const url = await ask(fresh);
      fit.fit();
      listen(new WebSocket(`${url}&size=${term.cols}x${term.rows}`));
    } catch (error) {
      if (error.code) lost(error.code);
      else again();
    }
  }

  function listen(fresh) {
    if (socket) socket.onclose = socket.onmessage = null;
    socket = fresh;
    socket.binaryType = "arraybuffer";
    let first = true;
    socket.onmessage = (event) => {
      if (typeof event.data === "string") return hear(JSON.parse(event.data));
      if (first) begin();
      first = false;
      return draw(new Uint8Array(event.data));
    };
    socket.onclose = (event) => {
      if (ended) return;
      if (HOPELESS.has(event.reason)) lost(event.reason);
      else again();
    };
  }

  function begin() {
    tries = 0;
    undrawn = 0;
    held = false;
    term.reset();
    show("open", "", false);
    say({ resize: [term.cols, term.rows] });
    term.focus();
  }

  function hear(message) {
    if (!("exit" in message)) return;
    ended = true;
    sessionStorage.removeItem(key);
    show("over", message.exit ? `${words.overCode} ${message.exit}.` : words.overText, true);
  }

  function draw(bytes) {
    undrawn += bytes.length;
    if (undrawn > FULL && !held) say({ flow: !(held = true) });
    term.write(bytes, () => {
      undrawn -= bytes.length;
      if (held && undrawn < FULL / 4) say({ flow: !(held = false) });
    });
  }

  function again() {
    const pause = PAUSES[Math.min(tries++, PAUSES.length - 1)];
    show("lost", tries > 2 ? words.away : "", tries > 2);
    timer = setTimeout(() => open(false), pause * (0.75 + Math.random() / 2));
  }

  function lost(code) {
    ended = true;
    show("lost", code === "not_running" ? words.stopped : words.refused, true);
  }

  term.onData((text) => {
    const one = ctrl && text.length === 1 ? String.fromCharCode(text.toUpperCase().charCodeAt(0) & 31) : text;
    if (ctrl) press(false);
    type(one);
  });
  term.onBinary((text) => socket && socket.readyState === WebSocket.OPEN && socket.send(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  term.onResize(({ cols, rows }) => say({ resize: [cols, rows] }));
  term.onTitleChange((title) => { document.title = title ? `${title} · ${words.name}` : words.name; });
  new ResizeObserver(() => requestAnimationFrame(() => fit.fit())).observe(box);
  addEventListener("online", () => state.dataset.state === "lost" && !ended && open(false));

  function press(on) {
    ctrl = on;
    document.querySelector("[data-key=ctrl]").setAttribute("aria-pressed", String(on));
  }
  document.getElementById("term-keys").addEventListener("click", (event) => {
    const name = event.target.dataset.key;
    if (!name) return;
    const arrows = { up: "A", down: "B", right: "C", left: "D" };
    if (name === "ctrl") press(!ctrl);
    else if (name in arrows) type(`\x1b${term.modes.applicationCursorKeysMode ? "O" : "["}${arrows[name]}`);
    else type({ esc: "\x1b", tab: "\t", break: "\x03" }[name]);
    term.focus();
  });
  note.querySelector("button").addEventListener("click", () => { tries = 0; open(ended); });
  document.getElementById("term-new").addEventListener("click", () => {
    ended = true;
    say({ bye: true });
    tries = 0;
    open(true);
  });

  if (words.running === "1") open(false);
  else lost("not_running");
})();
