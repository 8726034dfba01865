// Scales, ticks and numbers for plots.

export function linear([lo, hi], [from, to]) {
  const factor = (to - from) / (hi - lo || 1);
  const scale = (value) => from + (value - lo) * factor;
  scale.invert = (pixel) => lo + (pixel - from) / factor;
  return scale;
}

export function logarithmic([lo, hi], range) {
  const inner = linear([Math.log10(lo), Math.log10(hi)], range);
  const scale = (value) => inner(Math.log10(value));
  scale.invert = (pixel) => 10 ** inner.invert(pixel);
  return scale;
}

// Multiples of 1, 2 or 5 times a power of ten within [lo, hi], about `count` of them, with their labels.
export function ticks(lo, hi, count = 6) {
  const raw = (hi - lo) / Math.max(count, 1);
  if (!(raw > 0) || !Number.isFinite(raw)) return [{ value: lo, label: number(lo) }];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const result = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + 1e-9 * step && result.length < 50; k += 1) {
    const value = k === 0 ? 0 : k * step;
    result.push({ value, label: minus(value.toFixed(Math.min(places, 12))) });
  }
  return result;
}

export function logTicks(lo, hi) {
  const result = [];
  for (let k = Math.ceil(Math.log10(lo) - 1e-9); k <= Math.log10(hi) + 1e-9; k += 1) {
    result.push({ value: 10 ** k, label: number(10 ** k) });
  }
  return result;
}

// A number for people: `digits` significant digits, a real minus sign, exponents only where needed.
export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return minus(value.toExponential(Math.max(digits - 1, 0)));
  if (size >= 10 ** digits) return minus(value.toFixed(0));
  return minus(String(Number(value.toPrecision(digits))));
}

// A number with two decimals, for values that are compared by their differences.
export function fixed(value) {
  return Math.abs(value) < 1e5 ? minus(value.toFixed(2)) : number(value, 4);
}

export function minus(text) {
  return text.replaceAll("-", "−");
}

// The segments of the line on which a table of values (rows of columns) crosses `level`, in units of cells.
export function contour(rows, level) {
  const segments = [];
  for (let r = 0; r + 1 < rows.length; r += 1) {
    for (let c = 0; c + 1 < rows[r].length; c += 1) {
      const a = rows[r][c] - level, b = rows[r][c + 1] - level;
      const d = rows[r + 1][c] - level, e = rows[r + 1][c + 1] - level;
      const crossings = [];
      if (a > 0 !== b > 0) crossings.push([c + a / (a - b), r]);
      if (b > 0 !== e > 0) crossings.push([c + 1, r + b / (b - e)]);
      if (d > 0 !== e > 0) crossings.push([c + d / (d - e), r + 1]);
      if (a > 0 !== d > 0) crossings.push([c, r + a / (a - d)]);
      if (crossings.length >= 2) segments.push([crossings[0], crossings[1]]);
      if (crossings.length === 4) segments.push([crossings[2], crossings[3]]);
    }
  }
  return segments;
}
