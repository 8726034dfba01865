// The page "Your data": one job at a time, named in the address, so that a reload finds it again.

import { element } from "/static/shared/page.js";
import { request } from "/static/shared/api.js";
import { startPanel } from "/static/data/start.js";
import { columnsPanel } from "/static/data/columns.js";
import { boardPanel } from "/static/data/board.js";
import { resultPanel } from "/static/data/results.js";
import { predictPanel } from "/static/data/predict.js";

const main = document.querySelector("#main");
const POLL = 500;
const WORKING = ["reading", "waiting", "running", "stopping"];
let view = null;

function open(id) {
  location.hash = `job=${id}`;
}

function chosen() {
  return new URLSearchParams(location.hash.slice(1)).get("job");
}

async function show() {
  view?.close();
  view = null;
  const id = chosen();
  if (id) {
    try {
      const job = await request(`/api/jobs/${encodeURIComponent(id)}`);
      if (chosen() === id) view = jobView(job);
    } catch (error) {
      if (chosen() === id) home().fail(error.message);
    }
  } else home();
}

function home() {
  document.title = "Your data · Credo lab";
  const panel = startPanel(open);
  main.replaceChildren(panel.node);
  panel.refresh();
  return panel;
}

function jobView(first) {
  let job = first;
  let timer = null;
  let closed = false;
  let columns = null;
  let predict = null;
  let resultKey = null;
  document.title = `${job.name} · Credo lab`;
  const address = `/api/jobs/${job.id}`;
  const message = element("p", { class: "error", role: "alert", hidden: true });
  const reading = element("p", { class: "panel", role: "status", hidden: true }, "Reading the table …");
  const places = { columns: element("div"), result: element("div"), predict: element("div") };
  const board = boardPanel(stop);
  main.replaceChildren(
    element(
      "div",
      { class: "stack" },
      element("div", { class: "row head" }, element("h1", { class: "file" }, job.name), element("a", { class: "button", href: "#" }, "Another file")),
      reading,
      message,
      places.columns,
      board.node,
      places.result,
      places.predict,
    ),
  );

  function update(now) {
    // Polling leaves the columns out: they don't change.
    job = { table: job.table, ...now };
    reading.hidden = job.state !== "reading";
    const working = WORKING.includes(job.state);
    if (job.state === "failed" && !job.table) {
      unreadable();
      return;
    }
    message.hidden = true;
    if (job.table && columns === null) {
      columns = columnsPanel(job.table, job.settings, run);
      places.columns.replaceChildren(columns.node);
    }
    columns?.busy(working, job.settings !== null);
    columns?.fail(job.error ?? "");
    board.update(job);
    const key = job.result && job.state !== "running" ? `${job.runs}` : null;
    if (key !== resultKey) {
      resultKey = key;
      places.result.replaceChildren(...(key ? [resultPanel(job)] : []));
      predict = key ? predictPanel(job, update) : null;
      places.predict.replaceChildren(...(predict ? [predict.node] : []));
    }
    predict?.update(job);
    clearTimeout(timer);
    if (!closed && (working || job.predictions?.state === "running")) timer = setTimeout(poll, POLL);
  }

  // A file that is no table: say why beside the place for another one.
  async function unreadable() {
    close();
    history.replaceState(null, "", location.pathname + location.search);
    await request(address, { method: "DELETE" }).catch(() => null);
    home().fail(job.error);
  }

  function close() {
    closed = true;
    clearTimeout(timer);
  }

  async function poll() {
    try {
      const now = await request(`${address}?table=${job.table ? "false" : "true"}`);
      if (!closed) update(now);
    } catch (error) {
      if (closed) return;
      say(error);
      // A server that doesn't answer for a moment is asked again; a job that is gone isn't.
      if (error.status === 0) timer = setTimeout(poll, 4 * POLL);
    }
  }

  async function run(settings) {
    update(await request(`${address}/run`, { method: "POST", json: settings }));
    board.node.scrollIntoView({ behavior: "smooth", block: "nearest" });
  }

  async function stop(now) {
    try {
      update(await request(`${address}/stop`, { method: "POST", json: { now } }));
    } catch (error) {
      say(error);
    }
  }

  function say(error) {
    message.textContent = error.message;
    message.hidden = false;
  }

  update(job);
  return { close };
}

// A file that misses the drop zone must not replace the page.
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
window.addEventListener("hashchange", show);
show();
