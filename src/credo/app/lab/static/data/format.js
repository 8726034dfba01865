// Numbers and states in words.

import { minus, number } from "/static/shared/scale.js";

// A score of the leaderboard as its measure is written.
export function score(value, measure) {
  if (value === null || value === undefined) return "–";
  if (measure.share) return `${(100 * value).toFixed(1)} %`;
  if (measure.decimals !== null && Math.abs(value) < 1e7) return minus(value.toFixed(measure.decimals));
  return number(value, 4);
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 0.1) return "< 0.1";
  return value.toFixed(value < 10 ? 1 : 0);
}

export function duration(value) {
  const whole = Math.max(0, Math.round(value));
  return whole < 100 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

export function size(bytes) {
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

export function count(value, noun) {
  return `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
}

export const STATES = {
  reading: "being read",
  ready: "ready to run",
  waiting: "waiting",
  running: "running",
  stopping: "stopping",
  done: "finished",
  failed: "failed",
};
