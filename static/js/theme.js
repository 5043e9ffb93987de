// Sets the colours before the first paint: the choice kept in this browser, else what the system asks for.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const order = ["auto", "light", "dark"];

  function chosen() {
    try {
      const kept = localStorage.getItem("berth-theme");
      return order.includes(kept) ? kept : "auto";
    } catch {
      return "auto"; // storage may be forbidden; the system's choice still holds
    }
  }

  function apply() {
    const choice = chosen();
    root.dataset.themeChoice = choice;
    root.dataset.bsTheme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
    root.dispatchEvent(new CustomEvent("berth:theme", { bubbles: true }));
  }

  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-toggle]")) return;
    const next = order[(order.indexOf(chosen()) + 1) % order.length];
    try {
      localStorage.setItem("berth-theme", next);
    } catch {
      /* not kept, then */
    }
    apply();
  });
  apply();
})();
