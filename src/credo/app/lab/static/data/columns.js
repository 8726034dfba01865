// How the columns were understood, what is to be predicted, and the settings of a run.

import { element } from "/static/shared/page.js";
import { count } from "/static/data/format.js";

const KINDS = ["number", "category", "text", "date", "leave out"];
const TIMES = [
  [15, "15 seconds"],
  [60, "1 minute"],
  [300, "5 minutes"],
  [1800, "30 minutes"],
];
// More rows of the table would make the page slow.
const SHOWN = 200;
let made = 0;

export function columnsPanel(table, settings, run) {
  const kinds = { ...(settings?.kinds ?? {}) };
  const known = new Map(table.columns.map((column) => [column.name, column]));
  const targets = table.columns.filter((column) => column.task);
  const target = select("target", targets.map((column) => [column.name, column.name]), settings?.target ?? table.target ?? targets[0]?.name);
  const task = select("task", [
    ["regression", "a number (regression)"],
    ["classification", "a class (classification)"],
  ]);
  const why = element("p", { class: "quiet small" });
  const time = select("time", TIMES, settings?.seconds ?? 60);
  const shuffle = element("input", { type: "checkbox", id: "shuffle", checked: settings?.shuffle ?? false });
  const button = element("button", { type: "submit", class: "primary" }, "Run the models");
  const message = element("p", { class: "error", role: "alert", hidden: true });
  const body = element("tbody");

  function retarget() {
    const found = known.get(target.value)?.task;
    if (!found) return;
    task.value = settings?.target === target.value && settings.task ? settings.task : found.name;
    why.textContent = found.why ? `${found.name === "classification" ? "Classes" : "A number"} by default: ${found.why}.` : "";
    body.replaceChildren(...table.columns.slice(0, SHOWN).map(line));
  }

  function line(column) {
    const name = element("th", { scope: "row", class: "name" }, column.name);
    const isTarget = column.name === target.value;
    let kind;
    if (isTarget) kind = element("span", { class: "badge" }, "target");
    else {
      kind = select(null, KINDS.map((value) => [value, value]), kinds[column.name] ?? column.kind);
      kind.setAttribute("aria-label", `Kind of ${column.name}`);
      kind.addEventListener("change", () => {
        if (kind.value === column.kind) delete kinds[column.name];
        else kinds[column.name] = kind.value;
        mark();
      });
    }
    const note = element("td", { class: "quiet small" });
    const row = element(
      "tr",
      {},
      name,
      element("td", {}, kind),
      element("td", { class: "number" }, column.missing ? `${column.missing.toLocaleString("en")}` : "–"),
      element("td", { class: "number" }, column.distinct.toLocaleString("en")),
      element("td", { class: "small" }, column.low !== null ? `${column.low} to ${column.high}` : "–"),
      element("td", { class: "small examples" }, column.examples.join(", ")),
      note,
    );
    function mark() {
      const out = !isTarget && (kinds[column.name] ?? column.kind) === "leave out";
      row.classList.toggle("out", out);
      note.textContent = kinds[column.name] && !isTarget ? `changed; detected as ${column.kind}` : column.reason;
    }
    mark();
    return row;
  }

  const form = element(
    "form",
    { class: "settings" },
    field("Predict", target),
    field("as", task),
    field("Time for the models and the report", time),
    element("div", { class: "row" }, button),
    why,
    table.time
      ? element(
          "label",
          { class: "row small", for: "shuffle" },
          shuffle,
          `Ignore the time order: hold out rows at random instead of forecasting along ${table.time}`,
        )
      : null,
    message,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    message.hidden = true;
    button.disabled = true;
    const chosen = Object.fromEntries(Object.entries(kinds).filter(([name]) => name !== target.value));
    const detected = known.get(target.value)?.task?.name;
    try {
      await run({
        target: target.value,
        task: task.value === detected ? null : task.value,
        kinds: chosen,
        seconds: Number(time.value),
        shuffle: shuffle.checked,
      });
      details.open = false;
    } catch (error) {
      message.textContent = error.message;
      message.hidden = false;
      button.disabled = false;
    }
  });
  target.addEventListener("change", retarget);
  retarget();
  if (!targets.length) {
    body.replaceChildren(...table.columns.slice(0, SHOWN).map(line));
    why.textContent = "There is nothing to predict: no column has two different values.";
  }
  const more = table.columns.length - SHOWN;
  const details = element(
    "details",
    { open: settings === null },
    element("summary", {}, "Columns as they were understood; change a kind where it is wrong"),
    element(
      "div",
      { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Columns of the table" },
      element("table", { class: "columns" }, head(), body),
    ),
    more > 0 ? element("p", { class: "quiet small" }, `${count(more, "more column")} not shown; they are used as they were understood.`) : null,
    notes(table.notes),
  );
  const node = element(
    "section",
    { class: "panel stack", "aria-labelledby": "columns-title" },
    element("h2", { id: "columns-title" }, `${count(table.rows, "row")}, ${count(table.columns.length, "column")}`),
    form,
    details,
    preview(table),
  );
  return {
    node,
    busy(state, ran) {
      button.disabled = state || !targets.length;
      button.textContent = !ran ? "Run the models" : state ? "Running …" : "Run again";
    },
    fail(text) {
      message.textContent = text;
      message.hidden = !text;
    },
  };
}

function head() {
  const titles = [["Column"], ["Kind"], ["Missing", "number"], ["Distinct", "number"], ["Range"], ["Examples"], ["Note"]];
  return element("thead", {}, element("tr", {}, ...titles.map(([title, kind]) => element("th", { scope: "col", class: kind }, title))));
}

export function notes(texts) {
  if (!texts.length) return null;
  return element("ul", { class: "notes small" }, ...texts.map((text) => element("li", {}, text)));
}

function preview(table) {
  const header = element("tr", {}, ...table.columns.slice(0, 30).map((column) => element("th", { scope: "col" }, column.name)));
  const rows = table.preview.map((cells) => element("tr", {}, ...cells.slice(0, 30).map((cell) => element("td", {}, cell))));
  return element(
    "details",
    {},
    element("summary", {}, "First rows"),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "First rows of the table" }, element("table", { class: "small nowrap" }, element("thead", {}, header), element("tbody", {}, ...rows))),
  );
}

function field(label, control) {
  return element("div", { class: "field" }, element("label", { class: "small quiet", for: control.id }, label), control);
}

function select(id, options, chosen) {
  made += 1;
  const node = element("select", { id: id ?? `select-${made}` }, ...options.map(([value, label]) => element("option", { value }, label)));
  if (chosen !== undefined && chosen !== null) node.value = chosen;
  return node;
}
