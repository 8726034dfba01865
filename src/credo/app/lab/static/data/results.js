// The outcome of a run: the selected model in words, files to take along, and notes.

import { element } from "/static/shared/page.js";

const FILES = {
  model: "Model file",
  leaderboard: "Leaderboard (CSV)",
  held_out: "Held-out predictions (CSV)",
  inclusions: "Inclusion probabilities (CSV)",
};

export function resultPanel(job) {
  const { result } = job;
  const shown = result.notes.filter((note) => note.shown);
  const others = result.notes.filter((note) => !note.shown);
  const address = `/api/jobs/${job.id}`;
  const links = Object.entries(FILES)
    .filter(([name]) => job.files.includes(name))
    .map(([name, label]) => element("a", { class: "button", href: `${address}/files/${name}`, download: true }, label));
  const report = job.files.includes("report")
    ? element("a", { class: "button primary", href: `${address}/files/report`, target: "_blank", rel: "noopener" }, "Open the report")
    : null;
  return element(
    "section",
    { class: "panel stack", id: "result" },
    element("h2", {}, `Result for ${result.target}`),
    element("p", { class: "lead" }, [result.reason, result.performance].filter(Boolean).join(" ")),
    ...shown.map((note) => element("p", { class: note.important ? "warning" : "quiet" }, note.text)),
    element("div", { class: "row" }, report, ...links),
    others.length
      ? element(
          "details",
          {},
          element("summary", {}, `Notes (${others.length})`),
          element("ul", { class: "notes small" }, ...others.map((note) => element("li", {}, note.text))),
        )
      : null,
    element(
      "details",
      {},
      element("summary", {}, "Use the model elsewhere"),
      element("pre", {}, `credo predict model.credo rows.csv\n\n# in Python\nimport credo\nmodel = credo.load("model.credo")\ndist = model.predict_dist(rows)  # a data frame`),
    ),
  );
}
