"use strict";

// Drawings in which an architecture is a line: its parameters side by side, and its learning curve.

class Lines extends View {
  // `this.paths` holds the corners of each architecture's line, null for none.
  trace(pen, numbers, { colour, large, ring }) {
    pen.strokeStyle = colour;
    pen.lineWidth = ring ? 3 : large ? 1.8 : 1;
    pen.globalAlpha = large ? 1 : numbers.length > 60 ? 0.45 : 0.8;
    for (const i of numbers) {
      const path = this.paths[i];
      if (!path) continue;
      pen.beginPath();
      path.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  // The line that passes nearest to a place.
  nearest(x, y) {
    let best = -1;
    let distance = NEAR;
    this.paths.forEach((path, i) => {
      if (!path) return;
      for (let k = 1; k < path.length; k += 1) {
        const away = distanceTo(x, y, path[k - 1], path[k]);
        if (away < distance) [best, distance] = [i, away];
      }
    });
    return best;
  }

  place(i) {
    return this.paths[i].at(-1);
  }

  // From the lowest end to the highest.
  order() {
    const known = this.explorer.everything.filter((i) => this.paths[i]);
    return known.sort((a, b) => this.place(b)[1] - this.place(a)[1]);
  }
}

function distanceTo(x, y, [ax, ay], [bx, by]) {
  const length = (bx - ax) ** 2 + (by - ay) ** 2;
  const share = length ? Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length)) : 0;
  return Math.hypot(x - ax - share * (bx - ax), y - ay - share * (by - ay));
}

const AXIS_TOP = 30; // below a line for the name and one for the highest value

// Parallel coordinates: an axis for each parameter, and one for the errors on a dataset.
class Parallel extends Lines {
  constructor(explorer, parent, columns, height) {
    super(explorer, parent, height);
    this.columns = columns;
    this.front.setAttribute("aria-label", "Parallel coordinates of the parameters of each stage");
  }

  fit() {
    const last = this.columns.at(-1);
    const told = last?.error ? `“error” is the ${last.label}. ` : "";
    this.caption.textContent = `${told}Drag along an axis to mark the architectures in that range.`;
    const [top, bottom] = [AXIS_TOP, this.height - 20];
    const step = (this.width - 44) / Math.max(1, this.columns.length - 1);
    this.rulers = this.columns.map(({ name, values }, k) => {
      const known = values.filter((value) => value !== null);
      const [least, most] = [Math.min(...known), Math.max(...known)];
      const log = least > 0 && most >= 8 * least;
      const of = log ? Math.log2 : (value) => value;
      const up = scale(least === most ? [of(least) - 1, of(most) + 1] : [of(least), of(most)], bottom, top);
      return { name, least, most, x: 22 + k * step, up: (value) => up(of(value)) };
    });
    this.paths = this.explorer.everything.map((i) => {
      const corners = this.rulers.flatMap(({ x, up }, k) => {
        const value = this.columns[k].values[i];
        return value === null ? [] : [[x, up(value)]];
      });
      return corners.length > 1 ? corners : null;
    });
  }

  axes(pen, colours) {
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    const room = (this.width - 44) / Math.max(1, this.rulers.length - 1);
    this.rulers.forEach(({ name, least, most, x }, k) => {
      pen.strokeStyle = colours.soft;
      pen.lineWidth = 1;
      pen.strokeRect(x, AXIS_TOP, 0, this.height - 20 - AXIS_TOP);
      const last = k === this.rulers.length - 1 && this.columns[k].error;
      pen.fillStyle = colours.ink;
      pen.fillText(last ? "error" : fitted(pen, name, Math.max(18, room)), x, 11);
      if (room < 24 && k % 2) return;
      pen.fillStyle = colours.soft;
      pen.fillText(short(most), x, AXIS_TOP - 5);
      pen.fillText(short(least), x, this.height - 7);
    });
  }

  // On the axis where a drag began.
  within([x, y, , toY]) {
    const away = this.rulers.map((ruler) => Math.abs(ruler.x - x));
    const k = away.indexOf(Math.min(...away));
    const [least, most] = [Math.min(y, toY), Math.max(y, toY)];
    return this.explorer.everything.filter((i) => {
      const value = this.columns[k].values[i];
      if (value === null) return false;
      const at = this.rulers[k].up(value);
      return at >= least && at <= most;
    });
  }

  tell(i) {
    const error = this.columns.at(-1);
    const told = this.explorer.shape(i);
    return error.error ? [...told, this.explorer.valueOf(error, i)] : told;
  }
}

function short(value) {
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}

// The errors on a dataset after each epoch.
class Curves extends Lines {
  constructor(explorer, parent, dataset, height) {
    super(explorer, parent, height);
    this.show(dataset);
  }

  show(dataset) {
    this.dataset = dataset;
    this.curves = this.explorer.data.curves[dataset];
    const all = this.curves.errors.flatMap((curve) => curve ?? []);
    this.ranges = [rangeOf(this.curves.epochs, null, 0.02), rangeOf(all, null, 0.04)];
    this.front.setAttribute("aria-label", `Learning curves: test error on ${dataset} by epoch`);
    this.caption.textContent = `Test error on ${dataset} after each epoch, first replicates.`;
  }

  fit() {
    this.across = scale(this.ranges[0], MARGIN.left, this.width - MARGIN.right);
    this.up = scale(this.ranges[1], this.height - MARGIN.bottom, MARGIN.top);
    this.paths = this.explorer.everything.map((i) => {
      const curve = this.curves.errors[i];
      if (!curve) return null;
      const corners = curve.flatMap((error, k) =>
        error === null ? [] : [[this.across(this.curves.epochs[k]), this.up(error)]],
      );
      return corners.length ? corners : null;
    });
  }

  axes(pen, colours) {
    const labels = ["epoch", `error on ${this.dataset} (%)`];
    drawFrame(pen, colours, { ...this, margin: MARGIN, labels, whole: true });
  }

  // Those that pass through a rectangle with any of their points.
  within([x, y, toX, toY]) {
    const inside = ([left, top]) =>
      left >= Math.min(x, toX) && left <= Math.max(x, toX) &&
      top >= Math.min(y, toY) && top <= Math.max(y, toY);
    return this.explorer.everything.filter((i) => this.paths[i]?.some(inside));
  }

  tell(i) {
    const curve = this.curves.errors[i];
    const { epochs } = this.curves;
    const known = curve.flatMap((error, k) => (error === null ? [] : [k]));
    const told = [0, Math.floor(known.length / 2), known.length - 1].map((k) => known[k]);
    return [...new Set(told)].map((k) => `after epoch ${epochs[k]}: ${written(curve[k])}%`);
  }
}
