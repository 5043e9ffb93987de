// Draws an instance's use over time with uPlot, from the JSON that [data-graphs] names; looks again when the page is told to.
(() => {
  const holder = document.querySelector("[data-graphs]");
  if (!holder) return;
  const plots = new Map();
  const language = document.documentElement.lang || "en";
  const formats = (options) => new Intl.DateTimeFormat(language, { hourCycle: "h23", ...options });
  const clock = formats({ hour: "2-digit", minute: "2-digit" });
  const exact = formats({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const day = formats({ month: "short", day: "numeric" });
  const dayAndClock = formats({ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  const isLong = () => ["7d", "30d", "1y"].includes(holder.dataset.range);
  const colors = ["--tblr-primary", "--tblr-orange"];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // light-dark() is resolved by the browser only where it is used: ask an element that uses it.
  const probe = document.createElement("span");
  probe.hidden = true;
  holder.append(probe);

  function paint(name) {
    probe.className = "";
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  }

  function amount(value, unit) {
    if (value == null) return "–";
    const digits = Math.abs(value) < 10 ? 1 : 0;
    return `${value.toFixed(digits)} ${unit}`;
  }

  function build(graph, series) {
    const box = holder.querySelector(`[data-graph="${graph.name}"]`);
    const axis = { stroke: paint("--tblr-secondary"), grid: { stroke: paint("--tblr-border-color"), width: 1 }, ticks: { show: false }, font: `11px ${css("--tblr-font-sans-serif")}` };
    const options = {
      width: box.clientWidth,
      height: 150,
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      legend: { show: false },
      scales: { y: { range: (_plot, _low, high) => [0, graph.max || Math.max(high * 1.15, graph.least || 1)] } },
      axes: [
        { ...axis, size: 26, space: 70, values: (_plot, marks) => marks.map((mark) => (isLong() ? day : clock).format(mark * 1000)) },
        { ...axis, size: 52, space: 36, values: (_plot, marks) => marks.map((mark) => `${Number(mark.toFixed(1))} ${graph.unit}`) },
      ],
      series: [{}, ...graph.series.map((_, index) => ({ stroke: paint(colors[index]), width: 1.75, points: { show: false }, spanGaps: false }))],
      hooks: { setCursor: [(plot) => read(box, graph, plot)] },
    };
    box.replaceChildren();
    plots.set(graph.name, new uPlot(options, series, box));
  }

  function read(box, graph, plot) {
    const index = plot.cursor.idx ?? plot.data[0].length - 1;
    const text = graph.series.map((_, at) => amount(plot.data[at + 1][index], graph.unit)).join(" · ");
    const when = plot.cursor.idx == null ? "" : ` ${(isLong() ? dayAndClock : exact).format(plot.data[0][index] * 1000)}`;
    box.closest("[data-graph-card]").querySelector("[data-now]").textContent = text + when;
  }

  function draw(answer) {
    holder.querySelector("[data-graphs-empty]").hidden = answer.at.length > 1;
    holder.querySelector(".graphs").hidden = answer.at.length <= 1;
    if (answer.at.length <= 1) return;
    const named = new Set(answer.graphs.map((graph) => graph.name));
    for (const box of holder.querySelectorAll("[data-graph]")) box.closest("[data-graph-card]").hidden = !named.has(box.dataset.graph);
    tabulate(answer.gpus);
    for (const graph of answer.graphs) {
      const key = holder.querySelector(`[data-graph="${graph.name}"]`).closest("[data-graph-card]").querySelector("[data-second]");
      if (key) key.hidden = graph.series.length < 2;
      const series = [answer.at, ...graph.series];
      const plot = plots.get(graph.name);
      if (plot) plot.setData(series);
      else build(graph, series);
      read(holder.querySelector(`[data-graph="${graph.name}"]`), graph, plots.get(graph.name));
    }
  }

  /* One GPU is in the graphs already; of several each has a row. */
  function tabulate(gpus) {
    const table = holder.querySelector("[data-gpus]");
    table.hidden = gpus.length < 2;
    table.querySelector("tbody").replaceChildren(...gpus.map(([uuid, use, memory, heat, power]) => {
      const row = document.createElement("tr");
      [uuid, `${use} %`, `${(memory / 1024).toFixed(1)} GB`, `${heat} °C`, `${power} W`].forEach((text, place) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        cell.className = place ? "num text-end" : "text-break small";
        row.append(cell);
      });
      return row;
    }));
  }

  async function look() {
    const range = holder.dataset.range;
    try {
      const reply = await fetch(`${holder.dataset.graphs}?range=${range}`, { headers: { Accept: "application/json" } });
      if (reply.ok && range === holder.dataset.range) draw(await reply.json());
    } catch {
      /* the next look will tell */
    }
  }

  function again() {
    plots.forEach((plot) => plot.destroy());
    plots.clear();
    look();
  }

  function choose(button) {
    holder.dataset.range = button.dataset.rangeKey;
    for (const one of holder.querySelectorAll("[data-range-key]")) one.setAttribute("aria-pressed", String(one === button));
    holder.querySelector("[data-range-step]").textContent = button.dataset.stepWords;
    again();
  }
  holder.addEventListener("click", (event) => {
    const button = event.target.closest("[data-range-key]");
    if (button) choose(button);
  });

  new ResizeObserver(() => plots.forEach((plot, name) => {
    const width = holder.querySelector(`[data-graph="${name}"]`).clientWidth;
    if (width && width !== plot.width) plot.setSize({ width, height: 150 });
  })).observe(holder);
  document.addEventListener("berth:theme", again);
  look();
  setInterval(() => document.hidden || look(), 20_000);
})();
