/* The files of an instance: a folder at a time, by a line to the instance itself. Every name is text, never markup. */
"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const box = at("files");
  const { words, language, say, refusal, shown, size } = fileWords;
  const when = new Intl.DateTimeFormat(language, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const order = new Intl.Collator(language, { numeric: true });
  const PREVIEW = 1 << 20;
  const view = { path: "", entries: [], more: false, freeKb: null, sort: "name", down: false, picked: new Set(), ready: false, asked: 0 };

  const join = (folder, name) => `${folder === "/" ? "" : folder}/${name}`;
  const parent = (path) => path.slice(0, path.lastIndexOf("/")) || "/";

  async function leave(body) {
    let reply;
    let answer;
    try {
      reply = await fetch(box.dataset.streams, { method: "POST", headers: { "Content-Type": "application/json", "X-CSRFToken": box.dataset.csrf }, body: JSON.stringify(body) });
      answer = await reply.json();
    } catch {
      throw new FileRefusal("lost");
    }
    if (reply.status !== 201) throw new FileRefusal(answer.code || "refused", answer.detail);
    return answer.url;
  }
  const line = new FileLine(() => leave({ kind: "files" }));

  /* -- one folder */
  const encode = (path) => path.split("/").map((part) => (/\p{Cs}/u.test(part) ? "" : encodeURIComponent(part))).join("/");
  function wanted() {
    try {
      const path = decodeURIComponent(location.hash.slice(1));
      return path.startsWith("/") ? path : box.dataset.home;
    } catch {
      return box.dataset.home;
    }
  }
  function go(path) {
    if (`#${encode(path)}` !== location.hash) history.pushState(null, "", `#${encode(path)}`);
    load(path);
  }

  async function load(path) {
    const asked = ++view.asked;
    if (path !== view.path) view.picked.clear();
    view.path = path;
    crumbs();
    box.setAttribute("aria-busy", "true");
    const found = [];
    try {
      const last = await line.request({ do: "list", path }, { onWord: (word) => found.push(...word.entries) });
      if (asked !== view.asked) return;
      Object.assign(view, { entries: found, more: last.more, freeKb: last.free_kb });
      note("");
    } catch (error) {
      if (asked !== view.asked) return;
      view.entries = [];
      note(refusal(error));
    }
    box.removeAttribute("aria-busy");
    draw();
  }
  const again = () => load(view.path);
  let soon = 0;
  function againSoon() {
    clearTimeout(soon);
    soon = setTimeout(again, 400);
  }
  function note(text) {
    const place = at("files-note");
    place.hidden = !text;
    place.querySelector("span").textContent = text;
  }

  function crumbs() {
    const parts = view.path.split("/").filter(Boolean);
    const steps = [["/", "/"], ...parts.map((part, index) => [shown(part), `/${parts.slice(0, index + 1).join("/")}`])];
    at("files-path").replaceChildren(...steps.map(([text, path], index) => {
      const step = document.createElement("button");
      step.type = "button";
      step.textContent = text;
      step.addEventListener("click", () => go(path));
      if (index === steps.length - 1) step.setAttribute("aria-current", "page");
      return step;
    }));
    at("files-path").scrollLeft = 1e6;
  }

  const isFolder = (entry) => entry.kind === "folder" || entry.leads_to === "folder";
  function sorted() {
    const all = at("files-hidden").checked;
    const rows = view.entries.filter((entry) => all || !entry.name.startsWith(".") || entry.unfinished);
    const by = view.sort === "name" ? (a, b) => order.compare(a.name, b.name) : (a, b) => a[view.sort] - b[view.sort];
    return rows.sort((a, b) => isFolder(b) - isFolder(a) || (view.down ? -by(a, b) : by(a, b)));
  }

  function draw() {
    const rows = sorted();
    at("files-rows").replaceChildren(...rows.map(row));
    const empty = at("files-empty");
    empty.hidden = rows.length > 0 || !at("files-note").hidden;
    empty.textContent = view.entries.length ? words.only_hidden : words.empty;
    at("files-count").textContent = view.more ? say("more", { n: view.entries.length }) : say("entries", { n: rows.length });
    at("files-free").textContent = view.freeKb === null ? "" : say("free", { size: size(view.freeKb * 1024) });
    for (const head of document.querySelectorAll("[data-sort]")) {
      head.closest("th").setAttribute("aria-sort", head.dataset.sort !== view.sort ? "none" : view.down ? "descending" : "ascending");
    }
    picked();
  }

  function row(entry) {
    const made = at("file-row").content.firstElementChild.cloneNode(true);
    const tag = entry.unfinished ? "unfinished" : entry.kind === "link" ? (isFolder(entry) ? "link_to_folder" : "link") : entry.kind === "other" ? "other" : "";
    const length = isFolder(entry) || entry.kind === "other" ? "" : size(entry.size);
    const changed = new Date(entry.changed_at * 1000);
    made.dataset.kind = isFolder(entry) ? "folder" : entry.kind;
    made.entry = entry;
    made.querySelector(".file-name").textContent = shown(entry.name);
    made.querySelector("[data-tag]").hidden = !tag;
    made.querySelector("[data-tag]").textContent = tag && words[tag];
    made.querySelector("[data-size]").textContent = length;
    made.querySelector("[data-small]").textContent = [length, when.format(changed)].filter(Boolean).join(" · ");
    made.querySelector("[data-changed]").textContent = when.format(changed);
    made.querySelector("[data-changed]").dateTime = changed.toISOString();
    const pick = made.querySelector("[data-pick]");
    pick.checked = view.picked.has(entry.name);
    pick.setAttribute("aria-label", shown(entry.name));
    const plain = !isFolder(entry) && entry.kind !== "other";
    for (const only of ["look", "sum"]) made.querySelector(`[data-do=${only}]`).hidden = !plain;
    made.querySelector("[data-do=download]").hidden = entry.kind === "other";
    return made;
  }

  function picked() {
    const names = new Set(view.entries.map((entry) => entry.name));
    for (const name of view.picked) if (!names.has(name)) view.picked.delete(name);
    at("files-picked").hidden = !view.picked.size;
    at("files-picked-count").textContent = say("entries", { n: view.picked.size });
    const boxes = [...document.querySelectorAll("[data-pick]")];
    at("pick-all").checked = boxes.length > 0 && boxes.every((one) => one.checked);
  }

  /* -- what can be done with an entry */
  const DEEDS = {
    open: (entry) => (isFolder(entry) ? go(join(view.path, entry.name)) : entry.kind !== "other" && look(entry)),
    download: (entry) => download(join(view.path, entry.name)),
    look,
    rename: (entry) => {
      at("move-to").value = join(view.path, entry.name);
      const from = join(view.path, entry.name);
      ask("move-dialog", () => line.request({ do: "move", path: from, to: at("move-to").value }));
      const field = at("move-to");
      field.setSelectionRange(field.value.lastIndexOf("/") + 1, field.value.length);
    },
    copy: async (entry) => {
      await navigator.clipboard.writeText(join(view.path, entry.name));
      toast(words.copied);
    },
    sum: async (entry) => {
      open(entry, words.loading);
      try {
        const { sha256 } = await line.request({ do: "sum", path: join(view.path, entry.name) });
        open(entry, "", sha256);
      } catch (error) {
        open(entry, refusal(error));
      }
    },
    delete: (entry) => remove([entry]),
  };

  async function download(path) {
    try {
      const link = document.createElement("a");
      link.href = await leave({ kind: "download", path });
      if (uploads.active.length) link.target = "_blank"; /* some browsers end a page's connections when it leads elsewhere */
      link.rel = "noopener noreferrer";
      link.click();
    } catch (error) {
      note(refusal(error));
    }
  }

  function open(entry, text, content) {
    at("look-title").textContent = shown(entry.name);
    at("look-note").textContent = text;
    at("look-note").hidden = !text;
    at("look-text").hidden = content === undefined;
    at("look-text").textContent = content ?? "";
    at("look-download").onclick = () => download(join(view.path, entry.name));
    if (!at("look-dialog").open) at("look-dialog").showModal();
  }
  async function look(entry) {
    open(entry, words.loading);
    const pieces = [];
    let whole = 0;
    try {
      await line.request({ do: "read", path: join(view.path, entry.name), most: PREVIEW }, { onWord: (head) => { whole = head.size; }, onBytes: (piece) => pieces.push(piece) });
    } catch (error) {
      return open(entry, refusal(error));
    }
    const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
    if (bytes.subarray(0, 8192).includes(0)) return open(entry, `${size(whole)} · ${words.binary}`);
    return open(entry, whole > PREVIEW ? say("cut", { size: size(PREVIEW) }) : "", new TextDecoder().decode(bytes));
  }

  function remove(entries) {
    at("delete-title").textContent = entries.length === 1 ? say("delete_one", { name: shown(entries[0].name) }) : say("delete_many", { n: entries.length });
    at("delete-words").textContent = entries.some((entry) => entry.kind === "folder") ? words.delete_folder : words.delete_file;
    at("delete-list").replaceChildren(...(entries.length > 1 ? entries.slice(0, 20) : []).map((entry) => Object.assign(document.createElement("li"), { textContent: shown(entry.name) })));
    const paths = entries.map((entry) => join(view.path, entry.name));
    ask("delete-dialog", async () => {
      for (let from = 0; from < paths.length; from += 100) await line.request({ do: "remove", paths: paths.slice(from, from + 100) });
    });
  }

  /* A dialog that stays open and says why while what it asks for is refused. */
  function ask(id, work) {
    const dialog = at(id);
    const wrong = dialog.querySelector("[role=alert]");
    const button = dialog.querySelector("[value=yes]");
    wrong.hidden = true;
    button.disabled = false;
    dialog.querySelector("form").onsubmit = async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        await work();
        dialog.close();
        again();
      } catch (error) {
        wrong.textContent = refusal(error);
        wrong.hidden = false;
        button.disabled = false;
      }
    };
    dialog.showModal();
  }
  function toast(text) {
    const made = at("toast-error").content.firstElementChild.cloneNode(true);
    made.classList.remove("note-error");
    made.querySelector("[data-text]").textContent = text;
    at("toasts").append(made);
  }

  /* -- uploads */
  const uploads = new Uploads({
    leave: () => leave({ kind: "files" }),
    sums: box.dataset.sums,
    onChange: () => uploadList.draw(),
    onDone: (item) => { if (item.path.startsWith(join(view.path, ""))) againSoon(); },
  });
  const uploadList = listUploads(uploads);

  async function take({ files, folders = [] }) {
    const folder = view.path;
    if (!files.length && !folders.length) return;
    uploads.add(files.map(({ file, path }) => ({ file, path: join(folder, path), label: path })));
    at("uploads").hidden = !uploads.items.length;
    at("uploads").scrollIntoView({ block: "nearest" });
    for (const path of folders) {
      try {
        await line.request({ do: "make_folder", path: join(folder, path) });
      } catch (error) {
        if (error.code !== "exists") note(refusal(error));
      }
    }
    if (folders.length) againSoon();
  }

  /* -- the page */
  box.addEventListener("click", (event) => {
    const go_ = event.target.closest("[data-go]");
    const deed = event.target.closest("[data-do]");
    const head = event.target.closest("[data-sort]");
    if (go_) go(go_.dataset.go);
    if (head) {
      view.down = view.sort === head.dataset.sort && !view.down;
      view.sort = head.dataset.sort;
      draw();
    }
    if (!deed) return;
    deed.closest("details")?.removeAttribute("open");
    DEEDS[deed.dataset.do](deed.closest("tr").entry);
  });
  box.addEventListener("change", ({ target }) => {
    if (target.matches("[data-pick]")) view.picked[target.checked ? "add" : "delete"](target.closest("tr").entry.name);
    if (target.id === "pick-all") for (const each of sorted()) view.picked[target.checked ? "add" : "delete"](each.name);
    if (target.id === "files-hidden") localStorage.setItem("files-hidden", target.checked ? "1" : "");
    draw();
  });
  at("files-refresh").addEventListener("click", again);
  at("files-note").querySelector("button").addEventListener("click", again);
  at("delete-picked").addEventListener("click", () => remove(view.entries.filter((entry) => view.picked.has(entry.name))));
  at("pick-files").addEventListener("click", () => at("files-input").click());
  at("pick-folder").addEventListener("click", () => at("folder-input").click());
  for (const input of [at("files-input"), at("folder-input")]) {
    input.addEventListener("change", () => {
      take({ files: Array.from(input.files, (file) => ({ file, path: file.webkitRelativePath || file.name })) });
      input.value = "";
    });
  }
  at("new-folder").addEventListener("click", () => {
    at("folder-name").value = "";
    ask("folder-dialog", () => line.request({ do: "make_folder", path: join(view.path, at("folder-name").value) }));
  });
  at("files-hidden").checked = localStorage.getItem("files-hidden") === "1";

  let depth = 0;
  const carries = (event) => view.ready && event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (carries(event)) { depth++; box.classList.add("dropping"); } });
  addEventListener("dragleave", (event) => { if (carries(event) && --depth <= 0) { depth = 0; box.classList.remove("dropping"); } });
  addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    box.classList.remove("dropping");
    take(await dropped.of(event.dataTransfer));
  });
  addEventListener("popstate", () => view.ready && load(wanted()));
  addEventListener("beforeunload", (event) => { if (uploads.active.length) event.preventDefault(); });

  function follow() {
    const ready = at("files-state").querySelector("[data-files=ready]") !== null;
    if (ready === view.ready) return;
    view.ready = ready;
    box.hidden = at("files-actions").hidden = !ready;
    if (ready) load(view.path || wanted());
  }
  at("files-state").addEventListener("htmx:afterSettle", follow);
  follow();
})();
