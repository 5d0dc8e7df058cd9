// Draws the report of a run from the JSON in the page. Everything from data becomes text nodes or numbers in
// attributes, because names of samples are arbitrary.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const report = data.report, page = document.getElementById("page");

// ---- formatting

const number = (value, digits = 3) => {
  if (!isFinite(value)) return "–";
  const size = Math.abs(value);
  const places = size === 0 || size >= 10 ** (digits - 1) ? 0 : Math.min(6, digits - 1 - Math.floor(Math.log10(size)));
  return Number(value.toFixed(places)).toLocaleString("en", { maximumFractionDigits: places });
};
const scaled = (value, units, step) => {
  let unit = 0;
  while (Math.abs(value) >= step && unit < units.length - 1) value /= step, ++unit;
  return `${number(value)} ${units[unit]}`;
};
const bytes = (value) => scaled(value, ["B", "kB", "MB", "GB", "TB"], 1000);
const time = (us) => scaled(us, ["µs", "ms", "s"], 1000);
const time_like = (us, most) => {  // in the unit of `most`
  const [unit, name] = most >= 1e6 ? [1e6, "s"] : most >= 1e3 ? [1e3, "ms"] : [1, "µs"];
  return `${number(us / unit)} ${name}`;
};
const seconds_like = (s, most) => {  // in the unit of `most`
  const [unit, name] = most >= 7200 ? [3600, "h"] : most >= 300 ? [60, "min"] : [1, "s"];
  return `${number(s / unit)} ${name}`;
};
const seconds = (s) => (s < 1 ? time(s * 1e6) : seconds_like(s, s));
const percent = (share) => `${number(100 * share, share < 0.1 ? 2 : 3)} %`;
const rate = (value) => `${number(Number(value.toPrecision(4)))}/s`;
const sum = (list) => list.reduce((a, b) => a + b, 0);
const plural = (count, noun) => `${number(count, 12)} ${noun}${count === 1 ? "" : "s"}`;

// ---- elements

function element(name, attributes = {}, ...children) {
  const is_svg = ["svg", "g", "rect", "line", "path", "text", "tspan", "title", "circle"].includes(name);
  const out = is_svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined) out.append(child.nodeType ? child : String(child));
  return out;
}
function section(heading, note, ...children) {
  page.append(element("section", {}, element("h2", {}, heading), note && element("p", { class: "note" }, note), children));
}
// A row may have one cell more than there are columns: text shown below it.
function table(columns, rows) {
  const cell = (tag, column, text) => element(tag, { class: column.class || "" }, text);
  const below = (words) => element("tr", {}, element("td", {}), element("td", { colspan: columns.length - 1 }, words));
  const row_of = (row) => [element("tr", row.length > columns.length ? { class: "with-words" } : {}, columns.map((c, i) => cell("td", c, row[i]))),
    row.length > columns.length ? below(row[columns.length]) : null];
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, columns.map((c) => cell("th", c, c.name)))), element("tbody", {}, rows.map(row_of))));
}
const legend = (entries) => element("div", { class: "legend" }, entries.map(([kind, words]) => {
  const swatch = element("i");
  swatch.style.background = `var(--${kind})`;
  return element("span", {}, swatch, words);
}));

