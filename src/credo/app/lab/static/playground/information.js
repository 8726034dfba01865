// What is written below a plot: evidence, equation, code, bars and notes.

import { element } from "/static/shared/page.js";
import { mathematics } from "/static/shared/mathml.js";
import { fixed, number } from "/static/shared/scale.js";

const METHODS = { exact: "exact", laplace: "by Laplace's approximation", ep: "by expectation propagation", elbo: "by variational inference" };

export function information(say) {
  const evidence = card("Evidence");
  const equation = card("Equation");
  const code = card("Python");
  const bars = card("Bars");
  const notes = element("ul", { class: "notes", hidden: true });
  const source = element("code");
  const copy = element("button", { type: "button", class: "small-button", onclick: () => copyText(source.textContent, copy, say) }, "Copy");
  code.head.append(copy);
  code.body.append(element("pre", { tabindex: "0", "aria-label": "Python code of this model" }, source));
  const last = {};

  // Parts that are as before stay untouched, so that a selection or a scroll position is kept.
  function changed(name, value) {
    const text = JSON.stringify(value ?? null);
    if (last[name] === text) return false;
    last[name] = text;
    return true;
  }

  function set(answer) {
    if (changed("evidence", answer.evidence)) showEvidence(evidence, answer.evidence);
    if (changed("equation", answer.equation)) showEquation(equation, answer.equation);
    if (changed("code", answer.code)) {
      source.textContent = answer.code ?? "";
      code.node.hidden = !answer.code;
    }
    if (changed("bars", answer.bars)) showBars(bars, answer.bars);
    if (changed("notes", answer.notes)) {
      notes.replaceChildren(...(answer.notes ?? []).map((note) => element("li", {}, note)));
      notes.hidden = !(answer.notes ?? []).length;
    }
  }
  return { nodes: [evidence.node, equation.node, bars.node, code.node], notes, set };
}

export function card(title, className = "") {
  const heading = element("h3", {}, title);
  const head = element("div", { class: "card-head" }, heading);
  const body = element("div", { class: "card-body" });
  return { node: element("section", { class: `card ${className || title.toLowerCase()}`, "aria-label": title }, head, body), head, heading, body };
}

function showEvidence(target, evidence) {
  target.node.hidden = !evidence;
  if (!evidence) return;
  const label = evidence.label ?? "log evidence";
  target.heading.textContent = label[0].toUpperCase() + label.slice(1);
  if (evidence.value === null || evidence.value === undefined) {
    target.body.replaceChildren(element("p", { class: "quiet small" }, evidence.reason ?? "This model has none."));
    return;
  }
  const parts = evidence.parts ?? [];
  const value = element("p", { class: "value" }, element("span", { class: "evidence-value" }, fixed(evidence.value)),
    METHODS[evidence.method] ? element("span", { class: "quiet small" }, METHODS[evidence.method]) : null);
  target.body.replaceChildren(value, barTable(parts.map((part) => part.label), parts.map((part) => part.value), fixed));
}

function showEquation(target, equation) {
  target.node.hidden = !equation?.text;
  if (target.node.hidden) return;
  const made = equation.mathml ? mathematics(equation.mathml) : null;
  if (made) made.setAttribute("aria-label", equation.text ?? "");
  target.body.replaceChildren(element("div", { class: "scroll equation-text" }, made ?? equation.text ?? ""));
}

function showBars(target, bars) {
  target.node.hidden = !bars || !bars.values.length;
  if (target.node.hidden) return;
  target.heading.textContent = bars.title ?? "Values";
  target.body.replaceChildren(element("div", { class: "bar-scroll" }, barTable(bars.labels, bars.values, (value) => number(value))));
}

// Rows of label, bar and number; bars go left or right of a common zero.
function barTable(labels, values, format) {
  const lo = Math.min(0, ...values);
  const hi = Math.max(0, ...values);
  const span = hi - lo || 1;
  return element("div", { class: "bars-table" }, ...values.flatMap((value, index) => {
    const bar = element("span", { class: value < 0 ? "bar negative" : "bar" });
    bar.style.left = `${(100 * (Math.min(value, 0) - lo)) / span}%`;
    bar.style.width = `${(100 * Math.abs(value)) / span}%`;
    const zero = element("span", { class: "zero" });
    zero.style.left = `${(-100 * lo) / span}%`;
    const track = element("span", { class: "bar-track", "aria-hidden": "true" }, bar, zero);
    return [element("span", { class: "bar-label" }, labels[index]), track, element("span", { class: "bar-value" }, format(value))];
  }));
}

export async function copyText(text, button, say) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    say("Copied.");
  } catch {
    button.textContent = "Not copied";
    say("The browser doesn't allow copying.");
  }
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
}
