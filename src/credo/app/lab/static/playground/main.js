// The playground's page: the state comes from the address, or is the default one. Another model or number of models
// makes an entry in the browser's history, other changes replace the present one.

import { element } from "/static/shared/page.js";
import { catalogueOf, Playground, resolved } from "./playground.js";
import { decode, encode, named } from "./link.js";

const DELAY = 300;
const FIRST = { dataset: "sinusoid", panes: [{ model: "gp", settings: {} }] };
const main = document.querySelector("#main");

async function start() {
  const catalogue = await catalogueOf();
  let timer = null;
  let written = null;
  let added = false;
  const playground = new Playground(main, catalogue, {
    changed(state, isStep) {
      added ||= isStep && written !== null;
      clearTimeout(timer);
      timer = setTimeout(() => {
        written = `#${encode(state)}`;
        if (added && written !== location.hash) history.pushState(null, "", written);
        else history.replaceState(null, "", written);
        added = false;
      }, DELAY);
    },
  });

  async function read() {
    const hash = location.hash.slice(1);
    playground.warn(null);
    // The first change after this one only completes the address.
    written = null;
    try {
      playground.load(hash ? decode(hash, catalogue) : await resolved(named(location.search, catalogue) ?? FIRST, catalogue));
      return;
    } catch {
      playground.warn("The link couldn't be read, so this is the default view.");
    }
    playground.load(await resolved(FIRST, catalogue));
  }
  await read();
  window.addEventListener("hashchange", () => {
    if (location.hash !== written) read();
  });
}

start().catch((error) => {
  main.replaceChildren(element("p", { class: "error", role: "alert" }, `The playground couldn't start. ${error.message}`));
});
