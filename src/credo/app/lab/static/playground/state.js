// What the page shows, and its history.

import { defaults, rescaled, scaledModels, similar } from "./units.js";

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
    else {
      this.state.panes = this.state.panes.map((pane) => {
        const settings = rescaled(this.model(pane.model), pane.settings, task, from, domain);
        return { ...pane, settings, memory: {} };
      });
    }
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
