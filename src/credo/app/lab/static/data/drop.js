// A place to drop a file on, with a button for those who don't.

import { element } from "/static/shared/page.js";

// `take(file)` gets the file; what it throws is shown below.
export function dropZone({ title, hint, label, take }) {
  const input = element("input", { type: "file", class: "visually-hidden", tabindex: "-1", "aria-hidden": "true", accept: ".csv,.tsv,.txt,.parquet,.xlsx,.jsonl,.ndjson,.gz" });
  const button = element("button", { type: "button", class: "primary", onclick: () => input.click() }, label);
  const message = element("p", { class: "error small", role: "alert", hidden: true });
  const busy = element("p", { class: "quiet small", role: "status", hidden: true });
  const zone = element(
    "div",
    { class: "drop" },
    element("p", { class: "drop-title" }, title),
    element("div", { class: "row" }, button, input),
    hint ? element("p", { class: "quiet small" }, hint) : null,
    busy,
    message,
  );

  async function give(file) {
    if (!file) return;
    message.hidden = true;
    busy.hidden = false;
    busy.textContent = `Sending ${file.name} to the lab on this machine …`;
    button.disabled = true;
    try {
      await take(file);
    } catch (error) {
      fail(error.message);
    } finally {
      busy.hidden = true;
      button.disabled = false;
      input.value = "";
    }
  }

  function fail(text) {
    message.textContent = text;
    message.hidden = false;
  }

  input.addEventListener("change", () => give(input.files[0]));
  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
  }
  zone.addEventListener("dragleave", (event) => {
    if (!zone.contains(event.relatedTarget)) zone.classList.remove("over");
  });
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    const files = [...event.dataTransfer.files];
    if (files.length > 1) fail("Drop one file at a time.");
    else give(files[0]);
  });
  return { node: zone, fail };
}
