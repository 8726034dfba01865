// Sends the request of a form and shows the answer as text.

async function send(form) {
  const area = form.querySelector("textarea");
  const options = { method: form.dataset.method };
  if (area) {
    options.body = area.value;
    options.headers = { "content-type": "application/json" };
  }
  const response = await fetch(form.dataset.path.replace(/^\//, ""), options);
  const text = await response.text();
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Metrics are plain text.
  }
  return `${response.status}\n${shown}`;
}

for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("output");
    output.textContent = "…";
    try {
      output.textContent = await send(form);
    } catch (error) {
      output.textContent = String(error);
    }
  });
}
