// An answer of the server, drawn into a plot.

import { svg } from "/static/shared/page.js";
import { contour } from "/static/shared/scale.js";

export const LAYERS = ["band", "latent", "draws", "parts", "mean", "contour", "cut", "marks", "points"];

export function paintRegression(plot, answer, view) {
  const { x, mean, lower, upper, latent_lower, latent_upper, draws, parts } = answer;
  path(plot.layers.band, lower && upper ? plot.area(x, lower, upper) : "");
  path(plot.layers.latent, latent_lower && latent_upper ? plot.area(x, latent_lower, latent_upper) : "");
  path(plot.layers.mean, mean ? plot.line(x, mean) : "");
  const lines = (draws ?? []).map((draw) => plot.line(x, draw));
  paths(plot.layers.draws, lines);
  paths(plot.layers.parts, (parts ?? []).map((part) => plot.line(x, part.y)));
  const prior = view.draws_from === "prior" && lines.length > 0;
  plot.layers.draws.classList.toggle("prior", prior);
  for (const name of ["band", "latent", "parts", "mean"]) plot.layers[name].classList.toggle("faint", prior);
}

export function clear(plot) {
  for (const name of ["band", "latent", "mean", "contour", "cut"]) path(plot.layers[name], "");
  for (const name of ["draws", "parts"]) plot.layers[name].replaceChildren();
  plot.canvas.style.display = "none";
}

function paths(layer, lines) {
  while (layer.childElementCount > lines.length) layer.lastChild.remove();
  while (layer.childElementCount < lines.length) layer.append(svg("path"));
  lines.forEach((line, index) => layer.children[index].setAttribute("d", line));
}

function path(layer, d) {
  if (!layer.firstChild) layer.append(svg("path"));
  layer.firstChild.setAttribute("d", d);
}

// The probability of each class as a picture, and the lines between the classes. `domain` is that of the answer.
export function paintClasses(plot, answer, domain) {
  const maps = answer.classes === 2 ? [answer.probability] : answer.probability;
  const { columns, rows } = answer;
  const image = new ImageData(columns, rows);
  const colors = palette(answer.labels ?? [0, 1, 2]);
  for (let r = 0; r < rows; r += 1) {
    for (let c = 0; c < columns; c += 1) {
      const [red, green, blue, alpha] = maps.length === 1 ? two(maps[0][r][c], colors) : several(maps.map((map) => map[r][c]), colors);
      const at = 4 * ((rows - 1 - r) * columns + c);
      image.data[at] = red;
      image.data[at + 1] = green;
      image.data[at + 2] = blue;
      image.data[at + 3] = alpha;
    }
  }
  plot.canvas.width = columns;
  plot.canvas.height = rows;
  plot.canvas.getContext("2d").putImageData(image, 0, 0);
  plot.canvas.style.display = "block";
  placeMap(plot, answer, domain);
}

// Values belong to the nodes of a grid from edge to edge, so that the picture is half a cell larger on each side.
export function placeMap(plot, answer, domain) {
  const { columns, rows } = answer;
  const across = (c) => plot.x(domain.x[0] + ((domain.x[1] - domain.x[0]) * c) / (columns - 1));
  const up = (r) => plot.y(domain.y[0] + ((domain.y[1] - domain.y[0]) * r) / (rows - 1));
  const left = across(-0.5), right = across(columns - 0.5), top = up(rows - 0.5), bottom = up(-0.5);
  const box = { left: left - plot.inner.x, top: top - plot.inner.y, width: right - left, height: bottom - top };
  for (const [name, value] of Object.entries(box)) plot.canvas.style[name] = `${value}px`;
  const maps = answer.classes === 2 ? [answer.probability] : answer.probability;
  const line = answer.score ? { rows: answer.score, level: 0 } : { rows: maps[0], level: 0.5 };
  const tables = maps.length === 1 ? [line] : maps.map((map, k) => ({ level: 0,
    rows: map.map((row, r) => row.map((p, c) => p - Math.max(...maps.filter((_, j) => j !== k).map((other) => other[r][c])))) }));
  let d = "";
  for (const table of tables) {
    for (const [a, b] of contour(table.rows, table.level)) {
      d += `M${across(a[0]).toFixed(1)},${up(a[1]).toFixed(1)}L${across(b[0]).toFixed(1)},${up(b[1]).toFixed(1)}`;
    }
  }
  path(plot.layers.contour, d);
  const { x, y, width, height } = plot.inner;
  const [input, at] = answer.cut ?? [];
  path(plot.layers.cut, input === undefined ? "" : input === 0 ? `M${plot.x(at).toFixed(1)},${y}v${height}` : `M${x},${plot.y(at).toFixed(1)}h${width}`);
}

// Near 0.5 the color fades, so that the page's own background means "don't know".
function two(p, colors) {
  const color = p < 0.5 ? colors[0] : colors[1];
  return [...color, 190 * Math.abs(2 * p - 1) ** 0.9];
}

function several(shares, colors) {
  const top = Math.max(...shares);
  const color = [0, 1, 2].map((channel) => shares.reduce((sum, p, k) => sum + p * colors[k % colors.length][channel], 0));
  return [...color, 190 * Math.max(0, (top - 1 / shares.length) / (1 - 1 / shares.length)) ** 0.8];
}

function palette(labels) {
  const style = getComputedStyle(document.documentElement);
  return labels.map((label) => {
    const hex = style.getPropertyValue(`--class-${label}`).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  });
}
