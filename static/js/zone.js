// A date and time that is typed in the reader's own zone: tells the server how far that zone is from UTC at that moment.
(() => {
  const words = document.querySelector("[data-zone-words]");
  const field = document.querySelector("input[data-zoned]");
  const offset = field?.form.querySelector("[name=zone_offset]");
  if (!offset) return;
  const tell = () => {
    const at = new Date(field.value); // without a zone it is read as local
    offset.value = Number.isNaN(at.getTime()) ? "" : String(at.getTimezoneOffset());
  };
  words.textContent = `${words.dataset.zoneWords} ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
  field.addEventListener("input", tell);
  field.form.addEventListener("submit", tell);
  tell();
})();
