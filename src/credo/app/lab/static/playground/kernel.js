// A kernel put together from terms joined by + whose factors are joined by ×.

import { element } from "/static/shared/page.js";

export function kernelBuilder(control, value, change, task, slider) {
  const node = element("fieldset", { class: "kernel" });
  let current = structuredClone(value);
  let parts = [];

  const kind = (name) => control.kernels.find((kernel) => kernel.name === name);
  const parameters = (name) => kind(name).parameters.filter((parameter) => !parameter.tasks || parameter.tasks.includes(task));
  const start = (parameter, first) => (first ? parameter.default : (parameter.factor_default ?? parameter.default));
  const given = (name) => parameters(name).filter((parameter) => parameter.default !== null);
  const fresh = (name, first = true) => ({ name, ...Object.fromEntries(given(name).map((p) => [p.id, start(p, first)])) });
  const shape = (terms) => terms.map((factors) => factors.map((factor) => Object.keys(factor).sort().join(" ") + factor.name).join("×")).join("+");

  function alter(edit, focus) {
    edit();
    build();
    if (focus) node.querySelector(focus)?.focus();
    change(structuredClone(current));
  }

  function build() {
    parts = [];
    const rows = [element("legend", { title: control.help }, control.label)];
    current.forEach((factors, t) => {
      if (t > 0) rows.push(sign("+"));
      rows.push(element("div", { class: "term" }, ...factors.flatMap((_, f) => [f > 0 ? sign("×") : null, factorCard(t, f)]), multiply(t)));
    });
    const full = current.length >= control.max_terms;
    rows.push(element("button", { type: "button", class: "small-button add-term", disabled: full, title: "Add a kernel to the sum",
      onclick: () => alter(() => current.push([fresh(control.kernels[0].name)]), `[data-at="${current.length}.0"]`) }, "+ Add a kernel"));
    node.replaceChildren(...rows);
  }

  function factorCard(t, f) {
    const factor = current[t][f];
    const select = element("select", { "aria-label": `Kernel of term ${t + 1}, factor ${f + 1}`, "data-at": `${t}.${f}` },
      ...control.kernels.map((kernel) => element("option", { value: kernel.name }, kernel.label)));
    select.value = factor.name;
    select.addEventListener("change", () => alter(() => {
      const next = fresh(select.value, f === 0);
      for (const id of Object.keys(next)) if (id !== "name" && id in factor) next[id] = factor[id];
      current[t][f] = next;
    }, `[data-at="${t}.${f}"]`));
    const only = current.length === 1 && current[0].length === 1;
    const drop = () => alter(() => {
      current[t].splice(f, 1);
      if (!current[t].length) current.splice(t, 1);
    }, "select");
    const about = { "aria-label": `Remove ${kind(factor.name).label}`, title: "Remove this kernel", disabled: only };
    const remove = element("button", { type: "button", class: "icon", ...about, onclick: drop }, "✕");
    const sliders = parameters(factor.name).map((parameter) => (parameter.default === null ? optional(t, f, parameter) : one(t, f, parameter)));
    return element("div", { class: "factor" }, element("div", { class: "factor-head" }, select, remove), ...sliders);
  }

  function one(t, f, parameter) {
    const part = slider(parameter, current[t][f][parameter.id] ?? parameter.default, (next) => {
      current[t][f][parameter.id] = next;
      change(structuredClone(current));
    });
    parts.push({ t, f, id: parameter.id, part, fallback: parameter.default });
    return part.node;
  }

  // A second length scale: a tick mark first, and the slider while it is on.
  function optional(t, f, parameter) {
    const on = parameter.id in current[t][f];
    const box = element("input", { type: "checkbox", "data-optional": `${t}.${f}` });
    box.checked = on;
    box.addEventListener("change", () => alter(() => {
      if (box.checked) current[t][f][parameter.id] = current[t][f].lengthscale;
      else delete current[t][f][parameter.id];
    }, `[data-optional="${t}.${f}"]`));
    const tick = element("label", { class: "control toggle", title: parameter.help }, box, element("span", {}, "One length scale per input (ARD)"));
    return on ? element("div", { class: "factor" }, tick, one(t, f, parameter)) : tick;
  }

  function multiply(t) {
    const full = current[t].length >= control.max_factors;
    const about = { title: "Multiply this term by a kernel", "aria-label": `Multiply term ${t + 1} by a kernel` };
    return element("button", { type: "button", class: "small-button", disabled: full, ...about,
      onclick: () => alter(() => current[t].push(fresh(control.kernels[0].name, false)), `[data-at="${t}.${current[t].length}"]`) }, "× Multiply");
  }

  function set(next) {
    const rebuilt = shape(next) !== shape(current);
    current = structuredClone(next);
    if (rebuilt) build();
    else for (const { t, f, id, part, fallback } of parts) part.set(current[t][f][id] ?? fallback);
  }
  build();
  return { node, set };
}

function sign(text) {
  return element("div", { class: "sign", "aria-hidden": "true" }, text);
}

// The parameters of a kernel's value: path ("kernel.0.1.lengthscale"), label, and the slider's control.
export function kernelParameters(control, value, task) {
  const several = value.length > 1 || value[0].length > 1;
  return value.flatMap((factors, t) => factors.flatMap((factor, f) => {
    const kernel = control.kernels.find((candidate) => candidate.name === factor.name);
    return kernel.parameters
      .filter((parameter) => factor[parameter.id] !== undefined && (!parameter.tasks || parameter.tasks.includes(task)))
      .map((parameter) => ({
        path: `${control.id}.${t}.${f}.${parameter.id}`,
        label: several ? `${kernel.label}: ${parameter.label}` : parameter.label,
        control: parameter,
      }));
  }));
}
