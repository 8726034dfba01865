// What the lines and colors of a plot mean.

import { element } from "/static/shared/page.js";
import { fixed } from "/static/shared/scale.js";

export function legend(answer, want, count) {
  const items = [];
  const { regression, classification } = answer;
  if (regression) {
    const level = Math.round(100 * (regression.level ?? 0.95));
    if (regression.mean) items.push(item("mean", "mean"));
    (regression.parts ?? []).forEach(({ label }, k) => items.push(item(`part-${k}`, label)));
    if (regression.latent_lower) items.push(item("latent", `${level} % band for f`));
    if (regression.lower) items.push(item("band", `${level} % band for new observations`));
    if (regression.draws?.length) items.push(item("draw", want.draws_from === "prior" || !count ? "draws from the prior" : "draws from the posterior"));
  }
  if (classification) {
    const labels = classification.labels ?? [0, 1, 2].slice(0, classification.classes);
    for (const label of labels) items.push(item(`class-${label}`, `class ${label}`));
    items.push(item("boundary", classification.classes === 2 ? (classification.score ? "boundary, f(x) = 0" : "probability 0.5") : "boundary"));
    if (classification.cut) items.push(item("cut", "stump of this round"));
  }
  if (answer.weights) items.push(item("", "size of a point: its weight"));
  const seconds = answer.seconds ?? 0;
  const { evidence } = answer;
  const known = evidence && Number.isFinite(evidence.value);
  const label = known ? (evidence.label ?? "log evidence").replace(/ \(.*\)/, "") : "";
  items.push(element("span", { class: "numbers" }, ...(known ? [`${label} `, element("b", {}, fixed(evidence.value)), " · "] : []),
    element("span", { title: "Time that the server needed" }, `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms`)));
  return items;
}

function item(kind, label) {
  return element("span", { class: "key" }, kind ? element("i", { class: `swatch ${kind}`, "aria-hidden": "true" }) : null, label);
}
