// What every page does beside htmx: copying, dialogs, times in the reader's zone, figures that tick, the live stream.
(() => {
  const POLL_MS = 15_000; // while the stream is down
  const body = document.body;
  const language = document.documentElement.lang || "en";
  const say = (key) => body.dataset[key] || "";

  /* Times: the server writes UTC, the reader sees the own zone. */
  const styles = {
    full: { dateStyle: "medium", timeStyle: "short" },
    short: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" },
    stamp: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" },
    clock: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
    date: { dateStyle: "medium" },
  };
  const formats = Object.fromEntries(
    Object.entries(styles).map(([name, style]) => [name, new Intl.DateTimeFormat(language, { hourCycle: "h23", ...style })]),
  );
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

  function ago(at) {
    const seconds = Math.round((at - Date.now()) / 1000);
    const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) || units[3];
    return relative.format(Math.trunc(seconds / size), unit);
  }

  function localise(root) {
    for (const time of root.querySelectorAll("time[data-time]")) {
      const at = new Date(time.dateTime);
      const text = time.dataset.time === "ago" ? ago(at) : (formats[time.dataset.time] || formats.full).format(at);
      if (time.textContent !== text) time.textContent = text;
      time.title = formats.full.format(at);
    }
  }

  /* Figures between two messages of the server: a cost that grows at its rate, the time that is left. */
  function money(micros, sign) {
    const below = micros !== 0 && Math.abs(micros) < 1e4;
    const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    return (micros < 0 ? "−" : "") + (below ? "<" : "") + sign + cents.format(below ? 0.01 : Math.abs(micros) / 1e6);
  }

  function tick() {
    const now = Date.now();
    for (const cost of document.querySelectorAll("[data-cost-micros]")) {
      const { costMicros, rateMicros, costAt, sign } = cost.dataset;
      const grown = Number(costMicros) + (Number(rateMicros) * Math.max(0, now - new Date(costAt))) / 3.6e6;
      cost.textContent = money(grown, sign);
    }
    for (const left of document.querySelectorAll("[data-until]")) left.textContent = span((new Date(left.dataset.until) - now) / 1000);
    localise(document);
  }

  function span(seconds) {
    const rest = Math.max(0, Math.floor(seconds));
    const parts = [[Math.floor(rest / 86400), "unitD"], [Math.floor(rest / 3600) % 24, "unitH"], [Math.floor(rest / 60) % 60, "unitM"], [rest % 60, "unitS"]];
    const first = Math.max(0, parts.findIndex(([count]) => count > 0));
    const shown = rest === 0 ? parts.slice(3) : parts.slice(first, first + 2);
    return shown.map(([count, unit]) => `${count} ${say(unit)}`).join(" ");
  }

  /* Notes that pass */
  const toasts = document.getElementById("toasts");

  function toast(text) {
    const template = document.getElementById("toast-error");
    const note = template.content.firstElementChild.cloneNode(true);
    note.querySelector("[data-text]").textContent = text;
    toasts.append(note);
  }

  function fade(note) {
    if (note.dataset.fading) return;
    note.dataset.fading = "1";
    setTimeout(() => note.remove(), note.classList.contains("note-error") ? 12_000 : 5_000);
  }
  new MutationObserver(() => toasts.querySelectorAll(".note").forEach(fade)).observe(toasts, { childList: true });
  toasts.querySelectorAll(".note").forEach(fade);

  /* Clicks */
  async function copy(button) {
    const source = document.getElementById(button.dataset.copy);
    const text = source.value ?? source.textContent.trim();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(source); // not allowed here (plain HTTP): the reader copies the selection
      return;
    }
    button.classList.add("done");
    button.querySelector("[role=status]").textContent = say("copied");
    setTimeout(() => {
      button.classList.remove("done");
      button.querySelector("[role=status]").textContent = "";
    }, 1600);
  }

  document.addEventListener("click", (event) => {
    const at = (selector) => event.target.closest?.(selector);
    if (at("[data-copy]")) copy(at("[data-copy]"));
    if (at("[data-open]")) open(at("[data-open]").dataset);
    if (at("[data-close]")) at("dialog")?.close();
    if (at("[data-dismiss]")) at(".note")?.remove();
    if (at("[data-expand]")) expand(at("[data-expand]"));
    if (at("[data-fill]")) document.querySelector(at("[data-fill]").dataset.fill).value = at("[data-fill]").dataset.value;
    for (const open of document.querySelectorAll("details.drop[open]")) if (!open.contains(event.target)) open.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && document.querySelector("details.drop[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });

  function open({ open: id, heading }) {
    const dialog = document.getElementById(id);
    if (dialog && heading) dialog.querySelector("h2").textContent = heading; // one dialog for several forms
    dialog?.showModal();
  }

  function expand(button) {
    const shown = document.getElementById(button.dataset.expand).classList.toggle("open");
    button.setAttribute("aria-expanded", String(shown));
  }

  /* "Are you sure?": one dialog for everyone; Escape and the left button mean no. */
  const ask = document.getElementById("ask");

  function question(source, yes) {
    ask.querySelector("h2").textContent = source.dataset.askTitle || "";
    ask.querySelector("p").textContent = source.dataset.ask;
    const confirm = ask.querySelector("[value=yes]");
    confirm.textContent = source.dataset.askYes || say("confirm");
    confirm.className = `btn ${source.hasAttribute("data-danger") ? "btn-danger" : "btn-primary"}`;
    ask.returnValue = "";
    ask.addEventListener("close", () => ask.returnValue === "yes" && yes(), { once: true });
    ask.showModal();
  }

  // The page goes on living under the question: by the answer, the form may be gone, or its element may be another form.
  function order(form) {
    const fields = [...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken");
    return `${form.action} ${new URLSearchParams(fields)}`;
  }
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method === "dialog" || form.dataset.agreed) return delete form.dataset.agreed;
    const source = event.submitter?.dataset.ask ? event.submitter : form;
    if (!source.dataset.ask) return undefined;
    event.preventDefault();
    event.stopImmediatePropagation();
    const asked = order(form);
    question(source, () => {
      const same = form.isConnected && order(form) === asked ? form : [...document.forms].find((other) => order(other) === asked);
      if (!same) return toast(say("late"));
      same.dataset.agreed = "1";
      return same.requestSubmit(same === form && event.submitter?.form === form ? event.submitter : null);
    });
    return undefined;
  }, true);
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.target.method === "dialog") return;
    const button = event.submitter;
    if (button) setTimeout(() => (button.disabled = true)); // after the form has been sent: no second order by a double click
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) document.querySelectorAll("form button:disabled").forEach((button) => (button.disabled = false));
  });

  /* htmx */
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.xhr.status < 400 || !detail.xhr.getResponseHeader("HX-Retarget")) return;
    detail.shouldSwap = true; // the server has put the fault into words
    detail.isError = false;
  });
  document.addEventListener("htmx:beforeRequest", ({ target }) => {
    if (target.id === "bill") target.querySelector("#confirm")?.setAttribute("disabled", ""); // nobody confirms a price that is changing
  });
  // A dialog is empty until its own form has come: what is left in it, or comes late, belongs to another order.
  let opening = null;
  document.addEventListener("htmx:beforeRequest", ({ target, detail }) => {
    if (!target.dataset.open) return;
    opening?.abort();
    opening = detail.xhr;
    detail.target.replaceChildren();
  });
  document.addEventListener("htmx:responseError", () => toast(say("failed")));
  document.addEventListener("htmx:sendError", () => toast(say("offline")));
  // What the reader has unfolded stays so when the part around it comes anew. Looked at just before: `toggle` comes too late.
  const unfolded = new Set();
  document.addEventListener("htmx:beforeSwap", () => {
    for (const fold of document.querySelectorAll("details[data-fold]")) unfolded[fold.open ? "add" : "delete"](fold.id);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    for (const fold of document.querySelectorAll("details[data-fold]")) fold.open = unfolded.has(fold.id);
    localise(event.target);
    tick();
  });

  // What the reader has chosen and not yet sent stays as well.
  const chosen = new WeakSet();
  for (const name of ["input", "change"]) document.addEventListener(name, ({ target }) => {
    if (!target.form || !target.closest("[data-live-part]")) return;
    for (const control of target.form.elements) if (control === target || (target.name && control.name === target.name)) chosen.add(control);
  }, true);
  document.addEventListener("submit", ({ target }) => [...target.elements].forEach((control) => chosen.delete(control)));
  Idiomorph.defaults.callbacks.beforeNodeMorphed = (element) => !chosen.has(element);

  /* The live stream, and a slow look while it is down */
  let poll = 0;
  const refresh = () => document.hidden || document.querySelectorAll("[data-live-part]").forEach((part) => htmx.trigger(part, "live"));

  function live(state) {
    if (body.dataset.live === state) return;
    body.dataset.live = state;
    clearInterval(poll);
    if (state === "down") poll = setInterval(refresh, POLL_MS);
    // a stream that opens says `change` at once, so nothing is lost in between
  }
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
  document.addEventListener("htmx:sseOpen", () => live("up"));
  document.addEventListener("htmx:sseError", () => live("down"));
  if (document.querySelector("[data-live-part]") && !document.querySelector("[sse-connect]")) live("down");

  // An answer that comes late must not take back what is being typed. Of any other element that has the focus, a button, the
  // same setting would keep the words, and so an old word on a new order.
  const typed = () => document.activeElement?.matches("input, textarea, select") ?? false;
  Object.defineProperty(Idiomorph.defaults, "ignoreActiveValue", { enumerable: true, get: typed });
  // A connection that is lost comes back by itself, and the page says so. The library would write the bare event to the
  // console as an error; without the event it only tells the page.
  class LiveSource extends EventSource {
    set onerror(tell) {
      this.addEventListener("error", () => tell());
    }
  }
  htmx.createEventSource = (url) => new LiveSource(url); // the ticket says who asks; no cookie goes along
  // Menu and tabs are strips on a phone.
  // Only the strip itself moves: scrollIntoView would also scroll the page down to a menu's last items.
  for (const place of document.querySelectorAll(".nav-underline .active, .menu [aria-current]")) {
    const strip = place.closest(".nav-underline, .menu");
    const [own, outer] = [place.getBoundingClientRect(), strip.getBoundingClientRect()];
    strip.scrollLeft += own.left - outer.left - (outer.width - own.width) / 2;
  }
  localise(document);
  tick();
  setInterval(tick, 1000);
})();
