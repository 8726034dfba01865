// Predictions of new rows: one by a form, many by a file.

import { element } from "/static/shared/page.js";
import { latest, request } from "/static/shared/api.js";
import { dropZone } from "/static/data/drop.js";
import { bars, density } from "/static/data/picture.js";
import { notes } from "/static/data/columns.js";
import { count } from "/static/data/format.js";
import { number } from "/static/shared/scale.js";

export function predictPanel(job, changed) {
  const address = `/api/jobs/${job.id}`;
  const one = element("div", { class: "predict-form" });
  const zone = dropZone({
    title: "Or predict the rows of a file",
    hint: "A table with the same columns; the target may be missing.",
    label: "Choose a file",
    take: async (file) => {
      changed(await request(`${address}/predictions?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file }));
    },
  });
  const many = element("div", { class: "stack" });
  const node = element(
    "section",
    { class: "panel stack", id: "predict" },
    element("h2", {}, `Predict ${job.result.target}`),
    one,
    zone.node,
    many,
  );
  fill(one, job, address);
  let before = "";

  function update(now) {
    const key = JSON.stringify(now.predictions);
    if (key === before) return;
    before = key;
    many.replaceChildren(...(now.predictions ? outcome(now.predictions, address) : []));
  }

  return { node, update };
}

async function fill(box, job, address) {
  let form;
  try {
    form = await request(`${address}/form`);
  } catch (error) {
    box.replaceChildren(element("p", { class: "error" }, error.message));
    return;
  }
  const answerBox = element("div", { class: "answer", "aria-live": "polite" });
  const inputs = new Map();
  const ask = latest(
    (row) => request(`${address}/predict`, { method: "POST", json: { row } }),
    (answer) => answerBox.replaceChildren(...shown(answer, form, job.result)),
    (error) => answerBox.replaceChildren(element("p", { class: "error", role: "alert" }, error.message)),
  );
  const submit = () => ask(Object.fromEntries([...inputs].map(([name, input]) => [name, input.value])));
  const fields = form.fields.map((field) => control(field, inputs, submit));
  const grid = element("form", { class: "fields" }, ...fields);
  grid.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  grid.addEventListener("input", submit);
  box.replaceChildren(grid, answerBox);
  submit();
}

let made = 0;

function control(field, inputs, submit) {
  made += 1;
  const id = `field-${made}`;
  const { input, more = [] } = { category: chooser, text: textArea }[field.kind]?.(id, field) ?? typed(id, field, submit);
  inputs.set(field.name, input);
  return element("div", { class: "field" }, element("label", { for: id, class: "small" }, field.name), input, ...more);
}

function chooser(id, { choices, default: chosen }) {
  const options = choices.map((choice) => element("option", { value: choice }, choice));
  const input = element("select", { id }, ...options, element("option", { value: "" }, "(missing)"));
  input.value = chosen;
  return { input };
}

function textArea(id) {
  return { input: element("textarea", { id, rows: "2" }) };
}

// A number with a slider, or a date.
function typed(id, { name, kind, low, high, default: value }, submit) {
  const input = element("input", { id, type: kind === "date" ? "date" : "number", step: "any", value });
  const hint = element("span", { class: "quiet small" }, `${low} to ${high}`);
  if (kind === "date") return { input, more: [hint] };
  const step = steps(Number(low), Number(high));
  const slider = element("input", { type: "range", min: low, max: high, step, value, "aria-label": `${name}, slider`, tabindex: "-1" });
  slider.value = value;
  slider.addEventListener("input", () => {
    input.value = slider.value;
    submit();
  });
  input.addEventListener("input", () => {
    slider.value = input.value;
  });
  return { input, more: [slider, hint] };
}

// A step of the slider: a round number, of which the range has at least a hundred.
function steps(low, high) {
  if (!(high > low)) return "any";
  if (Number.isInteger(low) && Number.isInteger(high) && high - low >= 1) return 1;
  return Number((10 ** Math.floor(Math.log10((high - low) / 100))).toPrecision(1));
}

function shown(answer, form, result) {
  const outside = answer.outside ? element("p", { class: "warning" }, `Outside the training data: ${answer.outside}. This is an extrapolation.`) : null;
  const head = form.classes
    ? [element("p", { class: "big" }, answer.predicted), bars(answer)]
    : [
        element("p", { class: "big" }, number(answer.mean, 4), element("span", { class: "quiet" }, ` ± ${number(answer.std, 4)}`)),
        element("p", {}, `With probability ${Math.round(100 * answer.level)} % between ${number(answer.lower, 4)} and ${number(answer.upper, 4)}.`),
        density(answer, result.target_range),
      ];
  return [element("h3", {}, form.target), ...head, outside, notes(answer.notes)].filter(Boolean);
}

function outcome(predictions, address) {
  const { state, name } = predictions;
  if (state === "running") return [element("p", { role: "status" }, `Predicting the rows of ${name} …`)];
  if (state === "failed") return [element("p", { class: "error", role: "alert" }, predictions.error)];
  const place = predictions.header.indexOf("outside");
  const header = predictions.header.map((title, i) => element("th", { scope: "col", class: i === place ? null : "number" }, title));
  const rows = predictions.shown.map((cells) =>
    element("tr", { class: cells[place] ? "outside" : null }, ...cells.map((cell, i) => element("td", { class: i === place ? "small warning" : "number" }, cell))),
  );
  const more = predictions.rows - predictions.shown.length;
  return [
    element(
      "div",
      { class: "row" },
      element("strong", {}, `${count(predictions.rows, "row")} of ${name} predicted`),
      element("a", { class: "button", href: `${address}/files/predictions`, download: true }, "Predictions (CSV)"),
    ),
    notes(predictions.notes),
    element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Predictions" }, element("table", { class: "nowrap" }, element("thead", {}, element("tr", {}, ...header)), element("tbody", {}, ...rows))),
    more > 0 ? element("p", { class: "quiet small" }, `The CSV file has ${count(more, "more row")}.`) : null,
  ].filter(Boolean);
}
