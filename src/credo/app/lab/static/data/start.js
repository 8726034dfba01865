// The first step: a file, or one of the jobs of this session.

import { element } from "/static/shared/page.js";
import { request } from "/static/shared/api.js";
import { dropZone } from "/static/data/drop.js";
import { STATES, size } from "/static/data/format.js";

export function startPanel(open) {
  const list = element("ul", { class: "jobs" });
  const recent = element("section", { class: "panel", hidden: true }, element("h2", {}, "Files of this session"), list);
  let limit = 200 * 2 ** 20;
  const zone = dropZone({
    title: "Drop a table here",
    hint: "CSV, TSV, Parquet or Excel; the first row has the names of the columns.",
    label: "Choose a file",
    take: async (file) => {
      if (file.size > limit) throw new Error(`${file.name} has ${size(file.size)}; the lab takes files up to ${size(limit)}.`);
      const job = await request(`/api/jobs?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
      open(job.id);
    },
  });
  const node = element(
    "div",
    { class: "stack" },
    element("h1", {}, "Your data"),
    element(
      "p",
      {},
      "Give the lab a table and say which column to predict. It compares models on rows that they have not seen, selects one, " +
        "writes a report, and predicts new rows, each with an interval or with probabilities.",
    ),
    zone.node,
    element(
      "p",
      { class: "quiet small" },
      "The file stays on this machine: it is copied to a temporary folder, read by a process of its own, and deleted when the lab stops.",
    ),
    recent,
  );

  async function refresh() {
    try {
      const { jobs, limits } = await request("/api/jobs");
      limit = limits.upload;
      list.replaceChildren(...jobs.map((job) => line(job)));
      recent.hidden = jobs.length === 0;
    } catch (error) {
      zone.fail(error.message);
    }
  }

  function line(job) {
    const what = [STATES[job.state], job.target ? `target ${job.target}` : null, job.selected ? `selected ${job.selected}` : null];
    const remove = async () => {
      await request(`/api/jobs/${job.id}`, { method: "DELETE" });
      await refresh();
    };
    return element(
      "li",
      { class: "row" },
      element("a", { href: `#job=${job.id}` }, job.name),
      element("span", { class: "quiet small" }, what.filter(Boolean).join(" · ")),
      element("button", { type: "button", class: "small", onclick: remove, "aria-label": `Remove ${job.name}` }, "Remove"),
    );
  }

  return { node, refresh, fail: zone.fail };
}
