// The form of a sync: shows what belongs to the chosen rhythm alone, and proposes the reader's own time zone.
(() => {
  const form = document.querySelector("[data-sync-form]");
  const repeat = form?.querySelector("[name=repeat]");
  if (!repeat) return;
  const show = () => {
    for (const part of form.querySelectorAll("[data-repeat]")) part.hidden = part.dataset.repeat !== repeat.value;
  };
  const zone = form.querySelector("[name=time_zone]");
  if (zone.value === "UTC") zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  repeat.addEventListener("change", show);
  show();
})();
