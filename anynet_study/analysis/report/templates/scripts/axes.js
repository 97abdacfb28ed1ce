"use strict";

// Scales and axes of the drawings, and text that fits.

// Round numbers, whole ones if asked for, that divide a range into about `count` parts.
function ticks(low, high, count, whole = false) {
  const rough = Math.max((high - low) / count, whole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) found.push((k * step).toFixed(digits));
  return found;
}

// The lowest and highest of these numbers, with some space around them; larger ones than a limit
// are drawn at the edge.
function rangeOf(values, limit = null, space = 0.07) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  if (limit !== null) high = limit;
  const around = space * (high - low) || 1;
  return [low - around, high + around];
}

// Where a number of a range lies between two places, in pixels.
function scale([low, high], from, to) {
  return (value) => from + ((Math.min(value, high) - low) / (high - low)) * (to - from);
}

// A frame of two axes with ticks and labels, inside these margins.
function drawFrame(pen, colours, { width, height, margin, ranges, across, up, labels, whole }) {
  const [right, bottom] = [width - margin.right, height - margin.bottom];
  pen.strokeStyle = colours.soft;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(margin.left, margin.top);
  pen.lineTo(margin.left, bottom);
  pen.lineTo(right, bottom);
  pen.stroke();
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = colours.soft;
  pen.textAlign = "center";
  const most = Math.max(2, Math.min(6, Math.floor(width / 60)));
  for (const tick of ticks(...ranges[0], most, whole)) pen.fillText(tick, across(tick), bottom + 13);
  pen.textAlign = "right";
  for (const tick of ticks(...ranges[1], 5)) pen.fillText(tick, margin.left - 4, up(tick) + 4);
  pen.fillStyle = colours.ink;
  pen.fillText(fitted(pen, `${labels[0]} →`, right - 4), right, height - 5);
  pen.textAlign = "left";
  pen.fillText(fitted(pen, `↑ ${labels[1]}`, width - 8), 4, 11);
}

// Cut a label in its middle until it fits.
function fitted(pen, text, width) {
  let cut = text;
  for (let keep = text.length - 2; pen.measureText(cut).width > width && keep > 2; keep -= 1) {
    const head = Math.ceil(keep / 2);
    cut = `${text.slice(0, head)}…${text.slice(head - keep)}`;
  }
  return cut;
}

// Colours of the page, light or dark.
function pageColours() {
  const style = getComputedStyle(document.documentElement);
  const named = { points: "accent", quiet: "quiet", marked: "warm", ink: "ink", soft: "soft" };
  Object.assign(named, { line: "line", paper: "paper", low: "accent", high: "warm" });
  return Object.fromEntries(
    Object.entries(named).map(([name, of]) => [name, style.getPropertyValue(`--${of}`).trim()]),
  );
}

// The small window beside the mouse: lines of text, the first one a heading.
class Tip {
  constructor() {
    this.box = element("div", document.body, { class: "tip", hidden: "" });
  }

  show(lines, [x, y]) {
    this.box.replaceChildren();
    lines.forEach((line, i) => element(i ? "div" : "b", this.box, {}, line));
    this.box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    this.box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 4))}px`;
    this.box.style.top = `${y + 14 + height > innerHeight ? Math.max(4, y - height - 10) : y + 14}px`;
  }

  hide() {
    this.box.hidden = true;
  }
}
