// The form of timers reads times in the reader's own zone, unless the instance has one already.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (detail.verb === "get" && detail.path.endsWith("/schedule")) detail.parameters.zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
});