// A chart is drawn for its width, so that text keeps its size; it is redrawn when the width changes.
const charts = [];
function chart(draw) {
  const place = element("div", { class: "chart" });
  charts.push(() => {
    const width = Math.max(260, Math.floor(place.clientWidth));
    const [height, ...children] = draw(width);
    place.replaceChildren(element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, children));
  });
  return place;
}
const ruler = document.createElement("canvas").getContext("2d");
function width_of(words, bold = false) {
  ruler.font = `${bold ? 600 : 400} 12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
  return ruler.measureText(words).width;
}
// As much of a name as fits; the full name is shown elsewhere.
function shortened(words, room) {
  if (width_of(words) <= room) return words;
  let length = words.length;
  while (length > 1 && width_of(`${words.slice(0, length)}…`) > room) --length;
  return `${words.slice(0, length)}…`;
}
const text = (x, y, words, anchor = "start", kind = "") =>
  element("text", { x, y, "text-anchor": anchor, class: kind }, words);
const line = (x1, y1, x2, y2, kind) => element("line", { x1, y1, x2, y2, class: kind });
function bar(x, y, width, height, kind, hint) {
  const out = element("rect", { x: x.toFixed(2), y, width: Math.max(0.7, width).toFixed(2), height, fill: `var(--${kind})` });
  if (hint) out.append(element("title", {}, hint));
  return out;
}

// About `count` round numbers from 0 to `most`; `unit`: 60 for minutes.
function ticks(most, count, unit = 1) {
  if (!(most > 0)) return [0];
  const raw = most / unit / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw));
  const round = [1, 2, 5, 10].map((m) => m * power), wide = round.find((s) => s >= raw * 0.999);
  const step = unit * (wide * unit <= most ? wide : round.findLast((s) => s * unit <= most));
  const out = [];
  for (let i = 0; i * step <= most * 1.0001; ++i) out.push(i * step);
  return out;
}
// Labels below an axis, within the picture, without those that would touch the previous one.
function axis(y, labels, width) {
  const out = [];
  let end = -Infinity;
  for (const [x, words] of labels) {
    const half = width_of(words) / 2;
    out.push(line(x, y, x, y + 4, "axis"));
    const middle = Math.min(x, width - half - 1);
    if (middle - half < end + 8) continue;
    out.push(text(middle, y + 17, words, "middle"));
    end = middle + half;
  }
  return out;
}
// A long name may wrap after a separator.
const breakable = (name) => name.split(/(?<=[/_.,:])/).flatMap((part) => [part, element("wbr")]).slice(0, -1);

// ---- sections

function headline() {
  const wall = report.wall_s || 0, rows = report.samples || 0, facts = [];
  const fact = (value, words) => facts.push(element("li", {}, element("b", {}, value), element("span", {}, words)));
  if (wall > 0) fact(percent((report.consumer_wait_s || 0) / wall), "of the time the consumer waited");
  if (rows > 0) fact(time((1e6 * (report.cpu_s || 0)) / rows), "CPU time per sample");
  if (report.consumer_samples_per_s) fact(rate(report.consumer_samples_per_s), "samples, with an infinitely fast loader");
  if (report.memory && report.memory.peak) fact(bytes(report.memory.peak), `peak memory, of ${bytes(report.memory.budget)}`);
  const what = (report.what_if || []).map((one) => element("li", {}, one.text || one.change));
  page.append(element("div", { class: "headline" },
    element("div", { class: "rate" }, wall > 0 ? `${number(report.samples_per_s || 0)} samples/s ` : "No samples yet",
      wall > 0 && element("small", {}, `${plural(rows, "sample")} in ${seconds(wall)}`) || null),
    report.limit && element("p", { class: "limit" }, `Limit: ${report.limit}`),
    element("ul", { class: "facts" }, facts),
    what.length > 0 && [element("h3", {}, "What if"), element("ul", { class: "what" }, what)] || null));
}

function history() {
  const moments = [...(report.history || [])].sort((a, b) => a.at_s - b.at_s);
  if (moments.length < 2) return;
  const end_of = (m, i) => (m.seconds ? m.at_s + m.seconds : i + 1 < moments.length ? moments[i + 1].at_s : m.at_s);
  const most_s = Math.max(...moments.map(end_of)), budget = (report.memory || {}).budget || 0;
  const share = (words, key, kind) => ({ words, kind, of: (m) => m[key] || 0, show: percent });
  const panels = [
    { name: "Throughput", series: [{ words: "samples", kind: "samples", of: (m) => m.samples_per_s, show: rate, area: true }], show: rate },
    { name: "Consumer waits", series: [{ ...share("waits", "wait", "wait"), area: true }], most: 1, show: percent },
    { name: "Busy", series: [share("workers", "workers_busy", "samples"), share("io", "io_busy", "read")], most: 1, show: percent },
    { name: "Settings", series: [["workers", "samples"], ["io", "read"], ["ready", "step"]].map(([key, kind]) =>
      ({ words: key, kind, of: (m) => m[key] || 0, show: (v) => number(v) })), show: (v) => number(v), whole: true, last: true },
    { name: "Memory", series: [{ words: "in use", kind: "memory", of: (m) => m.memory, show: bytes, area: true }], show: bytes,
      bound: budget },
  ].filter((p) => moments.some((m) => p.series.some((s) => isFinite(s.of(m)) && s.of(m) > 0)) || p.name === "Consumer waits");
  const decisions = report.decisions || [];
  for (const panel of panels) {
    const used = Math.max(...panel.series.map((s) => Math.max(...moments.map((m) => s.of(m) || 0))), 1e-9);
    // A budget far above the used memory would flatten the curve; it is then given as text.
    panel.shown_bound = panel.bound && panel.bound < 4 * used ? panel.bound : 0;
    panel.top = panel.whole ? Math.max(2, Math.ceil(used)) : panel.most || Math.max(used, panel.shown_bound) * 1.08;
    panel.ticks = ticks(panel.top, panel.whole ? Math.min(3, panel.top) : 2).filter((t) => !panel.whole || t === Math.round(t));
  }
  const left = Math.max(64, 8 + Math.max(...panels.flatMap((panel) => panel.ticks.map((t) => width_of(panel.show(t))))));
  const draw = (width) => {
    const right = 10, inner = width - left - right, top = decisions.length > 0 ? 26 : 4, height = 74, gap = 38;
    const x = (s) => left + (inner * s) / most_s, out = [], titles = [], readouts = [];
    panels.forEach((panel, p) => {
      const y0 = top + p * (height + gap) + 24, y1 = y0 + height;
      const y = (v) => y1 - (height * Math.min(v, panel.top)) / panel.top;
      for (const tick of panel.ticks)
        out.push(line(left, y(tick), left + inner, y(tick), "grid"), text(left - 8, y(tick) + 4, panel.show(tick), "end"));
      panel.series.forEach((one, k) => {
        // Curves of equal numbers are drawn next to each other.
        const beside = panel.whole ? 2 * (k - (panel.series.length - 1) / 2) : 0;
        let path = "";
        moments.forEach((m, i) => {
          const v = (y(one.of(m) || 0) - beside).toFixed(1), a = x(m.at_s).toFixed(1), b = x(end_of(m, i)).toFixed(1);
          path += `${i === 0 ? "M" : "L"}${a} ${v}L${b} ${v}`;
        });
        if (one.area) {
          const area = `${path}L${x(most_s).toFixed(1)} ${y1}L${x(moments[0].at_s).toFixed(1)} ${y1}Z`;
          out.push(element("path", { d: area, fill: `var(--${one.kind})`, "fill-opacity": 0.18 }));
        }
        out.push(element("path", { d: path, fill: "none", stroke: `var(--${one.kind})`, "stroke-width": 1.6, "stroke-linejoin": "round" }));
      });
      if (panel.shown_bound) out.push(line(left, y(panel.shown_bound), left + inner, y(panel.shown_bound), "budget"));
      const readout = text(left + inner, y0 - 10, "", "end", "halo");
      titles.push(text(left, y0 - 10, panel.name, "start", "strong halo"), readout);
      readouts.push({ readout, panel, room: inner - width_of(panel.name, true) - 16 });
    });
    const bottom = top + panels.length * (height + gap) - gap + 24;
    const labels = ticks(most_s, Math.max(2, Math.floor(inner / 90)), most_s >= 7200 ? 3600 : most_s >= 300 ? 60 : 1).map((s) => [x(s), seconds_like(s, most_s)]);
    out.push(...axis(bottom, labels, width), line(left, bottom, left + inner, bottom, "axis"));
    out.push(...marks(decisions, x, bottom), ...titles);
    const cursor = line(0, top + 20, 0, bottom, "cursor"), cover = element("rect", { x: left, y: 0, width: inner, height: bottom, fill: "transparent" });
    const say = (words_of, when) => readouts.forEach(({ readout, panel, room }) => {
      const before = [[null, when(panel)]], bound = panel.bound ? [[null, ` · budget ${bytes(panel.bound)}`]] : [];
      const all = panel.series.length === 1 ? [[null, words_of(panel.series[0], panel)]]
        : panel.series.flatMap((s, k) => [[s.kind, k > 0 ? "\u2002■ " : "■ "], [null, `${s.words} ${words_of(s, panel)}`]]);
      const fits = [[...before, ...all, ...bound], [...before, ...all], all, []]
        .find((parts) => width_of(parts.map(([, words]) => words).join("")) <= room);
      readout.replaceChildren(...fits.map(([kind, words]) => element("tspan", kind ? { style: `fill: var(--${kind})` } : {}, words)));
    });
    const length = sum(moments.map((m, i) => end_of(m, i) - m.at_s)) || 1;
    const rest = () => {
      cursor.style.visibility = "hidden";
      const mean = (s) => sum(moments.map((m, i) => (s.of(m) || 0) * (end_of(m, i) - m.at_s))) / length;
      say((s, panel) => s.show(panel.last ? s.of(moments[moments.length - 1]) : mean(s)), (panel) => (panel.last ? "at the end " : "mean "));
    };
    cover.addEventListener("pointermove", (event) => {
      const box = cover.getBoundingClientRect(), s = (most_s * (event.clientX - box.left)) / box.width;
      const at = moments.find((m, i) => s >= m.at_s && s <= end_of(m, i));
      if (!at) return rest();
      cursor.setAttribute("x1", x(s)), cursor.setAttribute("x2", x(s));
      cursor.style.visibility = "visible";
      say((one) => one.show(one.of(at) || 0), () => `at ${seconds_like(s, most_s)}: `);
    });
    cover.addEventListener("pointerleave", rest);
    rest();
    return [bottom + 24, out, cursor, cover];
  };
  const numbered = decisions.length > 0 ? " Numbers mark the tuner's decisions." : "";
  section("Over time", `Means over short intervals; time of the run without pauses.${numbered}`, chart(draw));
  if (decisions.length > 0) table_of(decisions);
}

// The tuner's decisions as numbered badges; those that would touch share one.
function marks(decisions, x, bottom) {
  const groups = [];
  decisions.forEach((d, i) => {
    const last = groups[groups.length - 1], at = x(d.at_s);
    if (last && at - last.x < 44) last.to = i + 1, last.all.push(at);
    else groups.push({ x: at, from: i + 1, to: i + 1, all: [at] });
  });
  return groups.map(({ x: at, from, to, all }) => {
    const words = from === to ? `${from}` : `${from}–${to}`, wide = Math.max(18, width_of(words) + 10);
    return element("g", {}, all.map((one) => line(one, 20, one, bottom, "decision")),
      element("rect", { x: at - wide / 2, y: 2, width: wide, height: 18, rx: 9, class: "badge" }), text(at, 15, words, "middle", "mark"));
  });
}

function table_of(decisions) {
  const columns = [{ name: "#", class: "number" }, { name: "at", class: "number" }, { name: "change", class: "change" },
    { name: "predicted", class: "number" }, { name: "obtained", class: "result" }], shown = 10;
  const obtained = (d) => (isFinite(d.obtained_samples_per_s) ? rate(d.obtained_samples_per_s) : "not measured yet") + (d.undone ? ", undone" : "");
  const rows = decisions.map((d, i) => [i + 1, seconds(d.at_s), `${d.knob} ${d.from} → ${d.to}`, rate(d.predicted_samples_per_s), obtained(d), d.why]);
  section("Tuner decisions", "Samples per second, as predicted and as obtained by each change.", table(columns, rows.slice(0, shown)),
    rows.length > shown && element("details", {}, element("summary", {}, `${rows.length - shown} more`), table(columns, rows.slice(shown))) || null);
}

const kinds = [["wait", "the consumer waits"], ["step", "the consumer works"], ["samples", "operators"],
  ["python", "operators and Python functions"], ["finish", "assembling a batch"], ["read", "reading"]];

// Sequential work compared with the run, for an average element.
function serial_and_parallel() {
  const elements = report.elements || 0, wall = report.wall_s || 0;
  if (elements === 0 || wall <= 0) return [];
  const io = report.io || {}, wait = report.consumer_wait_s || 0, read = Math.max(io.seconds || 0, io.cpu_s || 0), parts = (list) => list.filter(([, s]) => s > 0);
  const rows = [
    ["sequential", parts([["read", read / elements], ["samples", ((report.cpu_s || 0) - (io.cpu_s || 0)) / elements], ["step", (wall - wait) / elements]])],
    ["as it ran", parts([["wait", wait / elements], ["step", (wall - wait) / elements]])],
  ];
  const total = (row) => sum(row[1].map(([, s]) => s)), most = Math.max(...rows.map(total));
  const words = { read: "reading", samples: "operators", step: "consumer", wait: "waiting" };
  const draw = (width) => {
    const narrow = width < 560, left = narrow ? 0 : 12 + Math.max(...rows.map((r) => width_of(r[0], true))), right = 64, inner = width - left - right, out = [];
    rows.forEach((row, r) => {
      const y = narrow ? 18 + r * 48 : 4 + r * 32;
      out.push(narrow ? text(0, y - 5, row[0], "start", "strong") : text(left - 10, y + 16, row[0], "end", "strong"));
      let x = left;
      for (const [kind, s] of row[1]) {
        const wide = (inner * s) / most, label = [`${words[kind]} ${seconds(s)}`, seconds(s)].find((w) => width_of(w, true) + 12 < wide);
        out.push(bar(x, y, wide, 22, kind, `${words[kind]} ${seconds(s)}`));
        if (label) out.push(element("text", { x: x + 6, y: y + 15, style: `fill: ${kind === "read" ? "#1d2430" : "var(--back)"}; font-weight: 600` }, label));
        x += wide;
      }
      out.push(text(x + 8, y + 16, seconds(total(row))));
    });
    return [narrow ? 94 : 62, out];
  };
  const values = new Map(rows.flatMap((row) => row[1]));
  return [element("h3", {}, "An average element: sequential, and as it ran"),
    element("p", { class: "note" }, how_much_overlaps(total(rows[0]) / total(rows[1]))), chart(draw),
    legend([...values].map(([kind, s]) => [kind, `${words[kind]} ${seconds(s)}`]))];
}

function how_much_overlaps(ratio) {
  if (ratio > 1.05) return `Reading, operators and the consumer overlap: ${number(ratio)} times as fast as sequential work.`;
  const occupied = (report.history || []).reduce((sum, one) => sum + one.workers_busy * one.workers * one.seconds, 0);
  const waits = occupied > 2 * (report.cpu_s - ((report.io || {}).cpu_s || 0) + (report.core_wait_s || 0)) && report.limited_by !== "python";
  const why = { cores: `other programs used the cores: threads were runnable without a core for ${seconds(report.core_wait_s || 0)}.`,
    python: "one thread at a time runs Python functions, and the others wait for it.",
    "functions that wait": "functions wait. The first row does not include that: it shows CPU time of operators." }[waits ? "functions that wait" : report.limited_by];
  if (why) return `Hardly anything overlaps: ${why}`;
  return ratio > 0.9 ? "Hardly anything overlaps: the run is as slow as sequential work."
    : "The run is slower than sequential work: threads wait for something that is not shown here.";
}

function tracks() {
  const window = data.timeline;
  if (!window || !window.tracks || window.tracks.length === 0) return [];
  const us = 1e6 * (window.to_s - window.from_s), found = new Set();
  for (const track of window.tracks) for (const slice of track.slices) found.add(slice[2]);
  const draw = (width) => {
    const left = 78, right = 58, inner = width - left - right, out = [], scale = inner / us;
    let y = 22;
    out.push(text(width, 12, "busy", "end"));
    const deliveries = [];
    for (const track of window.tracks) {
      const is_consumer = track.name === "consumer", height = is_consumer ? 26 : 15;
      out.push(text(left - 8, y + height / 2 + 4, track.name, "end", is_consumer ? "strong" : ""));
      out.push(element("rect", { x: left, y, width: inner, height, class: "lane" }));
      let before = null, busy = 0;
      for (const [begin, whole, kind, times, sample] of track.slices) {
        const long = Math.min(whole, us - begin);
        if (kind !== "wait") busy += long;
        if (is_consumer && kind === "step" && times === 1) deliveries.push(begin);
        const x = left + begin * scale, wide = long * scale;
        if (before && before.kind === kind && x - before.end < 0.4 && wide < 1.5) {  // neighbors that cannot be told apart
          before.end = Math.max(before.end, x + wide);
          before.box.setAttribute("width", Math.max(0.7, before.end - before.x).toFixed(2));
          continue;
        }
        const hint = `${kind}${times > 1 ? ` × ${times}` : ""}: ${time(long)} at ${time(begin)}${sample ? `\n${sample}` : ""}`;
        const box = bar(x, y, wide, height, kind, hint);
        out.push(box);
        before = { kind, box, x, end: x + wide };
      }
      out.push(text(width, y + height / 2 + 4, percent(Math.min(1, busy / us)), "end"));
      y += height + (is_consumer ? 8 : 3);
    }
    if (deliveries.length < 60)
      for (const at of deliveries) out.push(line(left + at * scale, 22, left + at * scale, y, "decision"));
    const labels = ticks(us, Math.max(2, Math.floor(inner / 90))).map((t) => [left + t * scale, time_like(t, us)]);
    out.push(...axis(y + 4, labels, width), line(left, y + 4, left + inner, y + 4, "axis"));
    return [y + 26, out];
  };
  return [element("h3", {}, `Timeline: ${time(us)} of the last iteration, ${window.from_s > 0 ? `${seconds(window.from_s)} after it began` : "from its beginning"}`),
    element("p", { class: "note" }, "Dashed lines: the consumer took an element. Where its row is full of steps, the loader keeps up; where it waits, the " +
      "rows below show which threads were busy. Hover over a piece to see its sample."),
    chart(draw), legend(kinds.filter(([kind]) => found.has(kind)))];
}

function utilisation() {
  const children = [serial_and_parallel(), tracks()].flat();
  if (children.length > 0) section("Activity", null, children);
}

function sample_costs() {
  const cost = report.sample_cost, histogram = (cost || {}).histogram || [], total = sum(histogram.map((b) => b.count));
  if (total === 0) return;
  const at = (share) => {  // within the bucket that holds it
    let before = 0;
    for (const b of histogram) {
      if (before + b.count >= share * total) return b.from_us + ((b.to_us - b.from_us) * (share * total - before)) / b.count;
      before += b.count;
    }
    return histogram[histogram.length - 1].to_us;
  };
  const middle = at(0.5), draw = (width) => {
    const left = 28, right = 28, inner = width - left - right, top = 50, height = 130, bottom = top + height;
    const low = Math.log(Math.max(histogram[0].from_us, histogram[0].to_us / 2)), high = Math.log(histogram[histogram.length - 1].to_us);
    const x = (us) => left + (inner * (Math.log(Math.max(us, Math.exp(low))) - low)) / Math.max(1e-9, high - low);
    // Ranges have different widths: the height is the density of samples on the axis.
    const density = (b) => b.count / (x(b.to_us) - x(b.from_us)), most = Math.max(...histogram.map(density)), out = [], counts = [];
    for (const b of histogram) {
      if (b.count === 0) continue;
      const begin = x(b.from_us), wide = x(b.to_us) - begin, high = Math.max(1.5, (height * density(b)) / most), count = number(b.count, 12);
      out.push(bar(begin + 0.5, bottom - high, wide - 1, high, "samples", `${time(b.from_us)} to ${time(b.to_us)}: ${plural(b.count, "sample")}`));
      if (width_of(count) + 4 <= wide) counts.push(text(begin + wide / 2, bottom - high - 5, count, "middle", "halo"));
    }
    const labels = [];
    for (let power = -3; power < 9; ++power)
      for (const digit of [1, 2, 5]) {
        const us = digit * 10 ** power;
        if (Math.log(us) >= low && Math.log(us) <= high) labels.push([x(us), time(us)]);
      }
    out.push(line(left, bottom, left + inner, bottom, "axis"), ...axis(bottom, labels, width));
    let end = -Infinity;
    for (const [share, words] of [[0.5, "median"], [0.99, "99 % below"]]) {
      const label = `${words} ${time(at(share))}`, wide = width_of(label), place = x(at(share));
      const start = Math.max(left, Math.min(place - wide / 2, left + inner - wide));
      const row = start < end + 8 ? 12 : 27;  // on two lines where they would touch
      out.push(line(place, row + 3, place, bottom, "decision"), text(start, row, label));
      end = start + wide;
    }
    return [bottom + 24, out, counts];
  };
  const averaged = cost.averaged > 0 ? ` For ${percent(cost.averaged / total)} of them the cost is an average over neighbors: they ran together, or took microseconds.` : "";
  const name = (one) => [breakable(one.sample), one.of > 1 ? ` and ${one.of - 1} more, on average` : null];
  section("Cost per sample", `CPU time and time in Python functions of ${plural(total, "sample")}. The area of a bar is the number of samples.${averaged}`, chart(draw),
    (cost.slowest || []).length > 0 && [element("h3", {}, "Slowest samples"), table(
      [{ name: "sample", class: "name" }, { name: "cost", class: "number" }, { name: "× median", class: "number" }],
      cost.slowest.map((one) => [name(one), time(one.us), number(one.us / middle)]))] || null);
}

// Names with a bar and a value each; `rows`: [name, value, label of the bar, kind].
function bars(rows, most) {
  return chart((width) => {
    const longest = Math.max(...rows.map((r) => width_of(r[0]))) + 1, widest = Math.max(...rows.map((r) => width_of(r[2])));
    const stacked = longest > width * 0.45, left = stacked ? 0 : longest + 10, out = [];
    const inner = Math.max(20, width - left - widest - 12), pitch = stacked ? 40 : 25;
    rows.forEach(([name, value, words, kind], i) => {
      const y = i * pitch + (stacked ? 16 : 0), wide = (inner * Math.min(value, most)) / Math.max(most, 1e-12);
      out.push(stacked ? text(0, y - 4, shortened(name, width)) : text(left - 10, y + 14, name, "end"));
      out.push(bar(left, y, wide, 18, kind, `${name}: ${words}`), text(left + wide + 8, y + 14, words));
    });
    return [rows.length * pitch + 4, out];
  });
}

function operators() {
  const all = (report.operators || []).filter((o) => o.calls > 0), io = report.io || {};
  if (io.cpu_s > 0) all.push({ name: "reading", calls: io.reads, cpu_s: io.cpu_s, bytes: io.bytes, kind: "read" });
  if (all.length === 0) return null;
  const total = sum(all.map((o) => o.cpu_s)), most = Math.max(...all.map((o) => o.cpu_s));
  const name = (o) => o.name + (o.within ? ` (in ${o.within})` : "");
  const sorted = [...all].sort((a, b) => b.cpu_s - a.cpu_s), shown = sorted.filter((o) => o.cpu_s > 0).slice(0, 16);
  return element("section", {}, element("h2", {}, "CPU time by operator"),
    element("p", { class: "note" }, "Measured on one sample in 16, or in 128 where they are short. Reading is measured in full; assembling batches is not an operator."),
    most > 0 && bars(shown.map((o) => [name(o), o.cpu_s, `${seconds(o.cpu_s)}, ${percent(o.cpu_s / Math.max(total, 1e-12))}`, o.kind || "samples"]), most) || null,
    table([{ name: "operator", class: "name" }, { name: "calls", class: "number" }, { name: "per call", class: "number" }, { name: "bytes out", class: "number" }],
      sorted.map((o) => [name(o), number(o.calls, 9), o.cpu_s > 0 ? time((1e6 * o.cpu_s) / o.calls) : "–", o.bytes > 0 ? bytes(o.bytes) : "–"])));
}

function memory() {
  const ledger = report.memory;
  if (!ledger || !ledger.budget || !ledger.peak) return null;
  const uses = Object.keys(ledger).filter((key) => key.startsWith("peak_") && ledger[key] > 0);
  const words = { encoded: "bytes as read", scratch: "work in progress", slot: "batches", ragged: "rows of uneven size", other: "other" };
  const rows = uses.map((key) => [words[key.slice(5)] || key.slice(5), ledger[key], bytes(ledger[key]), "memory"]);
  rows.push(["total", ledger.peak, bytes(ledger.peak), "soft"]);
  const fact = (key, name) => (key in ledger ? [[name, bytes(ledger[key])]] : []);
  return element("section", {}, element("h2", {}, "Memory"),
    element("p", { class: "note" }, `Peak memory by use; the budget is ${bytes(ledger.budget)}, of which ${percent(ledger.peak / ledger.budget)} was needed.`),
    bars(rows, Math.max(...rows.map((r) => r[1]))), table([{ name: "now" }, { name: "", class: "number" }],
      [...fact("in_use", "in use"), ...fact("kept_for_reuse", "kept for reuse"), ...fact("with_the_consumer", "with the consumer, outside the budget")]));
}

function queues() {
  const phases = report.phases;
  if (!phases || !phases.io || !phases.cpu) return null;
  const rows = [["waiting to be read", phases.io.queued, "read"], ["being read", phases.io.running, "read"],
    ["waiting for a worker", phases.cpu.queued, "samples"], ["being processed", phases.cpu.running, "samples"], ["elements ready", phases.done || 0, "step"]];
  if (sum(rows.map((r) => r[1])) === 0) return null;  // the run is over
  return element("section", {}, element("h2", {}, "In progress"),
    element("p", { class: "note" }, "Parts of batches in each phase at the time of the report."),
    bars(rows.map(([name, count, kind]) => [name, count, number(count, 9), kind]), Math.max(1, ...rows.map((r) => r[1]))));
}

function settings() {
  const rows = [], add = (name, value) => value !== undefined && rows.push([name, value]);
  const set = report.settings || {}, io = report.io || {};
  add("workers", set.workers ?? report.workers), add("reads in flight (io)", set.io ?? report.io_in_flight), add("elements ready or in progress (ready)", set.ready ?? report.ready);
  if (report.limited_by) add("limited by", report.limited_by);
  if (io.reads) add("read", `${bytes(io.bytes)} in ${plural(io.reads, "read")}, ${time((1e6 * io.seconds) / io.reads)} each`);
  if (report.core_wait_s) add("threads runnable without a core", seconds(report.core_wait_s));
  if (report.skipped || report.replaced) add("broken samples", `${number(report.skipped || 0)} skipped, ${number(report.replaced || 0)} replaced`);
  for (const cache of report.caches || []) add("cache", `${plural(cache.elements, "element")}, ${bytes(cache.bytes)}; ${plural(cache.hits, "hit")}, ${number(cache.misses, 9)} ${cache.misses === 1 ? "miss" : "misses"}`);
  if (rows.length === 0) return null;
  return element("section", {}, element("h2", {}, "Settings and counts"), table([{ name: "setting" }, { name: "value", class: "number" }], rows));
}

const pair = (...children) => {
  const there = children.filter((child) => child !== null);
  if (there.length > 0) page.append(element("div", { class: "pair" }, there));
};

headline();
history();
utilisation();
sample_costs();
pair(operators(), memory());
pair(queues(), settings());
page.append(element("footer", {}, "Made by Headrace. This page is self-contained."));

const draw_all = () => charts.forEach((draw) => draw());
let drawn = 0;
const redraw = () => {
  const width = page.clientWidth;
  if (width === drawn) return;
  drawn = width;
  draw_all();
};
redraw();
addEventListener("resize", redraw);
