/* Follows a log: looks again every few seconds, stays at the end unless the reader scrolled away, marks what was searched. */
"use strict";
(() => {
  const EVERY_MS = 3000;
  const SOON_MS = 700;
  const part = document.getElementById("log");
  const follow = document.getElementById("log-follow");
  const wanted = document.getElementById("log-q").value.toLowerCase();
  let timer = 0;
  let atEnd = true;

  const lines = () => part.querySelector("[data-log]");

  function mark(line) {
    const text = line.textContent;
    const at = text.toLowerCase().indexOf(wanted);
    if (!wanted || at < 0 || line.querySelector("mark")) return;
    const found = document.createElement("mark");
    found.textContent = text.slice(at, at + wanted.length);
    line.replaceChildren(text.slice(0, at), found, text.slice(at + wanted.length));
  }

  function show() {
    part.querySelectorAll(".log-line span").forEach(mark);
    const box = lines();
    if (box && atEnd) box.scrollTop = box.scrollHeight;
    plan();
  }

  /* While the host is being asked its answer is looked for soon, whoever follows or not. */
  function plan() {
    clearTimeout(timer);
    const reading = part.querySelector("[data-reading]");
    if (reading) timer = setTimeout(look, SOON_MS);
    else if (follow.checked) timer = setTimeout(look, EVERY_MS);
  }

  function look() {
    if (document.hidden) return plan();
    const box = lines();
    atEnd = !box || box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    htmx.trigger(part, "look");
    return undefined;
  }

  part.addEventListener("htmx:afterSettle", show);
  part.addEventListener("htmx:sendError", plan);
  part.addEventListener("htmx:responseError", plan);
  follow.addEventListener("change", plan);
  document.getElementById("log-tail").addEventListener("change", (event) => event.target.form.requestSubmit());
  show();
})();
