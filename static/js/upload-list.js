/* The uploads as the page shows them: those that want an answer first, then what is under way. */
"use strict";
function listUploads(uploads) {
  const SHOWN = 100;
  const { words, say, refusal, shown, size, time } = fileWords;
  const at = (id) => document.getElementById(id);
  let frame = 0;

  const REFUSED = new Set(["exists", "failed"]);
  const EVERY_MS = 150;

  function stateOf(item) {
    if (item.state === "sending") return say("sending", { done: size(item.sentBytes), size: size(item.file.size) });
    if (item.state === "done") return item.sha256 ? words.done : words.done_unsure;
    if (REFUSED.has(item.state)) return refusal({ code: item.error, message: item.detail });
    return words[item.state];
  }
  function drawUploads() {
    frame = 0;
    const { items, active } = uploads;
    at("uploads").hidden = !items.length;
    const first = { failed: 0, exists: 0, sending: 1, checking: 1, again: 1, waiting: 2 };
    const rows = items.map((item, index) => ({ item, index })).sort((a, b) => (first[a.item.state] ?? 3) - (first[b.item.state] ?? 3) || a.index - b.index).slice(0, SHOWN);
    const live = new Set(active);
    place(rows.map(({ item }) => drawUpload(item, live.has(item))));
    const done = items.filter((item) => item.state === "done").length;
    const counted = items.filter((item) => item.state === "done" || live.has(item));
    const bytes = counted.reduce((sum, item) => sum + item.file.size, 0);
    const written = counted.reduce((sum, item) => sum + (item.state === "done" ? item.file.size : item.sentBytes), 0);
    const left = active.reduce((sum, item) => sum + item.file.size - item.sentBytes, 0);
    at("uploads-title").textContent = say("uploads", { done, all: items.length });
    const { speed } = uploads;
    at("uploads-speed").textContent = active.length && speed > 1 ? `${say("speed", { size: size(speed) })} · ${say("left", { time: time(left / speed) })}` : "";
    at("uploads-all").value = bytes ? written / bytes : done / Math.max(1, counted.length);
    at("uploads-cancel").hidden = !active.length;
    at("uploads-clear").hidden = active.length > 0;
    const there = items.filter((item) => item.state === "exists");
    at("uploads-replace").hidden = there.length < 2;
    at("uploads-replace").textContent = say("replace_all", { n: there.length });
  }
  /* Rows are moved only when their order is another: a button that is being pressed must stay where it is. */
  function place(rows) {
    const list = at("upload-list");
    if (rows.length !== list.children.length || rows.some((row, index) => row !== list.children[index])) list.replaceChildren(...rows);
  }
  function drawUpload(item, live) {
    item.row ??= at("upload-row").content.firstElementChild.cloneNode(true);
    item.row.upload = item;
    item.row.dataset.state = item.state;
    item.row.querySelector(".upload-name").textContent = shown(item.label);
    item.row.querySelector(".upload-name").title = shown(item.path);
    item.row.querySelector(".upload-state").textContent = stateOf(item);
    item.row.querySelector("progress").value = item.state === "done" ? 1 : item.sentBytes / Math.max(1, item.file.size);
    const offered = { replace: item.state === "exists", skip: item.state === "exists", retry: item.state === "failed", cancel: live };
    for (const [name, on] of Object.entries(offered)) item.row.querySelector(`[data-do=${name}]`).hidden = !on;
    return item.row;
  }

  at("upload-list").addEventListener("click", ({ target }) => {
    const name = target.closest("[data-do]")?.dataset.do;
    const item = target.closest("li")?.upload;
    if (name === "replace") uploads.retry(item, true);
    if (name === "retry") uploads.retry(item);
    if (name === "skip") uploads.cancel(item, "skipped");
    if (name === "cancel") uploads.cancel(item);
  });
  at("uploads-cancel").addEventListener("click", () => uploads.active.forEach((item) => uploads.cancel(item)));
  at("uploads-clear").addEventListener("click", () => uploads.clear());
  at("uploads-replace").addEventListener("click", () => {
    uploads.replaceAll = true;
    uploads.items.filter((item) => item.state === "exists").forEach((item) => uploads.retry(item, true));
  });
  return { draw: () => { frame ||= setTimeout(drawUploads, EVERY_MS); } };
}
