// Axes, grid and layers of one plot, in the pixels of its own box.

import { svg, element } from "/static/shared/page.js";
import { linear, logarithmic, ticks, logTicks } from "/static/shared/scale.js";

let made = 0;

export class Plot {
  // `layers` are groups that are clipped to the plotting area, from back to front.
  constructor({ label, layers = [], margin = { top: 10, right: 12, bottom: 28, left: 44 }, xScale = "linear", onresize = () => {} }) {
    made += 1;
    this.margin = margin;
    this.xScale = xScale;
    this.domain = { x: [0, 1], y: [0, 1] };
    this.width = 0;
    this.height = 0;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.map = element("div", { class: "map" }, this.canvas);
    this.frame = svg("rect", { class: "frame" });
    this.grid = svg("g", { class: "grid", "aria-hidden": "true" });
    this.axis = svg("g", { class: "axis", "aria-hidden": "true" });
    this.box = svg("rect", {});
    const clip = svg("clipPath", { id: `clip-${made}` }, this.box);
    this.layers = {};
    const inside = svg("g", { "clip-path": `url(#clip-${made})` });
    for (const name of layers) inside.append((this.layers[name] = svg("g", { class: name })));
    this.svg = svg("svg", { role: "group", "aria-label": label }, svg("defs", {}, clip), this.grid, this.frame, inside, this.axis);
    this.node = element("div", { class: "plot" }, this.map, this.svg);
    new ResizeObserver(() => {
      if (this.measure()) onresize();
    }).observe(this.node);
  }

  // Read the size of the box; true if it has changed and isn't empty.
  measure() {
    const { width, height } = this.node.getBoundingClientRect();
    if (width < 40 || height < 40 || (width === this.width && height === this.height)) return false;
    this.width = width;
    this.height = height;
    this.draw();
    return true;
  }

  set(domain) {
    this.domain = domain;
    this.draw();
  }

  draw() {
    if (!this.width) return;
    const { top, right, bottom, left } = this.margin;
    const inner = { x: left, y: top, width: this.width - left - right, height: this.height - top - bottom };
    this.inner = inner;
    this.x = (this.xScale === "log" ? logarithmic : linear)(this.domain.x, [inner.x, inner.x + inner.width]);
    this.y = linear(this.domain.y, [inner.y + inner.height, inner.y]);
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", this.height);
    for (const node of [this.frame, this.box]) {
      for (const [name, value] of Object.entries(inner)) node.setAttribute(name, Math.max(value, 0));
    }
    const box = { left: inner.x, top: inner.y, width: inner.width, height: inner.height };
    for (const [name, value] of Object.entries(box)) this.map.style[name] = `${value}px`;
    this.#ticks(inner);
  }

  #ticks(inner) {
    const across = this.xScale === "log" ? logTicks(...this.domain.x) : ticks(...this.domain.x, Math.max(2, Math.floor(inner.width / 85)));
    const up = ticks(...this.domain.y, Math.max(2, Math.floor(inner.height / (inner.height < 150 ? 32 : 55))));
    const lines = [];
    const labels = [];
    const base = inner.y + inner.height;
    for (const { value, label } of across) {
      const x = this.x(value).toFixed(1);
      lines.push(svg("line", { x1: x, x2: x, y1: inner.y, y2: base }));
      labels.push(text(label, { x, y: base + 17, "text-anchor": "middle" }));
    }
    for (const { value, label } of up) {
      const y = this.y(value).toFixed(1);
      lines.push(svg("line", { x1: inner.x, x2: inner.x + inner.width, y1: y, y2: y }));
      labels.push(text(label, { x: inner.x - 7, y, dy: "0.35em", "text-anchor": "end" }));
    }
    this.grid.replaceChildren(...lines);
    this.axis.replaceChildren(...labels);
  }

  // Where an event happened: pixels of the box, values of the axes, and whether it is inside of the frame.
  locate(event) {
    const box = this.svg.getBoundingClientRect();
    const px = event.clientX - box.left;
    const py = event.clientY - box.top;
    const { x, y, width, height } = this.inner;
    const inside = px >= x && px <= x + width && py >= y && py <= y + height;
    return { px, py, x: this.x.invert(px), y: this.y.invert(py), inside };
  }

  line(xs, ys) {
    let path = "";
    let pen = "M";
    for (let i = 0; i < xs.length; i += 1) {
      if (ys[i] === null || !Number.isFinite(ys[i])) {
        pen = "M";
        continue;
      }
      path += `${pen}${this.x(xs[i]).toFixed(1)},${this.#bound(this.y(ys[i]))}`;
      pen = "L";
    }
    return path;
  }

  area(xs, lower, upper) {
    const kept = xs.map((_, i) => i).filter((i) => Number.isFinite(lower[i]) && Number.isFinite(upper[i]) && lower[i] !== null && upper[i] !== null);
    if (kept.length < 2) return "";
    const up = kept.map((i) => `${this.x(xs[i]).toFixed(1)},${this.#bound(this.y(upper[i]))}`);
    const down = kept.reverse().map((i) => `${this.x(xs[i]).toFixed(1)},${this.#bound(this.y(lower[i]))}`);
    return `M${up.join("L")}L${down.join("L")}Z`;
  }

  // Far outside of the box coordinates may overflow what the renderer can draw.
  #bound(pixel) {
    return Math.max(-9999, Math.min(9999, pixel)).toFixed(1);
  }
}

function text(content, attributes) {
  const node = svg("text", attributes);
  node.textContent = content;
  return node;
}
