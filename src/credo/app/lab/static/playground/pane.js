// One model on the points: its tabs, plot, controls and what is written below.

import { element, svg } from "/static/shared/page.js";
import { Plot } from "/static/shared/plot.js";
import { number } from "/static/shared/scale.js";
import { latest, request } from "/static/shared/api.js";
import { evidenceCurve } from "./curve.js";
import { information } from "./information.js";
import { kernelParameters } from "./kernel.js";
import { clear, LAYERS, paintClasses, paintRegression, placeMap } from "./paint.js";
import { Points } from "./points.js";
import { Settings } from "./settings.js";
import { active, shows, visible } from "./units.js";
import { legend } from "./legend.js";

const ANSWER = "/api/playground/answer";
const SETTLED = 300;
const PAGE = crypto.randomUUID();

export class Pane {
  constructor(store, index, { say }) {
    this.store = store;
    this.index = index;
    this.say = say;
    this.answer = null;
    this.sent = null;
    this.page = `${PAGE}-${index}`;
    this.plot = new Plot({ label: "Points and model", layers: LAYERS, onresize: () => this.#redraw() });
    this.plot.node.classList.add("main-plot");
    this.points = new Points(this.plot, store, { say, hover: (x) => this.#hover(x) });
    const margin = { top: 8, right: 12, bottom: 22, left: 44 };
    this.small = new Plot({ label: "Equivalent kernel at the cursor", layers: ["line", "handle"], margin, onresize: () => this.#drawKernel() });
    this.small.node.classList.add("small-plot");
    this.information = information(say);
    this.curve = evidenceCurve((id) => this.#chooseCurve(id), (id, value) => this.#setPath(id, value));
    this.tabs = element("div", { class: "tabs", role: "tablist", "aria-label": "Model" });
    this.legend = element("div", { class: "legend quiet small" });
    this.error = element("p", { class: "error small", role: "alert", hidden: true });
    this.settings = new Settings(store, index, { learn: () => this.learn(), cancel: () => this.cancel(), say });
    this.stage = element("div", { class: "stage panel" }, this.plot.node, this.small.node, this.legend, this.error, this.information.notes);
    this.info = element("div", { class: "info" }, this.information.nodes[0], this.curve.node, ...this.information.nodes.slice(1));
    this.node = element("section", { class: "pane", "aria-label": `Model ${index + 1}` }, this.tabs, this.stage, this.settings.node, this.info);
    this.#channels();
  }

  get #pane() {
    return this.store.state.panes[this.index];
  }

  get #model() {
    return this.store.model(this.#pane.model);
  }

  has(what) {
    return shows(this.#model, this.store.state.task).includes(what);
  }

  // ---- requests ----

  #channels() {
    const send = (body, signal) => request(ANSWER, { method: "POST", json: body, signal });
    const sameModel = (old, now) => old.model.id === now.model.id && old.task === now.task;
    const received = (answer, { body, version }) => this.#receive(answer, body, version);
    const useful = (old, now) => sameModel(old.body, now.body);
    const ask = latest(({ body }, signal) => send(body, signal), received, (error) => this.#fail(error), useful);
    this.ask = (body) => {
      this.version = (this.version ?? 0) + 1;
      this.node.dataset.asked = this.version;
      ask({ body, version: this.version });
    };
    this.askMore = latest(send, (answer, body) => this.#receiveMore(answer, body), () => {}, () => false);
    this.askKernel = latest(send, (answer, body) => this.#receiveKernel(answer, body), () => {}, sameModel);
  }

  #body(want) {
    const { task, points, domain, seed } = this.store.state;
    const draws_from = this.#source();
    const model = { id: this.#pane.model, settings: structuredClone(active(this.#model, this.#pane.settings, task)) };
    const all = { grid: this.store.catalogue.limits.grid, draws: 0, draws_from, seed, cursor: null, next: false, curve: null, learn: false, ...want };
    return { task, points: structuredClone(points), domain: structuredClone(domain), model, want: all };
  }

  // Models without draws from their prior show those from the posterior.
  #source() {
    return this.store.state.draws_from === "prior" && this.has("prior_draws") ? "prior" : "posterior";
  }

  refresh() {
    const possible = this.has("draws") || this.has("prior_draws");
    this.ask(this.#body({ draws: possible ? this.store.state.draws : 0 }));
    const stale = Boolean(this.sent) && this.sent.model.id !== this.#pane.model;
    for (const part of [this.stage, this.info]) part.classList.toggle("stale", stale);
    this.slow ??= setTimeout(() => this.node.classList.add("busy"), 300);
    this.#later();
  }

  // What takes longer is asked for when nothing has changed for a moment.
  #later() {
    clearTimeout(this.settle);
    const curve = this.#curveId();
    const next = this.store.state.next && this.has("next");
    if (!next) this.plot.layers.marks.querySelector(".next")?.remove();
    if (!curve && !next) return;
    this.settle = setTimeout(() => this.askMore(this.#body({ grid: next ? 80 : 2, curve, next })), SETTLED);
  }

  #receive(answer, body, version) {
    this.#answered();
    if (body.task !== this.store.state.task || body.model.id !== this.#pane.model) return;
    this.answer = answer;
    this.sent = body;
    this.shownVersion = version;
    this.#paint();
  }

  #answered() {
    clearTimeout(this.slow);
    this.slow = null;
  }

  #fail(error) {
    this.#answered();
    this.node.classList.remove("busy");
    this.error.textContent = error.message;
    this.error.hidden = false;
  }

  #receiveMore(answer, body) {
    if (body.model.id !== this.#pane.model) return;
    if (body.want.curve && body.want.curve === this.#curveId()) this.curve.set(answer.curve);
    this.next = body.want.next ? answer.next : null;
    this.#drawNext();
  }

  // ---- drawing ----

  #paint() {
    const { answer, sent } = this;
    if (!answer || !this.plot.width) return;
    this.error.hidden = true;
    this.node.classList.remove("busy");
    for (const part of [this.stage, this.info]) part.classList.remove("stale");
    if (answer.regression) paintRegression(this.plot, answer.regression, sent.want);
    if (answer.classification) paintClasses(this.plot, answer.classification, sent.domain);
    if (!answer.regression && !answer.classification) clear(this.plot);
    this.points.weigh(answer.weights);
    this.information.set(answer);
    this.legend.replaceChildren(...legend(answer, sent.want, sent.points.length));
    this.#drawNext();
    this.node.dataset.painted = this.shownVersion;
  }

  #redraw() {
    this.points.draw();
    this.#repaint();
  }

  // The same answer on a changed plot.
  #repaint() {
    const { answer, sent } = this;
    if (!answer || sent.task !== this.store.state.task) return;
    if (answer.regression) paintRegression(this.plot, answer.regression, sent.want);
    if (answer.classification) placeMap(this.plot, answer.classification, sent.domain);
    this.#drawNext();
  }

  recolor() {
    if (this.answer?.classification && this.plot.width) paintClasses(this.plot, this.answer.classification, this.sent.domain);
  }

  #drawNext() {
    this.plot.layers.marks.querySelector(".next")?.remove();
    if (!this.next || !this.store.state.next || !this.has("next") || !this.plot.width) return;
    const { x, y = null } = this.next;
    const px = this.plot.x(x);
    const { inner } = this.plot;
    const right = px > inner.x + inner.width - 110;
    const height = y === null ? inner.y + 16 : Math.max(inner.y + 16, this.plot.y(y) - 9);
    const label = svg("text", { x: right ? px - 7 : px + 7, y: height, "text-anchor": right ? "end" : "start" });
    label.textContent = "measure here";
    const title = svg("title");
    title.textContent = this.next.why ?? "";
    const shape = svg("path", { d: y === null ? `M${px},${inner.y}v${inner.height}` : `M${px},${this.plot.y(y) - 7}l7,7l-7,7l-7,-7Z` });
    this.plot.layers.marks.append(svg("g", { class: "next" }, title, shape, label));
  }

  // ---- changes of the state ----

  // Everything anew: another task, another number of panes.
  rebuild() {
    this.answer = null;
    clear(this.plot);
    this.#build();
  }

  #build() {
    this.cancel();
    this.#drawTabs();
    this.settings.build();
    this.onModel();
  }

  onModel() {
    this.next = null;
    this.weights = null;
    this.#drawNext();
    this.#drawKernel();
    this.#options();
    this.onData();
  }

  onData(detail) {
    this.plot.domain = this.store.state.domain;
    if (detail?.moved !== undefined && this.plot.width) this.#moved(detail.moved);
    else {
      this.plot.measure();
      this.plot.draw();
      if (this.plot.width) this.#redraw();
    }
    this.refresh();
  }

  // At most one move of a point in a frame.
  #moved(index) {
    if (this.waiting) {
      this.waiting.add(index);
      return;
    }
    this.waiting = new Set([index]);
    requestAnimationFrame(() => {
      for (const each of this.waiting) this.points.place(each);
      this.waiting = null;
    });
  }

  onPane(detail) {
    if (detail.model) {
      this.#build();
      return;
    }
    if (detail.learned || detail.id) this.settings.set(detail.id);
    this.#options();
    this.refresh();
  }

  onView() {
    this.settings.set();
    this.#options();
    this.#drawKernel();
    this.refresh();
  }

  #drawTabs() {
    const models = this.store.models();
    const buttons = models.map((model) => {
      const chosen = model.id === this.#pane.model;
      const state = { "aria-selected": String(chosen), tabindex: chosen ? "0" : "-1", onclick: () => this.#choose(model.id) };
      return element("button", { type: "button", role: "tab", "data-model": model.id, ...state }, model.name);
    });
    const focused = this.tabs.contains(document.activeElement);
    this.tabs.replaceChildren(...buttons);
    const current = buttons.find((button) => button.dataset.model === this.#pane.model);
    if (focused) current.focus();
    this.tabs.onkeydown = (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const now = models.findIndex((model) => model.id === this.#pane.model);
      this.#choose(models[(now + by + models.length) % models.length].id);
    };
    const box = this.tabs;
    requestAnimationFrame(() => {
      box.scrollLeft = Math.max(0, current.offsetLeft - box.offsetLeft - box.clientWidth / 2 + current.clientWidth / 2);
    });
  }

  #choose(id) {
    if (id === this.#pane.model) return;
    this.store.setModel(this.index, id);
    this.say(`Model: ${this.#model.name}.`);
  }

  // ---- learning ----

  async learn() {
    const controller = new AbortController();
    this.learning = controller;
    this.settings.learning(true);
    this.say("Learning.");
    try {
      const answer = await request(ANSWER, { method: "POST", json: this.#body({ learn: true, grid: 2, page: this.page }), signal: controller.signal });
      if (controller.signal.aborted) return;
      const known = Object.entries(answer.settings ?? {}).filter(([id]) => this.#model.controls.some((control) => control.id === id));
      this.store.learned(this.index, Object.fromEntries(known));
      this.say(["Learned.", ...(answer.notes ?? [])].join(" "));
    } catch (error) {
      if (controller.signal.aborted) return;
      this.#fail(error);
      this.say(error.message);
    } finally {
      if (this.learning === controller) {
        this.learning = null;
        this.settings.learning(false);
      }
    }
  }

  cancel() {
    if (!this.learning) return;
    this.learning.abort();
    this.learning = null;
    this.settings.learning(false);
    this.say("Learning canceled.");
  }

  // ---- evidence over a parameter ----

  #curveOptions() {
    if (!this.has("curve")) return [];
    const { task } = this.store.state;
    return visible(this.#model.controls, this.#pane.settings, task).flatMap((control) => {
      if (control.kind === "kernel") return kernelParameters(control, this.#pane.settings[control.id], task).filter((item) => item.control.curve);
      return control.curve ? [{ path: control.id, label: control.label, control }] : [];
    });
  }

  // The parameter that was chosen; before one is, the first.
  #curveId() {
    const id = this.store.state.curve[this.index];
    const options = this.#curveOptions();
    if (id === "none" || options.some((option) => option.path === id)) return id === "none" ? null : id;
    return this.store.state.task === "regression" ? (options[0]?.path ?? null) : null;
  }

  #options() {
    const list = this.#curveOptions();
    const id = this.#curveId();
    this.curve.options(list, id);
    if (!id) return;
    const [name, term, factor, parameter] = id.split(".");
    const value = this.#pane.settings[name];
    this.curve.at(parameter ? value[term][factor][parameter] : value);
  }

  #chooseCurve(id) {
    const curve = [...this.store.state.curve];
    curve[this.index] = id ?? "none";
    this.store.view({ curve });
  }

  #setPath(id, value) {
    const [name, term, factor, parameter] = id.split(".");
    if (parameter === undefined) {
      this.store.set(this.index, name, value);
      return;
    }
    const kernel = structuredClone(this.#pane.settings[name]);
    kernel[term][factor][parameter] = value;
    this.store.set(this.index, name, kernel);
  }

  // ---- equivalent kernel ----

  #hover(x) {
    if (x === null || !this.store.state.kernel || !this.has("equivalent_kernel")) return;
    this.askKernel(this.#body({ cursor: x }));
  }

  #receiveKernel(answer, body) {
    if (body.model.id !== this.#pane.model || !answer.equivalent_kernel) return;
    this.weights = answer.equivalent_kernel;
    requestAnimationFrame(() => this.#drawKernel());
  }

  #drawKernel() {
    const on = this.store.state.kernel && this.has("equivalent_kernel");
    this.small.node.hidden = !on;
    if (!on) return;
    this.small.measure();
    if (!this.small.width) return;
    const { line, handle } = this.small.layers;
    if (!this.weights) {
      this.#hover((this.store.state.domain.x[0] + this.store.state.domain.x[1]) / 2);
      return;
    }
    const { x, y, at } = this.weights;
    const lo = Math.min(0, ...y), hi = Math.max(0, ...y);
    const room = (hi - lo || 1) * 0.1;
    this.small.set({ x: this.store.state.domain.x, y: [lo - room, hi + room] });
    const px = this.small.x(at);
    const zero = this.small.y(0);
    const stems = x.map((value, k) => `M${this.small.x(value).toFixed(1)},${zero.toFixed(1)}V${this.small.y(y[k]).toFixed(1)}`).join("");
    const dots = x.map((value, k) => svg("circle", { class: "weight", r: 2.5, cx: this.small.x(value), cy: this.small.y(y[k]) }));
    line.replaceChildren(svg("path", { class: "stem", d: stems }), ...dots);
    handle.replaceChildren(svg("path", { class: "handle-line", d: `M${px},${this.small.inner.y}v${this.small.inner.height}` }));
    this.small.svg.setAttribute("aria-label", `Equivalent kernel at ${number(at)}`);
  }
}
