// What every page has: the theme button, and elements made without parsing markup.

const root = document.documentElement;

const filled = (node, attributes, children) => {
  assign(node, attributes);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

export const element = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function assign(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
}

function theme() {
  const chosen = root.dataset.theme;
  if (chosen) return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

const saved = localStorage.getItem("theme");
if (saved === "light" || saved === "dark") root.dataset.theme = saved;

const button = document.querySelector("#theme");
if (button) {
  const label = () => {
    button.textContent = theme() === "dark" ? "Light" : "Dark";
  };
  button.addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    label();
    document.dispatchEvent(new CustomEvent("theme"));
  });
  label();
}
