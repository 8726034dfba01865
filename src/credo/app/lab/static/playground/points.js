// The points of a plot: add, drag, remove, and the same by keyboard and touch.

import { svg } from "/static/shared/page.js";
import { number } from "/static/shared/scale.js";
import { tidy } from "./state.js";

const RADIUS = 5;
const LONG_PRESS = 550;

export class Points {
  // `say` announces what was done; `hover(x)` is told where the cursor is.
  constructor(plot, store, { say, hover }) {
    this.plot = plot;
    this.store = store;
    this.say = say;
    this.hover = hover;
    this.layer = plot.layers.points;
    this.weights = null;
    this.focused = 0;
    this.drag = null;
    this.cursor = null;
    this.cross = svg("path", { class: "cross", visibility: "hidden" });
    plot.layers.marks.append(this.cross);
    plot.frame.setAttribute("tabindex", "0");
    plot.frame.setAttribute("role", "application");
    plot.frame.setAttribute("aria-label", "Plotting area. Arrow keys move a cursor, Enter adds a point there, Tab goes to the points.");
    this.#listen();
  }

  // ---- drawing ----

  draw() {
    const { points, task } = this.store.state;
    while (this.layer.childElementCount > points.length) this.layer.lastChild.remove();
    while (this.layer.childElementCount < points.length) this.layer.append(svg("circle", { role: "button", "aria-roledescription": "point" }));
    this.focused = Math.max(0, Math.min(this.focused, points.length - 1));
    points.forEach((point, index) => {
      const node = this.layer.children[index];
      node.setAttribute("class", task === "classification" ? `point class-${point[2]}` : "point");
      node.setAttribute("tabindex", index === this.focused ? "0" : "-1");
      this.place(index);
    });
  }

