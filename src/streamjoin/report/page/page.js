"use strict";
// Asks the driver once a second for what is new, and draws the query that was chosen.

const POLL_MS = 1000;
const MOST_SAMPLES = 3600;
const queries = new Map(); // run -> query with all its samples
let kept = null; // the driver's history, by its name
let sequence = 0; // of the last sample that came from it
let plans = {};
let chosen = null; // run and join
let drawn = ""; // what the charts show, so that they are only drawn anew when it changed

const element = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const sum = (values) => values.reduce((total, value) => total + value, 0);

// Words

const UNITS = ["", " k", " M", " G", " T"];
function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit < UNITS.length - 1) { value /= 1000; unit += 1; }
  const digits = unit === 0 && Number.isInteger(value) ? 0 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return value.toFixed(digits) + UNITS[unit];
}
function bytes(value) { return short(value) + "B"; }
function span(ms) {
  if (ms === null || ms === undefined) return "–";
  const seconds = ms / 1000;
  if (Math.abs(seconds) < 120) return `${seconds.toFixed(Math.abs(seconds) < 10 ? 1 : 0)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(1)} min`;
  if (seconds < 172800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86400).toFixed(1)} d`;
}
const clock = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");

// What is known

function take(state) {
  kept = state.history;
  sequence = state.sequence;
  plans = state.plans;
  for (const news of state.queries) {
    const known = queries.get(news.run);
    const samples = (known ? known.samples : []).concat(news.samples).slice(-MOST_SAMPLES);
    queries.set(news.run, { ...news, samples });
  }
  const still = new Set(state.queries.map((query) => query.run));
  for (const run of [...queries.keys()]) if (!still.has(run)) queries.delete(run);
}

function pages() { // one a join of a query
  const found = [];
  for (const query of queries.values()) {
    const names = new Set(query.samples.flatMap((sample) => Object.keys(sample.joins)));
    for (const join of names.size ? [...names].sort() : [null]) {
      found.push({ query, join, title: names.size > 1 ? `${query.name} · ${join}` : query.name });
    }
  }
  return found;
}

// What is shown

function show() {
  const all = pages();
  element("empty").hidden = all.length > 0;
  element("query").hidden = all.length === 0;
  if (!all.length) return;
  const same = (page) => chosen && page.query.run === chosen.run && (page.join === chosen.join || chosen.join === null);
  const page = all.find(same) || all.findLast((one) => one.query.ended === null) || all[all.length - 1];
  showTabs(all, page);
  showState(page.query);
  const samples = page.query.samples.filter((sample) => page.join === null || page.join in sample.joins);
  const last = samples[samples.length - 1];
  const key = `${page.query.run} ${page.join} ${last ? last.sequence : 0} ${innerWidth < 600} ${colour("--ink")}`;
  if (key === drawn) return;
  drawn = key;
  const joined = page.join !== null;
  showTiles(joined && last ? tiles(samples, page.join) : []);
  const plan = (joined && last && plans[last.joins[page.join].plan]) || null;
  showCharts(joined && last ? charts(samples, page.join, plan) : []);
  element("plan").hidden = !plan;
  element("plan").querySelector("pre").textContent = plan ? plan.text : "";
}

function showTabs(all, page) {
  const buttons = all.map((one) => {
    const button = document.createElement("button");
    button.textContent = one.title + (one.query.ended === null ? "" : one.query.reason ? " (failed)" : " (ended)");
    button.className = one.query.reason ? "failed" : "";
    button.setAttribute("aria-pressed", String(one === page));
    button.onclick = () => { chosen = { run: one.query.run, join: one.join }; show(); };
    return button;
  });
  element("queries").replaceChildren(...buttons);
}

function showState(query) {
  const line = element("state");
  line.className = query.reason ? "failed" : "";
  const ran = `since ${clock(query.started)} UTC`;
  if (query.ended === null) line.textContent = `Running ${ran}`;
  else if (query.reason) line.textContent = `Failed at ${clock(query.ended)} UTC\n${query.reason.split("\n").slice(0, 12).join("\n")}`;
  else line.textContent = `Ended at ${clock(query.ended)} UTC; this is its last state`;
}

function tiles(samples, join) {
  const last = samples[samples.length - 1];
  const now = last.joins[join];
  const late = sum(samples.map((s) => s.joins[join].late_left + s.joins[join].late_right + s.joins[join].invalid_rows));
  return [
    ["rows in per second", short(perSecond(last, now.rows_left + now.rows_right))],
    ["matches per second", short(perSecond(last, now.matches))],
    ["pairs decided per second", short(perSecond(last, now.comparisons))],
    ["watermark behind the clock", last.watermark === null ? "none yet" : span(last.at - last.watermark)],
    ["latency, at most", span(mostLatency(last)), `at least ${span(leastLatency(last))}`],
    ["windows hold", bytes(now.state_bytes), `${short(now.state_rows)} rows`],
    ["micro-batch", span(last.milliseconds), `number ${last.batch}, until ${clock(last.at).slice(11)} UTC`],
    ["late or without time", short(late), "in the time shown", late > 0],
  ];
}

function showTiles(found) {
  element("tiles").replaceChildren(...found.map(([label, value, more, bad]) => {
    const tile = document.createElement("div");
    tile.className = bad ? "tile bad" : "tile";
    const number = document.createElement("b");
    number.textContent = value;
    const words = document.createElement("span");
    words.textContent = more ? `${label} · ${more}` : label;
    tile.append(number, words);
    return tile;
  }));
}

// The rows of a micro-batch came in the interval between the starts of the one before and its own; the first has none.
const perSecond = (sample, count) => sample.interval === null ? null : count / (sample.interval / 1000);

// Milliseconds from a row's arrival to its results: it came before its micro-batch began, and after the one before had.
const leastLatency = (sample) => sample.milliseconds;
const mostLatency = (sample) => sample.interval === null ? null : sample.interval + sample.milliseconds;

// How far an input is behind the clock: its newest row so far, and what its own watermark would be.
function lags(samples, join, side, delay) {
  let newest = null;
  const rows = samples.map((s) => {
    const came = s.joins[join][`newest_${side}`];
    if (came !== null && came !== undefined) newest = Math.max(newest ?? came, came);
    return newest === null ? null : s.at / 1000 - newest / 1e6;
  });
  const wait = delay === null || delay === undefined ? null : delay / 1e6;
  return { rows, watermark: wait === null ? null : rows.map((lag) => lag === null ? null : lag + wait) };
}

function charts(samples, join, plan) {
  const at = samples.map((sample) => new Date(sample.at));
  const of = (name) => samples.map((sample) => sample.joins[join][name]);
  const line = (name, y, hue, more = {}) => {
    const mode = y.filter((value) => value !== null).length > 1 ? "lines" : "markers";
    return { type: "scatter", mode, name, x: at, y, line: { color: colour(hue), width: 2 }, marker: { color: colour(hue) }, ...more };
  };
  const rate = (name, metric, hue) => // a mean of the time since the micro-batch before: level until then
    line(name, samples.map((s) => perSecond(s, s.joins[join][metric])), hue, { line: { color: colour(hue), width: 2, shape: "vh" } });
  const parts = [...new Set(samples.flatMap((sample) => Object.keys(sample.parts)))];
  const heavy = parts.filter((part) => samples.some((s) => (s.parts[part] || 0) >= 0.03 * s.milliseconds));
  const hues = ["--one", "--two", "--three", "--four", "--five", "--soft"];
  const loads = samples[samples.length - 1].joins[join].loads;
  const mean = loads.length ? sum(loads) / loads.length : 0;
  const spread = samples[samples.length - 1].joins[join].load_std_percent;
  const waiting = of("waiting_rows").some(Boolean) || of("uncached_segments").some(Boolean);
  return [
    { title: "Rows in", unit: "rows/s", traces: [rate("left", "rows_left", "--one"), rate("right", "rows_right", "--two")] },
    { title: "Matches", unit: "matches/s", traces: [rate("matches", "matches", "--three")] },
    { title: "Event-time lag", unit: "s behind the clock", traces: [
      ...[["left", "--one"], ["right", "--two"]].flatMap(([side, hue]) => {
        const lag = lags(samples, join, side, plan && plan[`delay_${side}`]);
        const dashed = { line: { color: colour(hue), dash: "dash", width: 1.5 } };
        return [line(`newest row, ${side}`, lag.rows, hue),
          ...(lag.watermark ? [line(`watermark, ${side}`, lag.watermark, hue, dashed)] : [])];
      }),
      line("watermark of the query", samples.map((s) => s.watermark === null ? null : (s.at - s.watermark) / 1000), "--soft"),
    ] },
    { title: "Latency", unit: "s from a row's arrival to its results", traces: [
      line("at most", samples.map((s) => mostLatency(s) === null ? null : mostLatency(s) / 1000), "--four"),
      line("at least", samples.map((s) => leastLatency(s) / 1000), "--three"),
    ] },
    { title: "Windows", unit: "rows held, copies counted", traces: [line("rows", of("state_rows"), "--one", { fill: "tozeroy" })] },
    { title: "State", unit: "bytes held, indexes among them", traces: [line("bytes", of("state_bytes"), "--three", { fill: "tozeroy" })] },
    { title: "Time of a micro-batch", unit: "s, by what Spark does in it", traces: heavy.map((part, number) =>
      line(part, samples.map((s) => (s.parts[part] || 0) / 1000), hues[number % hues.length], { stackgroup: "parts", line: { width: 0 }, fillcolor: colour(hues[number % hues.length]) })) },
    { title: "Load of the cells", note: `pairs decided in the last micro-batch; standard deviation ${spread.toFixed(1)} % of the mean`, unit: "pairs", still: true, traces: [
      { type: "bar", name: "cell", x: loads.map((_, cell) => String(cell)), y: loads, marker: { color: colour("--one") } },
      { type: "scatter", mode: "lines", name: "mean", x: loads.map((_, cell) => String(cell)), y: loads.map(() => mean), line: { color: colour("--two"), dash: "dash", width: 2 } },
    ] },
    { title: "Balance", unit: "standard deviation of the cells' load, % of the mean", traces: [line("spread", of("load_std_percent"), "--four")] },
    { title: "Dropped rows", unit: "rows", bars: "stack", traces: [
      ["late, left", "late_left", "--one"], ["late, right", "late_right", "--two"], ["without time", "invalid_rows", "--five"],
    ].map(([name, metric, hue]) => ({ type: "bar", name, x: at, y: of(metric), marker: { color: colour(hue) } })) },
    ...(waiting ? [{ title: "Waiting", note: "unmatched rows that are not decided yet, and segments that the cache has no room for", unit: "", traces: [
      line("undecided rows", of("waiting_rows"), "--one"), line("uncached segments", of("uncached_segments"), "--two"),
    ] }] : []),
  ];
}

function showCharts(found) {
  const box = element("charts");
  while (box.children.length > found.length) box.lastChild.remove();
  while (box.children.length < found.length) { // all of them before the first is drawn: they share the width
    const card = document.createElement("div");
    card.className = "chart";
    card.append(document.createElement("h2"), document.createElement("p"), document.createElement("div"));
    card.lastChild.className = "plot";
    box.append(card);
  }
  found.forEach((chart, number) => {
    const card = box.children[number];
    card.children[0].textContent = chart.title;
    card.children[1].textContent = chart.note || chart.unit;
    Plotly.react(card.lastChild, chart.traces, layoutOf(chart), { displayModeBar: false, responsive: true });
  });
}

function layoutOf(chart) {
  const axis = { gridcolor: colour("--edge"), zerolinecolor: colour("--edge"), linecolor: colour("--edge"), automargin: true };
  const rows = innerWidth < 600 ? Math.ceil(chart.traces.length / 2) : 1; // of the legend
  return {
    margin: { l: 46, r: 14, t: chart.traces.length > 1 ? 8 + 20 * rows : 8, b: 28 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("--soft"), size: 11 },
    barmode: chart.bars || "group",
    showlegend: chart.traces.length > 1,
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "normal", font: { size: 11 } },
    hovermode: "x unified",
    xaxis: { ...axis, type: chart.still ? "category" : "date", showgrid: false },
    yaxis: { ...axis, rangemode: "tozero", exponentformat: "SI" },
  };
}

// The loop

async function ask() {
  const answer = await fetch(`state?since=${sequence}`);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

async function poll() {
  try {
    let state = await ask();
    if (kept !== null && state.history !== kept) { // another driver, which numbers its samples anew
      sequence = 0;
      state = await ask();
    }
    take(state);
    element("connection").textContent = `live · ${clock(Date.now()).slice(11)} UTC`;
  } catch {
    element("connection").textContent = "the driver does not answer: it has ended, or the dashboard was closed";
  }
  show();
  setTimeout(poll, document.hidden ? 5 * POLL_MS : POLL_MS);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
addEventListener("resize", show);
poll();
