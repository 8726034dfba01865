// The panel beside a plot: the model's controls, learning, and what else is drawn.

import { element } from "/static/shared/page.js";
import { controlList, segmented, slider, toggle } from "./controls.js";
import { shows } from "./units.js";

const PLAY = 450;

export class Settings {
  constructor(store, index, { learn, cancel, say }) {
    this.store = store;
    this.index = index;
    this.say = say;
    this.learnButton = element("button", { type: "button", class: "primary learn", title: "Choose the values from the points", onclick: learn },
      element("span", { class: "spinner", "aria-hidden": "true" }), element("span", {}, "Learn"));
    this.cancelButton = element("button", { type: "button", hidden: true, onclick: cancel }, "Cancel");
    this.heading = element("h2", {}, "");
    this.body = element("div", { class: "side-body" });
    this.node = element("aside", { class: "side panel", "aria-label": "Settings of the model" },
      element("div", { class: "side-head" }, this.heading, this.cancelButton, this.learnButton), this.body);
  }

  get #pane() {
    return this.store.state.panes[this.index];
  }

  build() {
    const { state } = this.store;
    const model = this.store.model(this.#pane.model);
    this.stop();
    this.heading.textContent = model.name;
    this.learnButton.hidden = !shows(model, state.task).includes("learn");
    this.list = controlList(model, state.task, this.#pane.settings, (id, value) => {
      if (id !== this.playing) this.stop();
      this.store.set(this.index, id, value);
    });
    this.body.replaceChildren(this.list.node, ...this.#options(shows(model, state.task)));
    this.#player(model, state.task);
  }

  set() {
    this.list?.set(this.#pane.settings);
    for (const show of this.shown ?? []) show();
  }

  // Draws, equivalent kernel and next point: the same for both models.
  #options(able) {
    const { store } = this;
    const parts = [];
    this.shown = [];
    const keep = (part, value) => {
      this.shown.push(() => part.set(value()));
      parts.push(part.node);
    };
    if (able.includes("draws") || able.includes("prior_draws")) {
      const count = { id: "draws", label: "Draws", min: 0, max: store.catalogue.limits.draws, step: 1, help: "Functions drawn at random from the model" };
      keep(slider(count, store.state.draws, (draws) => store.view({ draws })), () => store.state.draws);
      const sources = [{ value: "prior", label: "Prior" }, { value: "posterior", label: "Posterior" }];
      const from = segmented("Draw from", sources, store.state.draws_from, (draws_from) => store.view({ draws_from, draws: store.state.draws || 8 }));
      this.shown.push(() => from.set(store.state.draws_from));
      const again = element("button", { type: "button", class: "small-button", title: "Draw other functions",
        onclick: () => store.view({ seed: store.state.seed + 1, draws: store.state.draws || 8 }) }, "New draws");
      const both = able.includes("prior_draws") && able.includes("draws");
      parts.push(element("div", { class: "control draw-row" }, both ? from.node : element("span"), again));
    }
    const ticks = [];
    const option = (what, id, label, help) => {
      if (!able.includes(what)) return;
      const part = toggle({ id, label, help }, store.state[id], (on) => store.view({ [id]: on }));
      this.shown.push(() => part.set(store.state[id]));
      ticks.push(part.node);
    };
    option("equivalent_kernel", "kernel", "Equivalent kernel", "The weight that the mean at the cursor gives to each point");
    option("next", "next", "Where to measure next", "Where a new measurement would tell most");
    if (ticks.length) parts.push(element("div", { class: "ticks" }, ...ticks));
    return parts.length ? [element("h3", { class: "side-title" }, "Show"), element("div", { class: "controls" }, ...parts)] : [];
  }

  learning(on) {
    this.learnButton.disabled = on;
    this.learnButton.lastChild.textContent = on ? "Learning…" : "Learn";
    this.learnButton.classList.toggle("busy", on);
    this.learnButton.setAttribute("aria-busy", String(on));
    this.cancelButton.hidden = !on;
  }

  // ---- play rounds or passes one by one ----

  #player(model, task) {
    const control = model.controls.find((item) => item.id === "round" || item.id === "epochs");
    if (!control || !shows(model, task).includes("rounds")) return;
    this.rounds = control;
    const press = () => (this.playing ? this.stop() : this.play());
    this.playButton = element("button", { type: "button", class: "small-button play", onclick: press }, "▶ Play");
    this.list.part(control.id)?.node.after(this.playButton);
  }

  play() {
    const { rounds } = this;
    this.playing = rounds.id;
    this.playButton.textContent = "■ Stop";
    if (this.#pane.settings[rounds.id] >= rounds.max) this.store.set(this.index, rounds.id, rounds.min);
    this.timer = setInterval(() => {
      const next = this.#pane.settings[rounds.id] + (rounds.step || 1);
      if (next > rounds.max) this.stop();
      else this.store.set(this.index, rounds.id, next);
    }, PLAY);
  }

  stop() {
    clearInterval(this.timer);
    this.playing = null;
    if (this.playButton) this.playButton.textContent = "▶ Play";
  }
}
