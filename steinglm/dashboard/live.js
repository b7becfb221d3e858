// Keeps one Plotly element per panel and draws into it; see live.py for what Python sends.

const SCALE = { letters: 1.45, lines: 1.7 };       // the presentation switch
const PERIOD = { running: 160, queued: 1000, paused: 1000 }, FINAL = 2000, TROUBLE = 1500;  // ms from request to request
const POINTS = 1000;
const SKETCH = `img[src^="data:image/svg+xml"]`;   // the first picture, which the charts replace; see sketch.py

// What all components of the page share: plotly.js once, and which methods are hidden.
const page = (window.steinglm ??= { plotly: null, hidden: new Set(), views: new Set() });
const views = new WeakMap();

const loadPlotly = url => (page.plotly ??= new Promise((resolve, reject) => {
  const script = Object.assign(document.createElement("script"), { src: url, charset: "utf-8" });
  script.onload = () => resolve(window.Plotly);
  script.onerror = () => { page.plotly = null; reject(new Error("plotly.js could not be loaded; reload the page")); };
  document.head.append(script);
}));

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element[name] = value; else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};

const icon = path => {
  const holder = document.createElement("template");
  holder.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`;
  return holder.content;
};
const ICONS = {
  closer: "M11.5 11.5 14.5 14.5M12.5 7a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0M7 4.8v4.4M4.8 7h4.4",
  farther: "M11.5 11.5 14.5 14.5M12.5 7a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0M4.8 7h4.4",
  reset: "M2 6V2h4M14 6V2h-4M2 10v4h4M14 10v4h-4",
};

const DASHES = {
  solid: "", dash: "8 4", dot: "2 3.5", dashdot: "8 3 2 3", longdash: "6 3", longdashdot: "12 3 2 3",
  "4px,3px": "4 3", "12px,3px,2px,3px,2px,3px": "12 3 2 3 2 3", "16px,2px": "16 2",
};
const MARKS = {
  circle: "M10.6 6a3.4 3.4 0 1 0 6.8 0 3.4 3.4 0 0 0-6.8 0", square: "M11 3h6v6h-6z", diamond: "M14 1.6 18.2 6 14 10.4 9.8 6z",
  "triangle-up": "M14 1.8 18 9h-8z", "triangle-down": "M14 10.2 10 3h8z", x: "M14 6z",
  pentagon: "M14.0 1.8L18.0 4.7L16.5 9.4L11.5 9.4L10.0 4.7z", hexagon: "M14.0 1.8L17.6 3.9L17.6 8.1L14.0 10.2L10.4 8.1L10.4 3.9z",
  star: "M14.0 1.2L15.2 4.4L18.6 4.5L15.9 6.6L16.8 9.9L14.0 8.0L11.2 9.9L12.1 6.6L9.4 4.5L12.8 4.4z",
  cross: "M12.6 2.2h2.8v2.4h2.4v2.8h-2.4v2.4h-2.8v-2.4h-2.4v-2.8h2.4z",
};
const swatch = ({ color, dash, symbol }) => {
  const holder = document.createElement("template");
  holder.innerHTML = `<svg width="28" height="12" viewBox="0 0 28 12" aria-hidden="true"><path d="M0 6H28" stroke="${color}"
    stroke-width="2.4" stroke-dasharray="${DASHES[dash] ?? ""}"/><path d="${MARKS[symbol] ?? MARKS.x}" fill="${color}"/></svg>`;
  return holder.content;
};

// Perceived lightness of a CSS colour, whatever its notation.
const isDark = color => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  pen.fillStyle = color;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
};

// The epochs of one run, as far as this browser has fetched them.
class Feed {
  constructor(url, changed) {
    Object.assign(this, { url, changed, run: null, state: null, sentence: "", timer: 0, stopped: false });
    this.clear();
    this.ask();
  }

  clear() { this.last = -1; this.epochs = []; this.series = {}; }

  stop() { this.stopped = true; clearTimeout(this.timer); }

  async ask() {
    const asked = performance.now();
    let wait = TROUBLE;
    try {
      const answer = await fetch(`${this.url}${this.url.includes("?") ? "&" : "?"}since=${this.last}`, { cache: "no-store" });
      if (this.stopped) return;
      if (answer.status === 200) wait = this.take(await answer.json());
    } catch { /* the server is away: ask again */ }
    if (!this.stopped) this.timer = setTimeout(() => this.ask(), Math.max(0, wait - (performance.now() - asked)));
  }

  take({ run, state, sentence, since, next, more, epochs, series }) {
    if (run !== this.run && since >= 0) {          // the run has started anew: fetch it from its beginning
      this.run = run;
      this.clear();
      return 0;
    }
    const before = this.run === run ? this.state : null;
    const grown = epochs.length > 0, told = before !== state || sentence !== this.sentence;
    Object.assign(this, { run, state, sentence, last: next });
    for (const [name, columns] of Object.entries(series)) {
      const own = (this.series[name] ??= {});
      for (const [column, values] of Object.entries(columns)) {
        own[column] ??= Array(this.epochs.length).fill(null);
        for (const value of values) own[column].push(value);
      }
    }
    for (const epoch of epochs) this.epochs.push(epoch);
    if (grown || told) this.changed(before !== null && before !== state ? state : null);
    return more ? 0 : PERIOD[state] ?? FINAL;
  }

  // Positions to draw: all, or evenly spread with the ends and the minimum.
  positions(values) {
    const n = values.length;
    if (n <= POINTS) return values.keys();
    const chosen = new Set(Array.from({ length: POINTS - 1 }, (_, i) => Math.round(i * (n - 1) / (POINTS - 2))));
    let best = 0;
    values.forEach((value, i) => { if (value !== null && !(value >= values[best])) best = i; });
    return [...chosen.add(best)].sort((a, b) => a - b);
  }

  // The points of a trace, by what its meta says that it is.
  points({ method, quantity, role }) {
    const own = this.series[`${method} ${quantity}`];
    if (!own || (role === "band" && !own.low)) return { x: [], y: [] };
    const kept = [...this.positions(own.mean)], x = kept.map(i => this.epochs[i]);
    if (role === "line") {
      const beside = quantity === "training_loss" ? this.series[`${method} validation_loss`] : null;
      return { x, y: kept.map(i => own.mean[i]), ...beside && { customdata: kept.map(i => beside.mean[i]) } };
    }
    const low = kept.map(i => own.low[i]), high = kept.map(i => own.high[i]);
    return { x: [...x, ...x.toReversed()], y: [...low, ...high.reverse()] };
  }
}

class Chart {
  constructor(view, name) {
    Object.assign(this, { view, name, scale: null, text: "", pending: false });
    this.title = make("h2", { id: `title-${name}` });
    this.note = make("p", { class: "note" });
    this.state = make("span", { class: "state" });
    this.plot = make("div", { class: "plot", role: "img" });
    // After each drawing Plotly hovers again with the last mouse event, whose target a shadow root hides once it is over.
    this.plot.addEventListener("mousemove", event => Object.defineProperty(event, "target", { value: event.target }), true);
    this.placeholder = make("div", { class: "placeholder" });
    this.sentence = make("p", { class: "sentence" });
    this.log = make("button", { type: "button", onclick: () => this.toggleScale() }, "log");
    this.about = make("button", { type: "button", onclick: () => view.trigger("about", name) }, "?");
    this.tools = make("div", { class: "tools", role: "toolbar" },
      this.tool("Zoom in", icon(ICONS.closer), () => this.zoom(0.5)), this.tool("Zoom out", icon(ICONS.farther), () => this.zoom(2)),
      this.tool("Show all", icon(ICONS.reset), () => this.reset()),
      this.tool("Download SVG", "svg", () => this.download("svg")), this.tool("Download PNG", "png", () => this.download("png")));
    this.root = make("section", { class: "panel", "aria-labelledby": `title-${name}` },
      make("header", {}, this.title, this.about, this.log), this.note,
      make("div", { class: "frame" }, this.plot, this.placeholder),
      make("footer", {}, this.state, this.tools), this.sentence);
    this.watcher = new ResizeObserver(() => this.plot._fullLayout && page.Plotly.Plots.resize(this.plot));
    this.watcher.observe(this.plot);
  }

  tool(label, content, act) {
    return make("button", { type: "button", title: label, "aria-label": label, onclick: act }, content);
  }

  update(panel) {
    const text = JSON.stringify(panel.figure);
    if (text !== this.text) Object.assign(this, { text, figure: panel.figure });
    this.panel = panel;
    if ((this.feed?.url ?? "") !== panel.feed) {
      this.feed?.stop();
      this.feed = panel.feed ? new Feed(panel.feed, state => this.grow(state)) : null;
    }
  }

  grow(state) {
    if (state !== null) this.view.trigger("state", state);
    if (this.pending) return;
    this.pending = true;
    // A hidden tab gets no animation frames; what came meanwhile is drawn in one go when it is seen again.
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  get logarithmic() { return (this.scale ?? this.figure.layout.yaxis?.type) === "log"; }

  describe() {
    const { layout } = this.figure, { panel, feed } = this;
    const words = { ...layout.title, ...layout.title?.subtitle && { note: layout.title.subtitle.text } };
    this.title.textContent = words.text ?? "";
    this.note.textContent = words.note ?? "";
    this.note.hidden = !words.note;
    this.sentence.textContent = feed?.sentence || panel.sentence;
    this.sentence.hidden = !this.sentence.textContent;
    this.plot.setAttribute("aria-label", panel.alt);
    this.plot.classList.toggle("opens", panel.opens);
    this.tools.setAttribute("aria-label", `${words.text}: view`);
    this.state.textContent = feed?.state ? `${feed.last >= 0 ? `epoch ${feed.last}, ` : ""}${feed.state}` : "";
    this.log.hidden = !layout.meta?.positive;
    this.log.setAttribute("aria-pressed", String(this.logarithmic));
    this.log.title = this.logarithmic ? "Logarithmic axis; press for linear" : "Linear axis; press for logarithmic";
    this.log.setAttribute("aria-label", "log axis");
    this.about.hidden = !panel.about;
    this.about.setAttribute("aria-label", `About this chart: ${words.text}`);
    this.about.title = "What is this?";
  }

  traces() {
    const { lines } = this.view.scale;
    return this.figure.data.map(trace => ({
      ...trace,
      ...this.feed && trace.meta?.quantity ? this.feed.points(trace.meta) : {},
      visible: !page.hidden.has(trace.legendgroup),
      line: { ...trace.line, width: (trace.line?.width ?? 2) * lines },
      marker: { ...trace.marker, size: (trace.marker?.size ?? 6) * lines },
      ...trace.error_y && { error_y: { ...trace.error_y, thickness: trace.error_y.thickness * lines } },
    }));
  }

  layout() {
    // Plotly writes zooms into the layout that it is given: give it a copy.
    const { theme, scale, template } = this.view, { title, meta, ...own } = structuredClone(this.figure.layout);
    const font = size => Math.round(size * scale.letters), showticklabels = !this.bare;
    const axis = part => ({ ...part, showticklabels, title: { ...part.title, font: { size: font(13) } } });
    return {
      uirevision: "kept", ...own, template, autosize: true, showlegend: false,
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      font: { ...template.layout.font, family: theme.font, size: font(13) },
      hoverlabel: { ...template.layout.hoverlabel, font: { ...template.layout.hoverlabel.font, size: font(13) } },
      margin: { l: 8, r: 10, t: 6, b: 8 },
      xaxis: axis(own.xaxis),
      // Said outright: Plotly would keep the fixed range of a figure before this one.
      yaxis: { autorange: !own.yaxis?.range, ...axis(own.yaxis), type: this.logarithmic ? "log" : "linear", nticks: this.logarithmic ? 4 : 6 },
    };
  }

  draw() {
    if (!page.Plotly || !this.root.isConnected) return;
    this.describe();
    const traces = this.traces();
    this.placeholder.textContent = this.panel.placeholder;
    this.bare = !traces.some(trace => trace.x?.length || trace.x?.bdata);
    this.placeholder.hidden = !this.panel.placeholder || !this.bare;
    this.drawn = page.Plotly.react(this.plot, traces, this.layout(), { displayModeBar: false, doubleClick: "reset", showTips: false });
    if (this.panel.opens && !this.opens) {
      this.opens = true;
      this.plot.on("plotly_click", ({ points: [{ x, y }] }) => this.view.trigger("point", [Math.round(x), Math.round(y)]));
    }
  }

  toggleScale() {
    this.setScale(this.logarithmic ? "linear" : "log");
    this.view.tell();
  }

  setScale(scale) {
    if (scale === this.scale) return;
    this.scale = scale;
    if (this.plot._fullLayout) page.Plotly.relayout(this.plot, { "yaxis.autorange": true }).then(() => this.draw());
  }

  zoom(factor) {
    const change = {};
    for (const name of ["xaxis", "yaxis"]) {
      const [low, high] = this.plot._fullLayout[name].range.map(Number), middle = (low + high) / 2;
      change[`${name}.range`] = [middle - (middle - low) * factor, middle + (high - middle) * factor];
    }
    page.Plotly.relayout(this.plot, change);
  }

  reset() {
    const range = this.figure.layout.xaxis?.range;
    page.Plotly.relayout(this.plot, { "yaxis.autorange": true, ...range ? { "xaxis.range": [...range] } : { "xaxis.autorange": true } });
  }

  // Always on white, with title and legend: it leaves the page for a paper or a slide.
  download(format) {
    const { title } = this.figure.layout, { light } = this.view.data.templates;
    const layout = {
      ...this.layout(), template: light, title, showlegend: true, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
      font: light.layout.font, margin: light.layout.margin, xaxis: this.range("xaxis"), yaxis: this.range("yaxis"),
    };
    const size = { width: 900, height: 560, ...format === "png" && { scale: 2 } };
    page.Plotly.downloadImage({ data: this.plot.data, layout }, { format, filename: `steinglm-${this.name}`, ...size });
  }

  range(name) { return { ...this.plot.layout[name], range: this.plot._fullLayout[name].range, autorange: false }; }

  destroy() {
    this.feed?.stop();
    this.watcher.disconnect();
    // Plotly goes on with a drawing after it has returned, and fails if its element is purged meanwhile.
    Promise.resolve(this.drawn).finally(() => page.Plotly?.purge(this.plot));
    this.root.remove();
  }
}

class View {
  constructor(parent, data) {
    Object.assign(this, { charts: new Map(), at: 0 });
    this.methods = make("ul", { class: "methods", "aria-label": "Methods" });
    this.panels = make("div", { class: "panels" });
    this.root = make("div", { class: "live" }, this.methods, this.panels);
    const sheet = make("link", { rel: "stylesheet", href: data.assets.style });
    const styled = new Promise(resolve => { sheet.onload = sheet.onerror = resolve; });
    parent.append(sheet, this.root);
    page.views.add(this);
    // While it is captured, so that Python hears of it before, or with, Streamlit's own request for the new address.
    // Not of a move to another page: a word from here would ask for this one again.
    const { pathname } = location;
    this.moved = () => this.data?.moves && location.pathname === pathname && this.keep("moved", Date.now());
    addEventListener("popstate", this.moved, true);
    this.ready = Promise.all([styled, loadPlotly(data.assets.plotly)]).then(([, Plotly]) => { page.Plotly = Plotly; });
  }

  update({ data, setTriggerValue, setStateValue }) {
    Object.assign(this, { data, trigger: setTriggerValue, keep: setStateValue });
    const css = getComputedStyle(this.root), read = name => css.getPropertyValue(name).trim();
    const dark = isDark(read("--st-background-color") || "#fff");
    this.theme = { font: read("--st-font") || "sans-serif" };
    this.template = data.templates[dark ? "dark" : "light"];
    this.scale = data.presentation ? SCALE : { letters: 1, lines: 1 };
    this.root.classList.toggle("dark", dark);
    this.root.classList.toggle("presentation", data.presentation);
    this.panels.dataset.count = data.panels.length;
    for (const [name, chart] of this.charts) {
      if (!data.panels.some(panel => panel.name === name)) { chart.destroy(); this.charts.delete(name); }
    }
    for (const panel of data.panels) {
      if (!this.charts.has(panel.name)) this.charts.set(panel.name, new Chart(this, panel.name));
      const chart = this.charts.get(panel.name);
      if (!chart.root.isConnected) this.panels.append(chart.root);
      chart.update(panel);
    }
    if (data.look) this.adopt(data.look);
    this.drawMethods();
    this.drawCharts();
  }

  get look() {
    const scales = [...this.charts.values()].filter(chart => chart.scale).map(chart => `${chart.name}:${chart.scale}`);
    return { hidden: [...page.hidden].sort(), scales: scales.sort() };
  }

  // Report how a person has set the charts; `at` tells Python's answer to it from one that has not seen it yet.
  tell() {
    this.at = Date.now();
    // Not a trigger, of which a run of the script that is overtaken may lose one.
    this.keep("look", { ...this.look, at: this.at });
  }

  // Follow Python (a link, say) as soon as it knows what it was told last.
  adopt({ hidden, scales, at }) {
    if (this.at && at !== this.at) return;
    page.hidden = new Set(hidden);
    const own = new Map(scales.map(each => each.split(":")));
    for (const [name, chart] of this.charts) chart.setScale(own.get(name) ?? null);
  }

  // One at a time, so that the first is seen before the last is drawn.
  async drawCharts() {
    for (const chart of [...this.charts.values()]) {
      chart.draw();
      for (const image of document.querySelectorAll(SKETCH)) image.closest("[data-testid=stElementContainer]").style.display = "none";
      await new Promise(resolve => setTimeout(resolve));
    }
  }

  drawMethods() {
    const methods = new Map();
    for (const trace of this.data.panels.flatMap(panel => panel.figure.data)) {
      const { method, title, role } = trace.meta ?? {};
      if (role === "line" && !methods.has(method)) methods.set(method, { title, ...trace.line, symbol: trace.marker?.symbol });
    }
    this.methods.hidden = !this.data.legend;
    const known = new Map([...this.methods.children].map(item => [item.dataset.method, item]));
    for (const [method, look] of methods) {
      const item = known.get(method) ?? make("li", { "data-method": method },
        make("button", { type: "button", title: "Hide or show in all charts", onclick: () => toggle(method) }, swatch(look), look.title));
      known.delete(method);
      item.firstChild.setAttribute("aria-pressed", String(!page.hidden.has(method)));
      if (!item.isConnected) this.methods.append(item);
    }
    for (const item of known.values()) item.remove();
  }

  destroy() {
    page.views.delete(this);
    removeEventListener("popstate", this.moved, true);
    for (const chart of this.charts.values()) chart.destroy();
    this.root.remove();
  }
}

const toggle = method => {
  if (!page.hidden.delete(method)) page.hidden.add(method);
  for (const view of page.views) {
    view.drawMethods();
    view.drawCharts();
  }
  [...page.views].find(view => view.data.legend)?.tell();
};

export const mount = async component => {
  const { parentElement, data } = component;
  let view = views.get(parentElement);
  if (!view) views.set(parentElement, view = new View(parentElement, data));
  view.wanted = component;
  await view.ready;
  if (view.wanted === component) view.update(component);
  // Streamlit also runs the clean-up of a call that a newer one has overtaken: only the newest may end the view.
  return () => { if (view.wanted === component) { views.delete(parentElement); view.destroy(); } };
};
