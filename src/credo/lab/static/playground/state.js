// What the page shows, its history, and its form in the address.

export const VERSION = 1;
const MARGIN = 0.08;

// Holds the state; every change goes through a method, which tells the listeners what has changed:
// "data" (task, points, domain), "pane" (a model or its settings), "panes" (how many), "view" (draws and other options).
export class Store {
  constructor(catalogue) {
    this.catalogue = catalogue;
    this.state = null;
    this.past = [];
    this.future = [];
    this.listeners = [];
    this.kept = {};
    this.newClass = 1;
    this.lastTag = null;
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  tell(what, detail) {
    for (const listener of this.listeners) listener(what, detail);
  }

  load(state) {
    this.state = state;
    this.reach = state.domain;
    this.past = [];
    this.future = [];
    this.kept = {};
    this.newClass = Math.min(this.newClass, 2);
    this.tell("panes");
  }

  // ---- data ----

  get data() {
    const { task, points, domain } = this.state;
    return { task, points, domain };
  }

  // Remember the data for undo; several changes with the same tag within a second are one step.
  remember(tag = null) {
    const now = performance.now();
    const same = tag !== null && this.lastTag?.tag === tag && now - this.lastTag.at < 1000;
    this.lastTag = { tag, at: now };
    this.future = [];
    if (same) return;
    this.past.push(structuredClone(this.data));
    if (this.past.length > 200) this.past.shift();
  }

  add(point) {
    if (this.state.points.length >= this.catalogue.limits.points) return false;
    this.remember();
    this.state.points.push(point);
    this.tell("data");
    return true;
  }

  move(index, x, y) {
    const point = this.state.points[index];
    point[0] = x;
    point[1] = y;
    this.tell("data", { moved: index });
  }

  remove(index) {
    this.remember();
    this.state.points.splice(index, 1);
    this.tell("data");
  }

  clear() {
    this.remember();
    this.state.points = [];
    this.tell("data");
  }

  replace({ task, points, domain }) {
    this.remember();
    this.#assign({ task, points, domain });
  }

  setDomain(domain) {
    this.state.domain = domain;
    this.tell("data");
  }

  undo() {
    if (!this.past.length) return;
    this.future.push(structuredClone(this.data));
    this.lastTag = null;
    this.#assign(this.past.pop());
  }

  redo() {
    if (!this.future.length) return;
    this.past.push(structuredClone(this.data));
    this.lastTag = null;
    this.#assign(this.future.pop());
  }

  #assign({ task, points, domain }) {
    const before = this.state.task;
    if (before !== task) this.kept[before] = structuredClone(this.data);
    Object.assign(this.state, { task, points, domain });
    const other = !similar(this.reach, domain);
    if (before === task && !other) {
      this.tell("data");
      return;
    }
    const from = this.reach;
    this.reach = domain;
    if (before !== task) this.state.panes = this.state.panes.map((pane) => this.#paneFor(pane, task));
    else this.state.panes = this.state.panes.map((pane) => ({ ...pane, settings: rescaled(this.model(pane.model), pane.settings, task, from, domain), memory: {} }));
    this.tell("panes");
  }

  // ---- models ----

  // The entry of the catalogue, with sliders in the units of the plot.
  model(id) {
    const key = JSON.stringify([this.state.task, this.reach]);
    if (this.scaledFor !== key) {
      this.scaledFor = key;
      this.scaled = scaledModels(this.catalogue, this.state.task, this.reach);
    }
    return this.scaled.find((model) => model.id === id);
  }

  models(task = this.state.task) {
    return this.catalogue.models.filter((model) => model.tasks.includes(task));
  }

  #paneFor(pane, task) {
    const memory = (pane.memory ??= {});
    memory[before(task)] = { model: pane.model, settings: pane.settings, reach: this.kept[before(task)]?.domain ?? this.reach };
    const kept = memory[task];
    if (kept && similar(kept.reach, this.reach)) return { model: kept.model, settings: kept.settings, memory };
    const same = this.model(pane.model).tasks.includes(task);
    const id = same ? pane.model : this.models(task)[0].id;
    return { model: id, settings: defaults(this.model(id), task), memory };
  }

  setModel(index, id) {
    const pane = this.state.panes[index];
    const memory = (pane.memory ??= {});
    memory[`${this.state.task}/${pane.model}`] = pane.settings;
    pane.model = id;
    pane.settings = memory[`${this.state.task}/${id}`] ?? defaults(this.model(id), this.state.task);
    this.tell("pane", { index, model: true });
  }

  set(index, id, value) {
    this.state.panes[index].settings[id] = value;
    this.tell("pane", { index, id });
  }

