// The playground's page: the state comes from the address, or is the default one.

import { element } from "/static/shared/page.js";
import { catalogueOf, Playground, resolved } from "./playground.js";
import { decode, encode } from "./link.js";

const DELAY = 300;
const FIRST = { dataset: "sinusoid", panes: [{ model: "gp", settings: {} }] };
const main = document.querySelector("#main");

async function start() {
  const catalogue = await catalogueOf();
  let timer = null;
  let written = null;
  const playground = new Playground(main, catalogue, {
    changed(state) {
      clearTimeout(timer);
      timer = setTimeout(() => {
        written = `#${encode(state)}`;
        history.replaceState(null, "", written);
      }, DELAY);
    },
  });

  async function read() {
    const hash = location.hash.slice(1);
    playground.warn(null);
    if (hash) {
      try {
        playground.load(decode(hash, catalogue));
        return;
      } catch {
        playground.warn("The link couldn't be read, so this is the default view.");
      }
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
