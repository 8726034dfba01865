// The evidence over one hyperparameter; dragging on the curve sets its value.

import { element, svg } from "/static/shared/page.js";
import { Plot } from "/static/shared/plot.js";
import { number } from "/static/shared/scale.js";
import { card } from "./information.js";

// `choose(id)` is called when another parameter is selected, `change(id, value)` when a value is dragged.
export function evidenceCurve(choose, change) {
  const target = card("Log evidence over", "curve");
  const select = element("select", { "aria-label": "Draw the evidence over" });
  const margin = { top: 8, right: 10, bottom: 24, left: 48 };
  const plot = new Plot({ label: "Evidence over a parameter", layers: ["line", "handle"], margin, onresize: draw });
  const mark = svg("line", { class: "handle-line" });
  const grip = svg("circle", { class: "grip", r: 6, tabindex: "0", role: "slider", "aria-label": "Value of the parameter" });
  const line = svg("path", { class: "curve-line" });
  plot.layers.line.append(line);
  plot.layers.handle.append(mark, grip);
  target.head.append(select);
  target.body.append(plot.node, element("p", { class: "hint quiet small" }, "Choose a parameter to see how the evidence depends on it."));
  let options = [];
  let shown = null;
  let at = null;
  let dragging = false;

  select.addEventListener("change", () => choose(select.value || null));
  plot.svg.addEventListener("pointerdown", (event) => {
    if (!shown || event.button !== 0) return;
    dragging = true;
    plot.svg.setPointerCapture(event.pointerId);
    event.preventDefault();
    move(event);
  });
  plot.svg.addEventListener("pointermove", (event) => dragging && move(event));
  for (const end of ["pointerup", "pointercancel"]) plot.svg.addEventListener(end, () => (dragging = false));
  grip.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    put(plot.x.invert(plot.x(at) + by * (plot.inner.width / 50)));
  });

  function move(event) {
    put(plot.locate(event).x);
  }

  function put(value) {
    const { control } = options.find((option) => option.path === shown.control) ?? {};
    if (!control) return;
    const [lo, hi] = plot.domain.x;
    let next = Math.min(hi, Math.max(lo, value));
    next = Math.min(control.max, Math.max(control.min, Number(next.toPrecision(3))));
    if (control.scale !== "log" && control.step) next = Number((Math.round(next / control.step) * control.step).toPrecision(6));
    at = next;
    handle();
    change(shown.control, next);
  }

  function draw() {
    if (!shown || !plot.width) return;
    const values = shown.y.filter((y) => y !== null && Number.isFinite(y));
    if (!values.length) return;
    const top = Math.max(...values);
    // Far below the maximum the curve only says "worse": show the part that matters.
    const bottom = Math.max(Math.min(...values), top - Math.max(30, 3 * (top - median(values))));
    const room = (top - bottom || 1) * 0.08;
    plot.xScale = shown.scale === "log" ? "log" : "linear";
    plot.set({ x: [shown.x[0], shown.x.at(-1)], y: [bottom - room, top + room] });
    line.setAttribute("d", plot.line(shown.x, shown.y));
    handle();
  }

  function handle() {
    if (!plot.width || !shown || at === null) return;
    const x = plot.x(Math.min(plot.domain.x[1], Math.max(plot.domain.x[0], at)));
    const y = Math.min(plot.inner.y + plot.inner.height, Math.max(plot.inner.y, plot.y(between(shown.x, shown.y, at))));
    const ends = { x1: x, x2: x, y1: plot.inner.y, y2: plot.inner.y + plot.inner.height };
    for (const [name, value] of Object.entries(ends)) mark.setAttribute(name, value);
    grip.setAttribute("cx", x);
    grip.setAttribute("cy", Number.isFinite(y) ? y : plot.inner.y + plot.inner.height);
    grip.setAttribute("aria-valuenow", at);
    grip.setAttribute("aria-valuemin", plot.domain.x[0]);
    grip.setAttribute("aria-valuemax", plot.domain.x[1]);
    grip.setAttribute("aria-valuetext", number(at));
  }

  return {
    node: target.node,
    options(list, current) {
      const text = JSON.stringify(list.map(({ path, label }) => [path, label]));
      if (select.dataset.options !== text) {
        select.dataset.options = text;
        select.replaceChildren(element("option", { value: "" }, "none"), ...list.map(({ path, label }) => element("option", { value: path }, label)));
      }
      options = list;
      select.value = current ?? "";
      target.node.hidden = list.length === 0;
      target.node.classList.toggle("empty", !current);
      if (!current) shown = null;
    },
    set(curve) {
      if (!curve || dragging) return;
      shown = curve;
      at = curve.at;
      target.heading.textContent = `${(curve.label ?? "log evidence").replace(/^./, (c) => c.toUpperCase())} over`;
      plot.measure();
      draw();
    },
    at(value) {
      if (dragging) return;
      at = value;
      handle();
    },
  };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function between(xs, ys, x) {
  const k = xs.findIndex((value) => value >= x);
  if (k <= 0) return ys[k === 0 ? 0 : ys.length - 1];
  const share = (x - xs[k - 1]) / (xs[k] - xs[k - 1] || 1);
  return ys[k - 1] + share * (ys[k] - ys[k - 1]);
}