  place(index) {
    const node = this.layer.children[index];
    const point = this.store.state.points[index];
    if (!node || !point) return;
    node.setAttribute("cx", this.plot.x(point[0]).toFixed(1));
    node.setAttribute("cy", this.plot.y(point[1]).toFixed(1));
    node.setAttribute("r", this.#radius(index).toFixed(1));
    const kind = point.length === 3 ? `, class ${point[2]}` : "";
    node.setAttribute("aria-label", `Point ${index + 1} of ${this.store.state.points.length}: ${number(point[0])}, ${number(point[1])}${kind}`);
  }

  // Areas proportional to the weights; null gives all points the same size.
  weigh(weights) {
    this.weights = weights && weights.length === this.store.state.points.length ? weights : null;
    for (let index = 0; index < this.layer.childElementCount; index += 1) this.layer.children[index].setAttribute("r", this.#radius(index).toFixed(1));
  }

  #radius(index) {
    if (!this.weights || index >= this.weights.length) return RADIUS;
    const mean = this.weights.reduce((sum, w) => sum + w, 0) / this.weights.length;
    return Math.max(1.8, Math.min(18, RADIUS * Math.sqrt(this.weights[index] / (mean || 1))));
  }

  // ---- pointer ----

  #listen() {
    const root = this.plot.svg;
    root.addEventListener("pointerdown", (event) => this.#down(event));
    root.addEventListener("pointermove", (event) => this.#move(event));
    root.addEventListener("pointerup", (event) => this.#up(event));
    root.addEventListener("pointercancel", () => this.#cancel());
    root.addEventListener("pointerleave", () => {
      if (!this.drag) this.hover(null);
    });
    root.addEventListener("contextmenu", (event) => this.#menu(event));
    root.addEventListener("touchstart", (event) => this.#hold(event), { passive: false });
    root.addEventListener("keydown", (event) => this.#key(event));
    // Not on the group of points: Chromium makes SVG elements that listen to focus stops of the Tab key.
    this.plot.node.addEventListener("focusin", (event) => {
      const index = [...this.layer.children].indexOf(event.target);
      if (index >= 0) this.#tabStop(index);
    });
    this.plot.node.addEventListener("focusout", () => this.cross.setAttribute("visibility", "hidden"));
  }

  #near(at, touch) {
    const reach = touch ? 24 : 9;
    let best = -1;
    let distance = Infinity;
    this.store.state.points.forEach((point, index) => {
      const d = Math.hypot(this.plot.x(point[0]) - at.px, this.plot.y(point[1]) - at.py) - (this.weights ? this.#radius(index) - RADIUS : 0);
      if (d < distance) [best, distance] = [index, d];
    });
    return distance <= reach ? best : -1;
  }

  // A finger on a point moves the point; elsewhere it scrolls the page.
  #hold(event) {
    if (event.touches.length === 1 && this.#near(this.plot.locate(event.touches[0]), true) >= 0) event.preventDefault();
  }

  #down(event) {
    if (event.button !== 0 || !event.isPrimary) return;
    const at = this.plot.locate(event);
    const touch = event.pointerType !== "mouse";
    const index = this.#near(at, touch);
    this.drag = { index, at, touch, started: false, timer: null };
    if (index < 0) return;
    this.plot.svg.setPointerCapture(event.pointerId);
    this.layer.children[index].focus({ preventScroll: true });
    event.preventDefault();
    if (touch) {
      this.drag.timer = setTimeout(() => {
        this.drag = null;
        this.#remove(index);
      }, LONG_PRESS);
    }
  }

  #move(event) {
    const at = this.plot.locate(event);
    if (!this.drag) {
      this.plot.node.classList.toggle("on-point", this.#near(at, false) >= 0);
      this.hover(at.inside ? at.x : null);
      return;
    }
    const { drag } = this;
    if (!drag.started && Math.hypot(at.px - drag.at.px, at.py - drag.at.py) < (drag.touch ? 8 : 3)) return;
    if (!drag.started) {
      clearTimeout(drag.timer);
      drag.started = true;
      if (drag.index >= 0) this.store.remember();
    }
    if (drag.index >= 0) this.#to(drag.index, at.x, at.y);
  }

  #up(event) {
    const { drag } = this;
    if (!drag) return;
    clearTimeout(drag.timer);
    this.drag = null;
    if (drag.index >= 0) {
      if (drag.started) this.#told(drag.index, "moved to");
      return;
    }
    const at = this.plot.locate(event);
    if (!drag.started && at.inside && event.button === 0) this.#add(at.x, at.y, true);
  }

  #cancel() {
    clearTimeout(this.drag?.timer);
    this.drag = null;
  }

  #menu(event) {
    event.preventDefault();
    const touch = this.drag?.touch ?? false;
    const index = this.#near(this.plot.locate(event), touch);
    this.#cancel();
    if (index >= 0) this.#remove(index);
  }

  // ---- keyboard ----

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const index = [...this.layer.children].indexOf(event.target);
    const step = event.shiftKey ? 0.05 : 0.01;
    const { x, y } = this.store.state.domain;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const arrow = arrows[event.key];
    if (arrow) {
      const by = [arrow[0] * step * (x[1] - x[0]), arrow[1] * step * (y[1] - y[0])];
      if (index >= 0) this.#nudge(index, by);
      else if (event.target === this.plot.frame) this.#point(by);
    } else if (index >= 0 && (event.key === "Delete" || event.key === "Backspace")) this.#remove(index, true);
    else if (index >= 0 && event.key === "PageDown") this.#focus(index + 1);
    else if (index >= 0 && event.key === "PageUp") this.#focus(index - 1);
    else if (index >= 0 && event.key === "Escape") this.plot.frame.focus();
    else if (event.target === this.plot.frame && (event.key === "Enter" || event.key === " ")) {
      if (!this.cursor) this.#point([0, 0]);
      this.#add(this.cursor.x, this.cursor.y, false);
    } else return;
    event.preventDefault();
  }

  #nudge(index, [dx, dy]) {
    const [x, y] = this.store.state.points[index];
    this.store.remember(`nudge ${index}`);
    this.#to(index, x + dx, y + dy);
    this.#told(index, "moved to");
  }

  // Move the keyboard's cursor, which starts in the middle.
  #point([dx, dy]) {
    const { x, y } = this.store.state.domain;
    const at = this.cursor ?? { x: (x[0] + x[1]) / 2, y: (y[0] + y[1]) / 2 };
    this.cursor = { x: clamp(at.x + dx, x), y: clamp(at.y + dy, y) };
    const px = this.plot.x(this.cursor.x);
    const py = this.plot.y(this.cursor.y);
    this.cross.setAttribute("d", `M${px - 9},${py}h18M${px},${py - 9}v18`);
    this.cross.setAttribute("visibility", "visible");
    this.hover(this.cursor.x);
    this.say(`Cursor at ${number(this.cursor.x)}, ${number(this.cursor.y)}.`);
  }

  // ---- changes ----

  #add(x, y, focus) {
    const point = this.#rounded(x, y);
    if (this.store.state.task === "classification") point.push(this.store.newClass);
    if (!this.store.add(point)) {
      this.say(`There can be ${this.store.catalogue.limits.points} points at most.`);
      return;
    }
    const index = this.store.state.points.length - 1;
    if (focus) this.layer.children[index]?.focus({ preventScroll: true });
    this.#told(index, "added at");
  }

  #to(index, x, y) {
    this.store.move(index, ...this.#rounded(x, y));
  }

  #remove(index, focus = false) {
    this.store.remove(index);
    const left = this.store.state.points.length;
    this.say(`Point removed, ${left} left.`);
    if (!focus) return;
    if (left) this.#focus(Math.min(index, left - 1));
    else this.plot.frame.focus();
  }

  #focus(index) {
    const count = this.layer.childElementCount;
    this.layer.children[(index + count) % count]?.focus({ preventScroll: true });
  }

  #tabStop(index) {
    this.layer.children[this.focused]?.setAttribute("tabindex", "-1");
    this.layer.children[index].setAttribute("tabindex", "0");
    this.focused = index;
  }

  #rounded(x, y) {
    const { domain } = this.store.state;
    return [tidy(clamp(x, domain.x), domain.x[1] - domain.x[0]), tidy(clamp(y, domain.y), domain.y[1] - domain.y[0])];
  }

  #told(index, what) {
    const point = this.store.state.points[index];
    this.say(`Point ${what} ${number(point[0])}, ${number(point[1])}. ${this.store.state.points.length} points.`);
  }
}

function clamp(value, [lo, hi]) {
  return Math.min(hi, Math.max(lo, value));
}
