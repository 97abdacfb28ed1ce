"use strict";

// Statistics of what is marked: the formulas of the analysis, small enough for a browser.

// Midranks: equal values share the mean of their places.
function ranks(values) {
  const order = [...values.keys()].sort((a, b) => values[a] - values[b]);
  const found = new Array(values.length);
  for (let first = 0; first < order.length; ) {
    let last = first;
    while (last + 1 < order.length && values[order[last + 1]] === values[order[first]]) last += 1;
    for (let k = first; k <= last; k += 1) found[order[k]] = (first + last) / 2 + 1;
    first = last + 1;
  }
  return found;
}

function pearson(x, y) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [centreX, centreY] = [mean(x), mean(y)];
  let [xy, xx, yy] = [0, 0, 0];
  x.forEach((value, i) => {
    const [a, b] = [value - centreX, y[i] - centreY];
    xy += a * b;
    xx += a * a;
    yy += b * b;
  });
  return xx && yy ? Math.max(-1, Math.min(1, xy / Math.sqrt(xx * yy))) : null;
}

// Spearman's rho of the pairs without a missing (null) value, with the interval of Bonett and
// Wright (2000): tanh(atanh(rho) ± z sqrt((1 + rho²/2) / (n - 3))), z the normal quantile. Ranks
// move in steps of 12 / (n (n² - 1)): a perfect rho stands for what lies less than half a step
// from it. `chosen`: numbers of the pairs that count; all where it is not given. Three values or
// fewer, or constant ones, have no rho (null).
function correlation(x, y, z, chosen = [...x.keys()]) {
  const known = chosen.filter((i) => x[i] !== null && y[i] !== null);
  const n = known.length;
  const rho = n < 4 ? null : pearson(ranks(known.map((i) => x[i])), ranks(known.map((i) => y[i])));
  if (rho === null) return { n, rho: null };
  const half = 6 / (n * (n * n - 1));
  const inside = Math.max(half - 1, Math.min(1 - half, rho));
  const spread = z * Math.sqrt((1 + (inside * inside) / 2) / (n - 3));
  const low = rho < inside ? -1 : Math.min(rho, Math.tanh(Math.atanh(inside) - spread));
  const high = rho > inside ? 1 : Math.max(rho, Math.tanh(Math.atanh(inside) + spread));
  return { n, rho, low, high };
}

function median(values) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const middle = known.length >> 1;
  if (!known.length) return null;
  return known.length % 2 ? known[middle] : (known[middle - 1] + known[middle]) / 2;
}

// Two decimals, a true minus sign, "–" for nothing. Up to four decimals, as in tables, where fewer
// would make a small number 0, or one just below 1 a 1.
function written(value, digits = 2) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const whole = (told) => [0, 1].includes(Math.abs(Number(told)));
  let text = value.toFixed(digits);
  if (Math.abs(value) < 1 && whole(text)) {
    const finer = [3, 4].filter((more) => more > digits).map((more) => value.toFixed(more));
    text = finer.find((told) => !whole(told)) ?? text;
  }
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

function saidCorrelation({ n, rho, low, high }, between = " = ") {
  if (rho === null) return `ρ undefined, n${between}${n}`;
  return `ρ${between}${written(rho)} [${written(low)}, ${written(high)}], n${between}${n}`;
}
