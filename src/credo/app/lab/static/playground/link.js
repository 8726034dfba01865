// The state in the address, and checks of what comes from there.

import { fitted } from "./state.js";
import { defaults, scaledModels } from "./units.js";

const VERSION = 1;

export function encode(state) {
  const { task, points, domain, draws, draws_from, seed, kernel, next, curve } = state;
  const panes = state.panes.map(({ model, settings }) => ({ model, settings }));
  const text = JSON.stringify({ v: VERSION, task, points, domain, panes, draws, draws_from, seed, kernel, next, curve });
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function decode(hash, catalogue) {
  const binary = atob(hash.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return checked(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)), catalogue);
}

// A view named in words, such as ?data=rings&model=adaboost&round=3, ?model=ridge,lasso&degree=9 for two models, or
// ?model=gp&kernel=RBF*Periodic+Linear&lengthscale=0.2, whose numbers are those of every factor; null without one.
export function named(search, catalogue) {
  const words = Object.fromEntries(new URLSearchParams(search));
  if (!words.data && !words.model) return null;
  const { data, model, token, kernel = "RBF", curve, ...rest } = words;
  const value = (text) => (text === "true" ? true : text === "" || Number.isNaN(Number(text)) ? text : Number(text));
  const values = Object.fromEntries(Object.entries(rest).map(([name, text]) => [name, value(text)]));
  // A plus in an address is a space.
  const terms = kernel.split(/[ +]/).map((term) => term.split("*").map((name) => ({ name, ...values })));
  const ids = model?.split(",");
  const { tasks } = catalogue.models.find((each) => each.id === ids?.[0]) ?? { tasks: [] };
  const dataset = data ?? (tasks.includes("regression") ? "sinusoid" : "ripley");
  const { draws, draws_from, seed, next, equivalent } = values;
  const state = { dataset: dataset === "none" ? null : dataset, draws, draws_from, seed, next, kernel: equivalent, curve: curve && [curve, null] };
  return ids ? { ...state, panes: ids.map((id) => ({ model: id, settings: { ...values, kernel: terms } })) } : state;
}

// A state with everything that is missing filled in; throws an Error if it isn't one.
export function checked(raw, catalogue) {
  need(raw !== null && typeof raw === "object", "not an object");
  const task = raw.task ?? "regression";
  need(task === "regression" || task === "classification", "unknown task");
  const width = task === "regression" ? 2 : 3;
  const points = raw.points ?? [];
  need(Array.isArray(points) && points.length <= catalogue.limits.points, "too many points");
  for (const point of points) {
    need(Array.isArray(point) && point.length === width && point.every(Number.isFinite), "a point isn't one");
    need(width === 2 || [0, 1, 2].includes(point[2]), "unknown class");
  }
  const domain = raw.domain ?? fitted(points, { x: [0, 1], y: [-2, 2] });
  need(interval(domain.x) && interval(domain.y), "no domain");
  need(Array.isArray(raw.panes) && raw.panes.length >= 1 && raw.panes.length <= 2, "no models");
  const models = scaledModels(catalogue, task, domain);
  const panes = raw.panes.map((pane) => checkedPane(pane, task, models));
  return {
    task, points: structuredClone(points), domain: { x: [...domain.x], y: [...domain.y] }, panes,
    draws: whole(raw.draws, 0, catalogue.limits.draws, 0), draws_from: raw.draws_from === "prior" ? "prior" : "posterior",
    seed: whole(raw.seed, 0, 1e6, 0), kernel: raw.kernel === true, next: raw.next === true,
    curve: [0, 1].map((k) => (typeof raw.curve?.[k] === "string" ? raw.curve[k] : null)),
  };
}

function checkedPane(pane, task, models) {
  const model = models.find((candidate) => candidate.id === pane?.model);
  need(model && model.tasks.includes(task), "unknown model");
  const settings = defaults(model, task);
  for (const control of model.controls) {
    const value = pane.settings?.[control.id];
    if (value !== undefined && control.id in settings) settings[control.id] = checkedValue(control, value);
  }
  return { model: model.id, settings };
}

function checkedValue(control, value) {
  if (control.kind === "slider") {
    need(Number.isFinite(value), `no value for ${control.id}`);
    return control.unit ? value : Math.min(control.max, Math.max(control.min, value));
  }
  if (control.kind === "toggle") return value === true;
  if (control.kind === "choice") {
    need(control.choices.some((choice) => choice.value === value), `unknown choice for ${control.id}`);
    return value;
  }
  need(Array.isArray(value) && value.length >= 1 && value.length <= control.max_terms, "no kernel");
  return value.map((factors) => {
    need(Array.isArray(factors) && factors.length >= 1 && factors.length <= control.max_factors, "no kernel");
    return factors.map((factor) => checkedFactor(control, factor));
  });
}

function checkedFactor(control, factor) {
  const kind = control.kernels.find((kernel) => kernel.name === factor?.name);
  need(kind, "unknown kernel");
  const result = { name: kind.name };
  for (const parameter of kind.parameters) {
    const value = factor[parameter.id];
    if (value === undefined || value === null) continue;
    result[parameter.id] = checkedValue(parameter, value);
  }
  return result;
}

function interval(value) {
  return Array.isArray(value) && value.length === 2 && value.every(Number.isFinite) && value[0] < value[1];
}

function whole(value, lo, hi, fallback) {
  return Number.isInteger(value) ? Math.min(hi, Math.max(lo, value)) : fallback;
}

function need(condition, message) {
  if (!condition) throw new Error(message);
}
