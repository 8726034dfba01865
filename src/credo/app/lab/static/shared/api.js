// Requests to the lab's own server.

function failure(status, message) {
  return Object.assign(new Error(message), { status });
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
  const response = await reach(path, options);
  const value = await response.json().catch(() => null);
  // The application calls the sentence detail, its guard error.
  if (!response.ok) throw failure(response.status, value?.detail ?? value?.error ?? `The server answered ${response.status}.`);
  return value;
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw failure(0, "The lab's server doesn't answer. Is it still running?");
  }
}

// At most one call is under way. Of those made meanwhile only the newest is sent, when the running one has ended.
// An answer that came while a newer call waits is passed on if `useful(value, newer)`; otherwise it is aborted.
export function latest(send, receive, fail, useful = () => true) {
  let running = null;
  let waiting = null;

  async function start(value) {
    const call = { value, controller: new AbortController() };
    running = call;
    try {
      const answer = await send(value, call.controller.signal);
      if (!call.controller.signal.aborted) receive(answer, value);
    } catch (error) {
      if (!call.controller.signal.aborted && waiting === null) fail(error, value);
    }
    running = null;
    if (waiting !== null) {
      const next = waiting.value;
      waiting = null;
      start(next);
    }
  }

  function submit(value) {
    if (running === null) {
      start(value);
      return;
    }
    waiting = { value };
    if (!useful(running.value, value)) running.controller.abort();
  }
  submit.cancel = () => {
    waiting = null;
    running?.controller.abort();
  };
  return submit;
}