  // Replace several settings at once, as learning does.
  learned(index, settings) {
    Object.assign(this.state.panes[index].settings, settings);
    this.tell("pane", { index, learned: true });
  }

  compare(on) {
    if (on && this.state.panes.length === 1) {
      const first = this.state.panes[0];
      const others = this.models().filter((model) => model.id !== first.model);
      const other = this.kept.second?.[this.state.task] ?? others[0]?.id ?? first.model;
      this.state.panes.push({ model: other, settings: defaults(this.model(other), this.state.task) });
    } else if (!on) {
      const second = this.state.panes[1];
      this.kept.second = { ...this.kept.second, [this.state.task]: second?.model };
      this.state.panes = this.state.panes.slice(0, 1);
    }
    this.tell("panes");
  }

  view(changes) {
    Object.assign(this.state, changes);
    this.tell("view", changes);
  }
}

function before(task) {
  return task === "regression" ? "classification" : "regression";
}

// ---- controls in the units of the plot ----

// The ranges of the catalogue's sliders belong to this rectangle; those with a unit are scaled to the one that is shown.
const REFERENCE = { x: [0, 1], y: [-1.5, 1.5] };

const length = ([lo, hi]) => hi - lo;

function similar(a, b) {
  const ratios = [length(a.x) / length(b.x), length(a.y) / length(b.y)];
  return ratios.every((ratio) => ratio > 0.5 && ratio < 2);
}

function factor(unit, task, from, to) {
  if (unit === "y") return length(to.y) / length(from.y);
  if (unit === "y²") return (length(to.y) / length(from.y)) ** 2;
  if (unit !== "x") return 1;
  if (task === "regression") return length(to.x) / length(from.x);
  return Math.max(length(to.x), length(to.y)) / Math.max(length(from.x), length(from.y));
}

const round = (value, digits) => (typeof value === "number" ? Number(value.toPrecision(digits)) : value);

function scaledControl(control, task, to, from) {
  if (control.kind === "kernel") {
    const kernels = control.kernels.map((kernel) => ({ ...kernel, parameters: kernel.parameters.map((parameter) => scaledControl(parameter, task, to, from)) }));
    return { ...control, kernels, default: scaledKernel(control, control.default, task, from, to, 2) };
  }
  const by = factor(control.unit, task, from, to);
  if (by === 1) return control;
  const times = (value) => (typeof value === "number" ? round(value * by, 2) : value);
  return { ...control, min: times(control.min), max: times(control.max), default: times(control.default) };
}

function scaledKernel(control, value, task, from, to, digits = 3) {
  return value.map((factors) => factors.map((item, place) => {
    const { parameters } = control.kernels.find((kernel) => kernel.name === item.name);
    // The variance of a further factor only multiplies that of the first: it has no unit.
    const units = Object.fromEntries(parameters.map((parameter) => [parameter.id, place > 0 && parameter.factor_default !== undefined ? "" : parameter.unit]));
    return Object.fromEntries(Object.entries(item).map(([id, v]) => [id, typeof v === "number" ? round(v * factor(units[id], task, from, to), digits) : v]));
  }));
}

export function scaledModels(catalogue, task, domain) {
  const from = catalogue.domain ?? REFERENCE;
  return catalogue.models.map((model) => ({ ...model, controls: model.controls.filter((control) => !control.tasks || control.tasks.includes(task)).map((control) => scaledControl(control, task, domain, from)) }));
}

// The same settings on another rectangle.
function rescaled(model, settings, task, from, to) {
  const result = { ...settings };
  for (const control of model.controls) {
    const value = settings[control.id];
    if (control.kind === "kernel") result[control.id] = scaledKernel(control, value, task, from, to);
    else if (typeof value === "number") result[control.id] = round(value * factor(control.unit, task, from, to), 3);
  }
  return result;
}

export function visible(controls, settings, task) {
  return controls.filter((control) => {
    if (control.tasks && !control.tasks.includes(task)) return false;
    return Object.entries(control.when ?? {}).every(([id, values]) => values.includes(settings[id]));
  });
}

export function defaults(model, task) {
  const settings = {};
  for (const control of model.controls) {
    if (!control.tasks || control.tasks.includes(task)) settings[control.id] = structuredClone(control.default);
  }
  return settings;
}

// The settings that the server gets: those of controls that are shown.
export function active(model, settings, task) {
  return Object.fromEntries(visible(model.controls, settings, task).map((control) => [control.id, settings[control.id] ?? control.default]));
}

export function shows(model, task) {
  return model.shows[task] ?? [];
}

