// The playground: a toolbar over one or two models on the same points. Used by its own page and by the lessons.

import { element, svg } from "/static/shared/page.js";
import { request } from "/static/shared/api.js";
import { segmented } from "./controls.js";
import { copyText } from "./information.js";
import { Pane } from "./pane.js";
import { checked, encode } from "./link.js";
import { fitted, Store, tidy } from "./state.js";

const ICONS = {
  undo: "M6 3 2.5 6.5 6 10M2.5 6.5H9a4 4 0 0 1 0 8H6.5",
  redo: "M10 3l3.5 3.5L10 10M13.5 6.5H7a4 4 0 0 0 0 8h2.5",
  fit: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  plus: "M8 3v10M3 8h10",
  less: "M3 8h10",
};

const HINT = matchMedia("(pointer: coarse)").matches
  ? "Tap to add a point, drag to move it, press long to remove it."
  : "Click to add a point, drag to move it, right-click to remove it.";

export async function catalogueOf() {
  return request("/api/playground/catalogue");
}

// The points of a data set, in the form of the state.
export async function dataset(id, seed = 0) {
  const { task, points, domain, note, model } = await request(`/api/playground/dataset/${encodeURIComponent(id)}?seed=${seed}`);
  const span = [domain.x, domain.y].map(([lo, hi]) => hi - lo);
  return { task, points: points.map(([x, y, ...rest]) => [tidy(x, span[0]), tidy(y, span[1]), ...rest]), domain, note, model };
}

// A state whose points may be named as {dataset, seed} instead of being listed, and to which others are added. Without
// panes it has the model that suits the data set, or a Gaussian process.
export async function resolved(raw, catalogue) {
  if (!raw.dataset) return checked(raw, catalogue);
  const { task, points, domain, model } = await dataset(raw.dataset, raw.seed ?? 0);
  const panes = [{ model: model?.id ?? "gp", settings: model?.settings ?? {} }];
  return checked({ task, domain, panes, ...raw, points: [...points, ...(raw.add ?? [])], seed: raw.draw_seed }, catalogue);
}

