"use strict";

// A scatter plot of two columns: a point for each architecture.

const MARGIN = { left: 38, right: 10, top: 20, bottom: 34 };

class Scatter extends View {
  constructor(explorer, parent, x, y, height, note = "") {
    super(explorer, parent, height);
    this.show(x, y, note);
  }

  // Columns by number; the note is what the analysis found of them.
  show(x, y, note = "") {
    this.x = this.explorer.data.columns[x];
    this.y = this.explorer.data.columns[y];
    this.note = note;
    this.ranges = [this.x, this.y].map(({ values, limit }) => rangeOf(values, limit));
    const isOff = ({ values, limit }, i) => limit !== null && values[i] !== null && values[i] > limit;
    const off = this.x.values.filter((_, i) => isOff(this.x, i) || isOff(this.y, i)).length;
    this.off = off ? `; ${off} off scale, at the edge` : "";
    this.all = null;
  }

  fit() {
    const right = this.width - MARGIN.right;
    const bottom = this.height - MARGIN.bottom;
    this.across = scale(this.ranges[0], MARGIN.left, right);
    this.up = scale(this.ranges[1], bottom, MARGIN.top);
    this.points = this.x.values.map((value, i) =>
      value === null || this.y.values[i] === null
        ? null
        : [this.across(value), this.up(this.y.values[i])],
    );
  }

  trace(pen, numbers, { colour, edge, large, ring }) {
    pen.fillStyle = colour;
    pen.strokeStyle = ring ? colour : edge;
    pen.lineWidth = ring ? 2 : 0.7;
    const many = !large && numbers.length > FEW;
    const radius = ring ? 6 : large ? 3.6 : many ? 1 : 2.4;
    for (const i of numbers) {
      const point = this.points[i];
      if (!point) continue;
      if (many) {
        pen.fillRect(point[0] - radius, point[1] - radius, 2 * radius, 2 * radius);
        continue;
      }
      pen.beginPath();
      pen.arc(...point, radius, 0, 2 * Math.PI);
      if (!ring) pen.fill();
      if (large) pen.stroke();
    }
  }

  axes(pen, colours) {
    const labels = [this.x.label, this.y.label];
    drawFrame(pen, colours, { ...this, margin: MARGIN, labels });
  }

  said() {
    const { z } = this.explorer.data;
    const { numbers } = this.marks;
    this.all ??= saidCorrelation(correlation(this.x.values, this.y.values, z));
    const of = (chosen) => saidCorrelation(correlation(this.x.values, this.y.values, z, chosen));
    const marked = numbers.length ? `marked: ${of(numbers)}` : "";
    const found = `${this.note || this.all}${this.off}`;
    this.caption.replaceChildren();
    element("span", this.caption, {}, found);
    if (marked) element("b", this.caption, {}, marked);
    const told = `${this.y.label} against ${this.x.label}. ${found}. ${marked}`;
    this.front.setAttribute("aria-label", `Scatter plot: ${told}`);
  }

  within([x, y, toX, toY]) {
    const inside = (at, a, b) => at >= Math.min(a, b) && at <= Math.max(a, b);
    return this.order().filter((i) => {
      const [left, top] = this.points[i];
      return inside(left, x, toX) && inside(top, y, toY);
    });
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

  place(i) {
    return this.points[i];
  }

  tell(i) {
    return [this.x, this.y].map((column) => this.explorer.valueOf(column, i));
  }

  // From left to right.
  order() {
    const known = this.explorer.everything.filter((i) => this.points[i]);
    return known.sort((a, b) => this.points[a][0] - this.points[b][0]);
  }
}