// The domain that holds all points with a margin.
export function fitted(points, domain) {
  if (points.length === 0) return domain;
  return { x: extent(points.map((p) => p[0]), domain.x), y: extent(points.map((p) => p[1]), domain.y) };
}

function extent(values, fallback) {
  const lo = Math.min(...values);
  const hi = Math.max(...values);
  const room = hi > lo ? (hi - lo) * MARGIN : (fallback[1] - fallback[0]) / 2;
  return [tidy(lo - room, hi - lo || room), tidy(hi + room, hi - lo || room)];
}

// A value rounded to a thousandth of the range in which it is shown.
export function tidy(value, span) {
  const places = Math.max(0, 3 - Math.floor(Math.log10(span || 1)));
  return Number(value.toFixed(Math.min(places, 12)));
}

// ---- the state in the address ----

export function encode(state) {
  const { task, points, domain, draws, draws_from, seed, kernel, next, curve } = state;
  const panes = state.panes.map(({ model, settings }) => ({ model, settings }));
  const text = JSON.stringify({ v: VERSION, task, points, domain, panes, draws, draws_from, seed, kernel, next, curve });
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function decode(hash, catalogue) {
  const binary = atob(hash.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return checked(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)), catalogue);
}

// A state with everything that is missing filled in; throws an Error if it isn't one.
export function checked(raw, catalogue) {
  need(raw !== null && typeof raw === "object", "not an object");
  const task = raw.task ?? "regression";
  need(task === "regression" || task === "classification", "unknown task");
  const width = task === "regression" ? 2 : 3;
  const points = raw.points ?? [];
  need(Array.isArray(points) && points.length <= catalogue.limits.points, "too many points");
  for (const point of points) {
    need(Array.isArray(point) && point.length === width && point.every(Number.isFinite), "a point isn't one");
    need(width === 2 || [0, 1, 2].includes(point[2]), "unknown class");
  }
  const domain = raw.domain ?? fitted(points, { x: [0, 1], y: [-2, 2] });
  need(interval(domain.x) && interval(domain.y), "no domain");
  need(Array.isArray(raw.panes) && raw.panes.length >= 1 && raw.panes.length <= 2, "no models");
  const models = scaledModels(catalogue, task, domain);
  const panes = raw.panes.map((pane) => checkedPane(pane, task, models));
  return {
    task, points: structuredClone(points), domain: { x: [...domain.x], y: [...domain.y] }, panes,
    draws: whole(raw.draws, 0, catalogue.limits.draws, 0), draws_from: raw.draws_from === "prior" ? "prior" : "posterior",
    seed: whole(raw.seed, 0, 1e6, 0), kernel: raw.kernel === true, next: raw.next === true,
    curve: [0, 1].map((k) => (typeof raw.curve?.[k] === "string" ? raw.curve[k] : null)),
  };
}

function checkedPane(pane, task, models) {
  const model = models.find((candidate) => candidate.id === pane?.model);
  need(model && model.tasks.includes(task), "unknown model");
  const settings = defaults(model, task);
  for (const control of model.controls) {
    const value = pane.settings?.[control.id];
    if (value !== undefined && control.id in settings) settings[control.id] = checkedValue(control, value);
  }
  return { model: model.id, settings };
}

function checkedValue(control, value) {
  if (control.kind === "slider") {
    need(Number.isFinite(value), `no value for ${control.id}`);
    return control.unit ? value : Math.min(control.max, Math.max(control.min, value));
  }
  if (control.kind === "toggle") return value === true;
  if (control.kind === "choice") {
    need(control.choices.some((choice) => choice.value === value), `unknown choice for ${control.id}`);
    return value;
  }
  need(Array.isArray(value) && value.length >= 1 && value.length <= control.max_terms, "no kernel");
  return value.map((factors) => {
    need(Array.isArray(factors) && factors.length >= 1 && factors.length <= control.max_factors, "no kernel");
    return factors.map((factor) => checkedFactor(control, factor));
  });
}

function checkedFactor(control, factor) {
  const kind = control.kernels.find((kernel) => kernel.name === factor?.name);
  need(kind, "unknown kernel");
  const result = { name: kind.name };
  for (const parameter of kind.parameters) {
    const value = factor[parameter.id];
    if (value === undefined || value === null) continue;
    result[parameter.id] = checkedValue(parameter, value);
  }
  return result;
}

function interval(value) {
  return Array.isArray(value) && value.length === 2 && value.every(Number.isFinite) && value[0] < value[1];
}

function whole(value, lo, hi, fallback) {
  return Number.isInteger(value) ? Math.min(hi, Math.max(lo, value)) : fallback;
}

function need(condition, message) {
  if (!condition) throw new Error(message);
}
