// Small pictures of one prediction: a density with its interval, or bars of probabilities.

import { element, svg } from "/static/shared/page.js";
import { linear, ticks } from "/static/shared/scale.js";

const WIDTH = 460;
const HEIGHT = 150;

export function density(answer, range) {
  const { curve } = answer;
  if (!curve) return null;
  const low = Math.min(curve.x[0], range?.[0] ?? Infinity);
  const high = Math.max(curve.x.at(-1), range?.[1] ?? -Infinity);
  const x = linear([low, high], [8, WIDTH - 8]);
  const y = linear([0, 1.06 * Math.max(...curve.y)], [HEIGHT - 26, 8]);
  const base = y(0);
  const points = curve.x.map((value, i) => [value, curve.y[i]]);
  const inside = points.filter(([value]) => value >= answer.lower && value <= answer.upper);
  const path = (list) => list.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)},${y(b).toFixed(1)}`).join("");
  const area = inside.length > 1 ? `${path(inside)}L${x(inside.at(-1)[0]).toFixed(1)},${base}L${x(inside[0][0]).toFixed(1)},${base}Z` : "";
  const axis = ticks(low, high, 6).map(({ value, label }) => {
    const text = svg("text", { x: x(value), y: base + 17, "text-anchor": "middle" });
    text.textContent = label;
    return svg("g", {}, svg("line", { x1: x(value), x2: x(value), y1: base, y2: base + 4 }), text);
  });
  return svg(
    "svg",
    { class: "density", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Predictive density with its interval" },
    svg("path", { class: "inside", d: area }),
    svg("path", { class: "curve", d: path(points) }),
    svg("line", { class: "mean", x1: x(answer.mean), x2: x(answer.mean), y1: 8, y2: base }),
    svg("line", { class: "axis", x1: 8, x2: WIDTH - 8, y1: base, y2: base }),
    ...axis,
  );
}

export function bars(answer) {
  const order = answer.probabilities.map((_, i) => i).sort((a, b) => answer.probabilities[b] - answer.probabilities[a]);
  const lines = order.slice(0, 12).flatMap((i) => {
    const meter = element("div", { class: "bar" }, element("div", { class: "fill" }));
    meter.firstChild.style.width = `${(100 * answer.probabilities[i]).toFixed(1)}%`;
    return [
      element("span", { class: "bar-label" }, answer.classes[i]),
      meter,
      element("span", { class: "number" }, percent(answer.probabilities[i])),
    ];
  });
  return element("div", { class: "bars" }, ...lines);
}

function percent(value) {
  if (value > 0.999 && value < 1) return "> 99.9 %";
  if (value < 0.001 && value > 0) return "< 0.1 %";
  return `${(100 * value).toFixed(1)} %`;
}
