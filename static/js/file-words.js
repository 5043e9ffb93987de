/* What the page of files says: words from the server in the reader's language, sizes, lengths of time, names made safe to show. */
"use strict";
const fileWords = (() => {
  const words = JSON.parse(document.getElementById("file-words").textContent);
  const language = document.documentElement.lang || "en";
  const say = (key, values = {}) => words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const refusal = (error) => words.refusals[error.code] || (error.code === "failed" && error.message && say("host_says", { words: shown(error.message.slice(0, 300).replace(/[“”]/g, '"')) })) || words.refusals.refused;
  /* Bytes that are no letters are shown as what they are, so that a name cannot pretend to be another. */
  const shown = (name) => name.replace(/\p{Cs}/gu, "\ufffd").replace(/\n/g, "\u21b5").replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
  function size(bytes) {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let unit = 0;
    let left = bytes;
    while (left >= 1000 && unit < units.length - 1) { left /= 1024; unit++; }
    return `${new Intl.NumberFormat(language, { maximumFractionDigits: unit && left < 100 ? 1 : 0 }).format(left)} ${units[unit]}`;
  }
  function time(seconds) {
    const [count, unit] = seconds < 90 ? [seconds, "second"] : seconds < 5400 ? [seconds / 60, "minute"] : [seconds / 3600, "hour"];
    return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 0 }).format(Math.ceil(count));
  }
  return { words, language, say, refusal, shown, size, time };
})();
