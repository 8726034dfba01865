// Requests to the lab's own server.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// One JSON request; errors carry the sentence that the server sent.
export async function request(path, { method = "GET", json, body, headers = {}, signal } = {}) {
  const options = { method, headers: { ...headers }, signal };
  if (json !== undefined) {
    options.body = JSON.stringify(json);
    options.headers["content-type"] = "application/json";
  } else if (body !== undefined) {
    options.body = body;
  }
  const response = await fetch(path, options);
  const text = await response.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    value = null;
  }
  if (!response.ok) throw new ApiError(response.status, sentence(value) ?? `The server answered ${response.status}.`);
  return value;
}

function sentence(value) {
  if (value && typeof value.detail === "string") return value.detail;
  if (value && Array.isArray(value.detail)) return value.detail.map((item) => item.msg ?? String(item)).join(" ");
  return null;
}

// Only the newest call counts: while one is under way, later ones replace each other, and stale answers are dropped.
export function latest(send, receive, fail) {
  let running = false;
  let waiting = null;
  let newest = 0;
  async function start(value) {
    running = true;
    const mine = newest;
    try {
      const answer = await send(value);
      if (mine === newest || waiting !== null) receive(answer, value);
    } catch (error) {
      if (mine === newest) fail(error);
    }
    running = false;
    if (waiting !== null) {
      const next = waiting;
      waiting = null;
      start(next);
    }
  }
  return (value) => {
    newest += 1;
    if (running) waiting = value;
    else start(value);
  };
}