export class Playground {
  // `changed(state, isStep)` is called after every change; a step is another model or number of models.
  constructor(root, catalogue, { changed = () => {} } = {}) {
    this.store = new Store(catalogue);
    this.catalogue = catalogue;
    this.changed = changed;
    this.panes = [];
    this.status = element("p", { class: "status quiet small", role: "status", "aria-live": "polite" }, HINT);
    this.note = element("p", { class: "page-note warning small", role: "alert", hidden: true });
    this.room = element("div", { class: "panes" });
    this.say = (text) => {
      this.status.textContent = text;
      this.status.title = text;
    };
    this.node = element("div", { class: "playground" }, this.#toolbar(), this.note, this.room);
    root.replaceChildren(this.node);
    this.store.listen((what, detail) => this.#on(what, detail));
    document.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("theme", () => this.#recolor());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#recolor());
  }

  load(state) {
    this.store.load(state);
  }

  warn(text) {
    this.note.textContent = text ?? "";
    this.note.hidden = !text;
  }

  // ---- toolbar ----

  #toolbar() {
    const { store } = this;
    const tasks = [{ value: "regression", label: "Regression" }, { value: "classification", label: "Classification" }];
    this.task = segmented("Task", tasks, "regression", (task) => this.#switch(task));
    this.select = element("select", { "aria-label": "Load a data set", title: "Load a data set" });
    this.select.addEventListener("change", () => this.#load(this.select.value));
    const classes = [0, 1, 2].map((k) => element("button", { type: "button", title: `New points are of class ${k} (key ${k})`, onclick: () => this.#class(k) },
      element("i", { class: `swatch class-${k}`, "aria-hidden": "true" }), `${k}`));
    this.classes = element("div", { class: "segmented classes", role: "group", "aria-label": "Class of new points" }, ...classes);
    this.undo = icon("undo", "Undo (Ctrl+Z)", () => store.undo());
    this.redo = icon("redo", "Redo (Ctrl+Shift+Z)", () => store.redo());
    const clear = element("button", { type: "button", title: "Remove all points", onclick: () => this.#clear() }, "Clear");
    const zoom = [icon("less", "Zoom out", () => this.#zoom(1.25)), icon("plus", "Zoom in", () => this.#zoom(0.8)),
      icon("fit", "Fit the axes to the points", () => this.#fit())];
    this.compare = element("button", { type: "button", class: "compare-button", "aria-pressed": "false", title: "Two models side by side on the same points",
      onclick: () => store.compare(store.state.panes.length === 1) }, "Compare");
    const link = element("button", { type: "button", title: "Copy a link to this view", onclick: () => copyText(this.link(), link, this.say) }, "Copy link");
    return element("div", { class: "toolbar panel", role: "toolbar", "aria-label": "Points" },
      this.task.node, this.select, this.classes,
      element("div", { class: "group" }, this.undo, this.redo, clear), element("div", { class: "group" }, ...zoom), this.status, element("div", { class: "group end" }, this.compare, link));
  }

  link() {
    return `${location.origin}/#${encode(this.store.state)}`;
  }

  #drawToolbar() {
    const { state, past, future } = this.store;
    this.task.set(state.task);
    this.classes.hidden = state.task !== "classification";
    [...this.classes.children].forEach((button, k) => button.setAttribute("aria-pressed", String(k === this.store.newClass)));
    this.undo.disabled = past.length === 0;
    this.redo.disabled = future.length === 0;
    this.compare.setAttribute("aria-pressed", String(state.panes.length === 2));
    if (this.select.dataset.task === state.task) return;
    this.select.dataset.task = state.task;
    const sets = this.catalogue.datasets.filter((set) => set.task === state.task);
    this.select.replaceChildren(element("option", { value: "" }, "Load data…"), ...sets.map((set) => element("option", { value: set.id }, set.name)));
  }

  async #load(id) {
    this.select.value = "";
    if (!id) return;
    try {
      const data = await dataset(id);
      this.store.replace(data);
      if (data.model) {
        this.store.setModel(0, data.model.id);
        this.store.learned(0, structuredClone(data.model.settings));
        this.panes[0].rebuild();
      }
      this.say(data.note ?? `${data.points.length} points.`);
    } catch (error) {
      this.warn(error.message);
    }
  }

  async #switch(task) {
    if (task === this.store.state.task) return;
    const kept = this.store.kept[task];
    const first = this.catalogue.datasets.find((set) => set.task === task);
    try {
      this.store.replace(kept ?? (await dataset(first.id)));
      this.say(`${this.store.state.points.length} points.`);
    } catch (error) {
      this.task.set(this.store.state.task);
      this.warn(error.message);
    }
  }

  #class(k) {
    this.store.newClass = k;
    this.#drawToolbar();
    this.say(`New points are of class ${k}.`);
  }

  #clear() {
    this.store.clear();
    this.say("All points removed.");
  }

  #zoom(factor) {
    const { domain } = this.store.state;
    const scaled = ([lo, hi]) => [(lo + hi) / 2 - ((hi - lo) / 2) * factor, (lo + hi) / 2 + ((hi - lo) / 2) * factor];
    this.store.setDomain({ x: scaled(domain.x), y: scaled(domain.y) });
  }

  #fit() {
    this.store.setDomain(fitted(this.store.state.points, this.store.state.domain));
  }

  #key(event) {
    if (event.target.closest?.("input:not([type=range]):not([type=checkbox]), textarea, select") || !this.store.state) return;
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y")) {
      event.preventDefault();
      if (key === "y" || event.shiftKey) this.store.redo();
      else this.store.undo();
      this.say(`${this.store.state.points.length} points.`);
      return;
    }
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey;
    if (plain && ["0", "1", "2"].includes(key) && this.store.state.task === "classification") this.#class(Number(key));
  }

  // ---- changes ----

  #on(what, detail) {
    if (what === "panes") this.#arrange();
    else if (what === "data") this.panes.forEach((pane) => pane.onData(detail));
    else if (what === "pane") this.panes[detail.index].onPane(detail);
    else this.panes.forEach((pane) => pane.onView());
    this.#drawToolbar();
    this.changed(this.store.state, what === "panes" || Boolean(detail?.model));
  }

  #arrange() {
    const count = this.store.state.panes.length;
    while (this.panes.length > count) {
      const pane = this.panes.pop();
      pane.cancel();
      pane.node.remove();
    }
    while (this.panes.length < count) {
      const pane = new Pane(this.store, this.panes.length, { say: this.say });
      this.panes.push(pane);
      this.room.append(pane.node);
    }
    this.node.classList.toggle("compare", count === 2);
    this.panes.forEach((pane) => pane.rebuild());
  }

  #recolor() {
    this.panes.forEach((pane) => pane.recolor());
  }
}

function icon(name, label, onclick) {
  return element("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick },
    svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, svg("path", { d: ICONS[name] })));
}
