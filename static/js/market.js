// The market's keys and habits: "/" goes to the search line, folds stay as the reader left them, notes of the line go away.
(() => {
  const line = () => document.getElementById("q");
  const typing = (element) => element.closest?.("input, select, textarea, [contenteditable], dialog[open]");

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    event.preventDefault();
    line()?.focus();
    line()?.select();
  });
  document.addEventListener("click", (event) => {
    const close = event.target.closest?.("[data-clear]");
    if (!close) return;
    document.getElementById(close.dataset.clear).replaceChildren();
    line()?.focus();
  });
  // A reader who unfolds a section keeps it unfolded, whatever the server would draw.
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
    !(name === "open" && element.tagName === "DETAILS" && !element.matches(".drop"));
  // A link that is to open elsewhere is the browser's affair, not htmx's.
  document.addEventListener("click", (event) => {
    if ((event.ctrlKey || event.metaKey || event.shiftKey) && event.target.closest?.("a[hx-get]")) event.stopImmediatePropagation();
  }, true);
  // The tray says what is picked; the buttons of the rows follow it.
  document.addEventListener("htmx:afterSettle", () => {
    const picks = (document.getElementById("compare-tray")?.dataset.picks || "").split(",");
    for (const button of document.querySelectorAll(".pick-button")) button.setAttribute("aria-pressed", String(picks.includes(button.value)));
  });
  // What was pressed may be gone with its filter: the keyboard goes on from the results.
  document.addEventListener("htmx:afterSettle", ({ target }) => {
    if (target.id === "market" && document.activeElement === document.body) document.getElementById("results")?.focus({ preventScroll: true });
  });
  // An answer that comes after the next change would take that change back: it is dropped, since the next one is under way.
  const changed = new WeakSet();
  const asking = (element) => element.form?.matches("[hx-sync]") ? element.form : element.closest?.("form[hx-sync]");
  for (const name of ["input", "change"]) document.addEventListener(name, ({ target }) => asking(target) && changed.add(asking(target)), true);
  document.addEventListener("htmx:beforeRequest", ({ detail }) => asking(detail.elt) && changed.delete(asking(detail.elt)));
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const form = detail.requestConfig && asking(detail.requestConfig.elt);
    if (form && changed.has(form)) detail.shouldSwap = false;
  });
})();
