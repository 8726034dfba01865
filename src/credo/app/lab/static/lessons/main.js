// The lessons: their list, and one lesson beside the playground.

import { element } from "/static/shared/page.js";
import { request } from "/static/shared/api.js";
import { catalogueOf, Playground, resolved } from "/static/playground/playground.js";

const main = document.querySelector("#main");

async function start() {
  const { lessons } = await request("/static/lessons/lessons.json");
  const asked = new URLSearchParams(location.search);
  const lesson = lessons.find((each) => each.id === asked.get("id"));
  if (lesson) await show(lessons, lesson);
  else list(lessons, asked.get("id"));
}

function list(lessons, missing) {
  const note = missing ? element("p", { class: "warning", role: "alert" }, "There is no such lesson; these are all of them.") : null;
  main.replaceChildren(element("div", { class: "lesson-list" },
    element("h1", {}, "Lessons"),
    element("p", { class: "quiet" }, "Thirteen short lessons. Each explains one idea and sets the playground up to show it: something to try, and what to see."),
    note ?? "",
    element("ol", {}, ...lessons.map((lesson, index) => element("li", {}, element("a", { href: address(lesson, 0), class: "lesson-link" },
      element("span", { class: "lesson-number", "aria-hidden": "true" }, String(index + 1)),
      element("span", {}, element("b", {}, lesson.title), element("span", { class: "quiet small" }, lesson.summary))))))));
}

function address(lesson, step) {
  return `/lessons?id=${encodeURIComponent(lesson.id)}${step ? `&step=${step + 1}` : ""}`;
}

async function show(lessons, lesson) {
  document.title = `${lesson.title} · Credo lab`;
  const place = lessons.indexOf(lesson);
  const catalogue = await catalogueOf();
  const text = element("div", { class: "lesson-step", "aria-live": "polite" });
  const numbers = element("div", { class: "segmented", role: "group", "aria-label": "Steps" });
  const back = element("button", { type: "button", onclick: () => go(step - 1) }, "Back");
  const forward = element("button", { type: "button", class: "primary", onclick: () => go(step + 1) }, "Next step");
  const about = "Set the playground up again as this step needs it";
  const again = element("button", { type: "button", class: "small-button", title: about, onclick: () => go(step) }, "Reset step");
  const other = (index, label) => {
    const there = lessons[index];
    return there ? element("a", { class: "small", href: address(there, 0), title: there.title }, label) : element("span");
  };
  const article = element("article", { class: "lesson panel" },
    element("p", { class: "small quiet crumbs" }, element("a", { href: "/lessons" }, "All lessons"), ` · ${place + 1} of ${lessons.length}`),
    element("h1", {}, lesson.title), ...lesson.idea.map((paragraph) => element("p", {}, paragraph)),
    element("div", { class: "lesson-steps" }, numbers, again), text, element("div", { class: "lesson-move" }, back, forward),
    element("nav", { class: "lesson-others", "aria-label": "Other lessons" }, other(place - 1, "← Previous lesson"), other(place + 1, "Next lesson →")));
  const room = element("div", { class: "lesson-room" });
  main.classList.add("wide");
  main.replaceChildren(element("div", { class: "lesson-page" }, article, room));
  const playground = new Playground(room, catalogue);
  const button = (index) => element("button", { type: "button", "aria-label": `Step ${index + 1}`, onclick: () => go(index) }, String(index + 1));
  const buttons = lesson.steps.map((_, index) => button(index));
  numbers.append(...buttons);
  let step = 0;

  async function go(index, isNew = true) {
    step = index;
    const current = lesson.steps[index];
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === index)));
    back.disabled = index === 0;
    forward.disabled = index === lesson.steps.length - 1;
    text.replaceChildren(element("p", {}, current.say), part("Try", current.try), part("See", current.see));
    const there = address(lesson, index);
    if (isNew && there !== location.pathname + location.search) history.pushState(null, "", there);
    try {
      const state = await resolved(current.state, catalogue);
      if (step === index) playground.load(state);
    } catch (error) {
      playground.warn(`This step couldn't be set up: ${error.message}`);
    }
  }
  const wanted = () => {
    const index = Number(new URLSearchParams(location.search).get("step") ?? 1) - 1;
    return lesson.steps[index] ? index : 0;
  };
  history.replaceState(null, "", address(lesson, wanted()));
  window.addEventListener("popstate", () => go(wanted(), false));
  await go(wanted(), false);
}

function part(name, content) {
  return element("p", { class: `lesson-${name.toLowerCase()}` }, element("b", {}, name), element("span", {}, content));
}

start().catch((error) => {
  main.replaceChildren(element("p", { class: "error", role: "alert" }, `The lessons couldn't be loaded. ${error.message}`));
});
