// The controls of the catalogue in the units of the plot that is shown.

// The ranges of the catalogue's sliders belong to this rectangle; those with a unit are scaled to the one that is shown.
const REFERENCE = { x: [0, 1], y: [-1.5, 1.5] };

const length = ([lo, hi]) => hi - lo;

export function similar(a, b) {
  const ratios = [length(a.x) / length(b.x), length(a.y) / length(b.y)];
  return ratios.every((ratio) => ratio > 0.5 && ratio < 2);
}

function factor(unit, task, from, to) {
  if (unit === "y") return length(to.y) / length(from.y);
  if (unit === "y²") return (length(to.y) / length(from.y)) ** 2;
  if (unit !== "x") return 1;
  if (task === "regression") return length(to.x) / length(from.x);
  return Math.max(length(to.x), length(to.y)) / Math.max(length(from.x), length(from.y));
}

const round = (value, digits) => (typeof value === "number" ? Number(value.toPrecision(digits)) : value);

function scaledControl(control, task, to, from) {
  if (control.kind === "kernel") {
    const inner = (parameters) => parameters.map((parameter) => scaledControl(parameter, task, to, from));
    const kernels = control.kernels.map((kernel) => ({ ...kernel, parameters: inner(kernel.parameters) }));
    return { ...control, kernels, default: scaledKernel(control, control.default, task, from, to, 2) };
  }
  const by = factor(control.unit, task, from, to);
  if (by === 1) return control;
  const times = (value) => (typeof value === "number" ? round(value * by, 2) : value);
  return { ...control, min: times(control.min), max: times(control.max), default: times(control.default) };
}

function scaledKernel(control, value, task, from, to, digits = 3) {
  return value.map((factors) => factors.map((item, place) => {
    const { parameters } = control.kernels.find((kernel) => kernel.name === item.name);
    // The variance of a further factor only multiplies that of the first: it has no unit.
    const unit = (parameter) => (place > 0 && parameter.factor_default !== undefined ? "" : parameter.unit);
    const units = Object.fromEntries(parameters.map((parameter) => [parameter.id, unit(parameter)]));
    const scaled = (id, v) => (typeof v === "number" ? round(v * factor(units[id], task, from, to), digits) : v);
    return Object.fromEntries(Object.entries(item).map(([id, v]) => [id, scaled(id, v)]));
  }));
}

export function scaledModels(catalogue, task, domain) {
  const from = catalogue.domain ?? REFERENCE;
  const ours = (control) => !control.tasks || control.tasks.includes(task);
  const scaled = (model) => model.controls.filter(ours).map((control) => scaledControl(control, task, domain, from));
  return catalogue.models.map((model) => ({ ...model, controls: scaled(model) }));
}

// The same settings on another rectangle.
export function rescaled(model, settings, task, from, to) {
  const result = { ...settings };
  for (const control of model.controls) {
    const value = settings[control.id];
    if (control.kind === "kernel") result[control.id] = scaledKernel(control, value, task, from, to);
    else if (typeof value === "number") result[control.id] = round(value * factor(control.unit, task, from, to), 3);
  }
  return result;
}

export function visible(controls, settings, task) {
  return controls.filter((control) => {
    if (control.tasks && !control.tasks.includes(task)) return false;
    return Object.entries(control.when ?? {}).every(([id, values]) => values.includes(settings[id]));
  });
}

export function defaults(model, task) {
  const ours = model.controls.filter((control) => !control.tasks || control.tasks.includes(task));
  return Object.fromEntries(ours.map((control) => [control.id, structuredClone(control.default)]));
}

// The settings that the server gets: those of controls that are shown.
export function active(model, settings, task) {
  return Object.fromEntries(visible(model.controls, settings, task).map((control) => [control.id, settings[control.id] ?? control.default]));
}

export function shows(model, task) {
  return model.shows[task] ?? [];
}
