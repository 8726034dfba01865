// Sliders, choices and toggles, made from the catalogue's controls.

import { element } from "/static/shared/page.js";
import { kernelBuilder } from "./kernel.js";
import { visible } from "./units.js";

const STEPS = 1000;
let made = 0;

// The controls of a model. `change(id, value)` is called on every change; `set(settings)` shows other values.
export function controlList(model, task, settings, change) {
  const node = element("div", { class: "controls" });
  let shown = "";
  let parts = {};

  function build(current) {
    parts = {};
    const list = visible(model.controls, current, task);
    node.replaceChildren(...list.map((control) => {
      const part = makers[control.kind](control, current[control.id], (value) => change(control.id, value), task);
      parts[control.id] = part;
      return part.node;
    }));
    shown = key(list);
  }
  const key = (list) => list.map((control) => control.id).join(" ");

  function set(current) {
    if (key(visible(model.controls, current, task)) !== shown) {
      const focus = document.activeElement?.dataset?.control;
      build(current);
      if (focus) node.querySelector(`[data-control="${CSS.escape(focus)}"]`)?.focus();
      return;
    }
    for (const [id, part] of Object.entries(parts)) part.set(current[id]);
  }
  build(settings);
  return { node, set, part: (id) => parts[id] };
}

// A range with a number box; both hold the same value.
export function slider(control, value, change) {
  made += 1;
  const id = `control-${made}`;
  const range = element("input", { type: "range", id, min: 0, max: steps(control), step: 1, title: control.help, "data-control": control.id });
  const box = element("input", { type: "number", step: "any", "aria-label": `${control.label}, as a number`, title: control.help });
  let current = value;

  function show(next) {
    current = next;
    range.value = position(control, next);
    range.setAttribute("aria-valuetext", short(next));
    if (document.activeElement !== box) box.value = short(next);
  }
  range.addEventListener("input", () => {
    current = valueAt(control, Number(range.value));
    box.value = short(current);
    range.setAttribute("aria-valuetext", short(current));
    change(current);
  });
  const typed = () => {
    const next = Number(box.value);
    if (box.value !== "" && Number.isFinite(next)) {
      const [lo, hi] = limits(control);
      const bounded = Math.min(hi, Math.max(lo, next));
      if (bounded !== current) {
        current = bounded;
        range.value = position(control, bounded);
        change(bounded);
      }
    }
  };
  box.addEventListener("change", () => {
    typed();
    box.value = short(current);
  });
  show(value);
  const label = element("label", { for: id, title: control.help }, control.label);
  const node = element("div", { class: "control slider" }, label, range, box);
  return { node, set: show, range };
}

// A number box accepts more than the range, where this depends on what is shown.
function limits(control) {
  return control.unit && control.scale === "log" ? [control.min / 1000, control.max * 1000] : [control.min, control.max];
}

function steps(control) {
  if (control.scale === "log" || !control.step) return STEPS;
  return Math.max(1, Math.round((control.max - control.min) / control.step));
}

function position(control, value) {
  const count = steps(control);
  if (control.scale === "log") return Math.round((count * Math.log(value / control.min)) / Math.log(control.max / control.min));
  return Math.round((count * (value - control.min)) / (control.max - control.min));
}

export function valueAt(control, place) {
  const part = place / steps(control);
  const value = control.scale === "log" ? control.min * (control.max / control.min) ** part : control.min + part * (control.max - control.min);
  if (control.scale !== "log" && control.step) {
    const places = Math.max(0, Math.ceil(-Math.log10(control.step)));
    return Number((control.min + Math.round((value - control.min) / control.step) * control.step).toFixed(places));
  }
  return Math.min(control.max, Math.max(control.min, Number(value.toPrecision(4))));
}

function short(value) {
  return String(Number(Number(value).toPrecision(4)));
}

function choice(control, value, change) {
  made += 1;
  const id = `control-${made}`;
  const select = element("select", { id, title: control.help, "data-control": control.id },
    ...control.choices.map((item, index) => element("option", { value: index }, item.label)));
  const show = (next) => {
    select.selectedIndex = control.choices.findIndex((item) => item.value === next);
  };
  select.addEventListener("change", () => change(control.choices[select.selectedIndex].value));
  show(value);
  return { node: element("div", { class: "control" }, element("label", { for: id, title: control.help }, control.label), select), set: show };
}

export function toggle(control, value, change) {
  const box = element("input", { type: "checkbox", "data-control": control.id });
  const show = (next) => {
    box.checked = next === true;
  };
  box.addEventListener("change", () => change(box.checked));
  show(value);
  return { node: element("label", { class: "control toggle", title: control.help }, box, element("span", {}, control.label)), set: show };
}

const makers = { slider, choice, toggle, kernel: (control, value, change, task) => kernelBuilder(control, value, change, task, slider) };

// One of several values, as a row of buttons.
export function segmented(label, items, value, change) {
  const buttons = items.map((item) => element("button", { type: "button", title: item.help, onclick: () => {
    show(item.value);
    change(item.value);
  } }, item.label));
  const show = (next) => items.forEach((item, index) => buttons[index].setAttribute("aria-pressed", String(item.value === next)));
  show(value);
  return { node: element("div", { class: "segmented", role: "group", "aria-label": label }, ...buttons), set: show };
}
