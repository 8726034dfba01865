// Progress of a run and the leaderboard, which grows as models finish.

import { element } from "/static/shared/page.js";
import { duration, score, seconds } from "/static/data/format.js";

export function boardPanel(stop) {
  const title = element("h2", {}, "Models");
  const status = element("p", { class: "status", role: "status" });
  const bar = element("progress", { max: "1", "aria-label": "Fits of the running model" });
  const soft = element("button", { type: "button", onclick: () => stop(false) }, "Stop");
  const hard = element("button", { type: "button", onclick: () => stop(true) }, "Stop at once");
  const controls = element("div", { class: "row" }, bar, soft, hard);
  const waiting = element("p", { class: "quiet small" });
  const table = element("table", { class: "board" });
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Leaderboard" }, table);
  const node = element("section", { class: "panel stack", hidden: true }, title, status, controls, waiting, scroll);

  function update(job) {
    const working = ["waiting", "running", "stopping"].includes(job.state);
    const shown = job.result ?? job.progress;
    node.hidden = !working && !shown;
    if (node.hidden) return;
    controls.hidden = !working;
    soft.hidden = job.state === "stopping";
    hard.hidden = job.state !== "stopping";
    status.hidden = !working;
    status.textContent = working ? doing(job) : "";
    const state = job.progress;
    if (state?.running) bar.value = state.fits / state.n_fits;
    else bar.removeAttribute("value");
    waiting.hidden = !state?.waiting?.length || job.state !== "running";
    if (!waiting.hidden) waiting.textContent = `Then: ${state.waiting.join(", ")}`;
    scroll.hidden = !shown?.leaderboard?.length;
    if (!scroll.hidden) table.replaceChildren(...leaderboard(shown, job.result));
  }

  return { node, update };
}

function doing(job) {
  if (job.state === "waiting") return "Waiting for another job to finish …";
  const state = job.progress;
  if (state && !state.running) return "Writing the model and the report …";
  if (job.state === "stopping") return "Stopping after the current step. Finished models are compared and kept.";
  if (!state) return "Reading the table …";
  const left = state.remaining === null ? "" : `, ${duration(state.remaining)} left for models`;
  const message = state.message ? ` (${state.message})` : "";
  const fit = Math.min(state.fits + 1, state.n_fits);
  return `${state.running}: fit ${fit} of ${state.n_fits}${message} · ${duration(job.elapsed)}${left}`;
}

function leaderboard(shown, result) {
  const measures = shown.measures;
  const header = element(
    "tr",
    {},
    element("th", { scope: "col" }, "Model"),
    ...measures.map((measure) =>
      element("th", { scope: "col", class: "number" }, measure.title, element("span", { class: "way" }, measure.way)),
    ),
    element("th", { scope: "col", class: "number" }, "Seconds"),
  );
  const rows = shown.leaderboard.map((line) => {
    const selected = result?.selected === line.name;
    const tied = !selected && (result?.tied ?? []).includes(line.name);
    const badge = selected ? element("span", { class: "badge" }, "selected") : tied ? element("span", { class: "badge faint" }, "tied") : null;
    const name = element("th", { scope: "row" }, line.name, " ", badge, element("span", { class: "way" }, line.words));
    if (line.error) {
      return element("tr", { class: "out" }, name, element("td", { colspan: measures.length + 1, class: "small" }, `Failed: ${line.error}`));
    }
    return element(
      "tr",
      { class: selected ? "selected" : null },
      name,
      ...measures.map((measure) => element("td", { class: "number" }, score(line[measure.id], measure))),
      element("td", { class: "number" }, seconds(line.seconds)),
    );
  });
  return [element("thead", {}, header), element("tbody", {}, ...rows)];
}
