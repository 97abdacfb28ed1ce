"use strict";

// A scatter panel on two canvases: all points lie on the back one, which fades while some are
// selected; axes, selected points and the rectangle being drawn are on the front one.

const MARGIN = { left: 34, right: 8, top: 18, bottom: 30 };
const FEW_POINTS = 2000; // beyond this, points are squares, which draw faster
const NEAR = 12; // pixels from a point that count as on it

// Round numbers that divide a range into about `count` parts.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) found.push((k * step).toFixed(digits));
  return found;
}

// The lowest and highest number that an axis shows, with some space around them.
function rangeOf(column) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of column.values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (column.limit !== null) high = column.limit;
  const space = 0.07 * (high - low) || 1;
  return [low - space, high + space];
}

class Panel {
  constructor(columns, x, y, note) {
    this.figure = document.createElement("figure");
    this.box = document.createElement("div");
    this.caption = document.createElement("figcaption");
    this.back = document.createElement("canvas");
    this.front = document.createElement("canvas");
    this.front.setAttribute("role", "img");
    this.box.append(this.back, this.front);
    this.figure.append(this.box, this.caption);
    this.show(columns, x, y, note);
  }

  show(columns, x, y, note) {
    this.x = columns[x];
    this.y = columns[y];
    this.caption.textContent = note;
    this.front.setAttribute("aria-label", `${this.y.label} against ${this.x.label}. ${note}`);
    this.ranges = [rangeOf(this.x), rangeOf(this.y)];
  }

  // Fit the canvases to the page, and the points into them.
  lay() {
    this.width = this.box.clientWidth;
    this.height = this.box.clientHeight;
    for (const canvas of [this.back, this.front]) {
      canvas.width = Math.round(this.width * devicePixelRatio);
      canvas.height = Math.round(this.height * devicePixelRatio);
      canvas.getContext("2d").scale(devicePixelRatio, devicePixelRatio);
    }
    const right = this.width - MARGIN.right;
    const bottom = this.height - MARGIN.bottom;
    const [[left, most], [low, high]] = this.ranges;
    this.across = (value) =>
      MARGIN.left + ((Math.min(value, most) - left) / (most - left)) * (right - MARGIN.left);
    this.up = (value) =>
      bottom - ((Math.min(value, high) - low) / (high - low)) * (bottom - MARGIN.top);
    this.points = this.x.values.map((value, i) =>
      value === null || this.y.values[i] === null
        ? null
        : [this.across(value), this.up(this.y.values[i])],
    );
  }

  drawAll(colours) {
    const pen = this.back.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    pen.fillStyle = colours.points;
    pen.globalAlpha = 0.5;
    const many = this.points.length > FEW_POINTS;
    for (const point of this.points) if (point) dot(pen, point, many ? 1 : 2.2, many);
  }

  drawSelected(colours, selected, any, rectangle) {
    const pen = this.front.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    this.back.classList.toggle("faded", any);
    this.drawAxes(pen, colours);
    pen.fillStyle = colours.selected;
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 0.7;
    this.points.forEach((point, i) => {
      if (!selected[i] || !point) return;
      dot(pen, point, 3.2, false);
      pen.stroke();
    });
    if (!rectangle) return;
    const [x, y, toX, toY] = rectangle;
    pen.setLineDash([4, 3]);
    pen.strokeRect(x, y, toX - x, toY - y);
    pen.setLineDash([]);
  }

  drawAxes(pen, colours) {
    const bottom = this.height - MARGIN.bottom;
    const right = this.width - MARGIN.right;
    pen.strokeStyle = colours.line;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(MARGIN.left, MARGIN.top);
    pen.lineTo(MARGIN.left, bottom);
    pen.lineTo(right, bottom);
    pen.stroke();
    pen.font = "10px system-ui, sans-serif";
    pen.fillStyle = colours.soft;
    pen.textAlign = "center";
    for (const tick of ticks(...this.ranges[0], 5)) pen.fillText(tick, this.across(tick), bottom + 12);
    pen.textAlign = "right";
    for (const tick of ticks(...this.ranges[1], 5)) pen.fillText(tick, MARGIN.left - 4, this.up(tick) + 3);
    pen.fillStyle = colours.ink;
    pen.fillText(fitted(pen, `${this.x.label} →`, right - 4), right, this.height - 5);
    pen.textAlign = "left";
    pen.fillText(fitted(pen, `↑ ${this.y.label}`, this.width - 8), 4, 10);
  }

  // Numbers of the architectures in a rectangle, or of the one nearest to a place.
  within([x, y, toX, toY]) {
    const found = [];
    this.points.forEach((point, i) => {
      if (!point) return;
      const inside = (at, a, b) => at >= Math.min(a, b) && at <= Math.max(a, b);
      if (inside(point[0], x, toX) && inside(point[1], y, toY)) found.push(i);
    });
    return found;
  }

  nearest(x, y) {
    let best = -1;
    let distance = NEAR;
    this.points.forEach((point, i) => {
      const away = point ? Math.hypot(point[0] - x, point[1] - y) : Infinity;
      if (away < distance) [best, distance] = [i, away];
    });
    return best;
  }
}

function dot(pen, [x, y], radius, square) {
  if (square) {
    pen.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
    return;
  }
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
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
