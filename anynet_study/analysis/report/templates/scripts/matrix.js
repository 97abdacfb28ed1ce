"use strict";

// The matrix of correlations of all pairs of datasets; a click shows a pair's architectures.

const MOST_SIDE = 620; // pixels
const ON_COLOUR = "#10141a"; // text on a strong colour, on light and on dark pages

// What the analysis found of two of the names of a matrix.
function pairOf({ names, pairs }, i, j) {
  const [row, column] = [Math.min(i, j), Math.max(i, j)];
  const place = row * names.length - (row * (row + 1)) / 2 + column - row - 1;
  const [rho, low, high, n] = pairs[place];
  return { rho, low, high, n };
}

class Matrix {
  // `data.matrix`: names, and for each pair of them its rho, low, high (null: none) and n, row by
  // row above the diagonal.
  constructor(explorer, parent) {
    this.explorer = explorer;
    this.data = explorer.data.matrix;
    this.names = this.data.names;
    this.size = this.names.length;
    this.at = null;
    this.box = element("div", parent, { class: "plot matrix" });
    this.canvas = element("canvas", this.box, { tabindex: 0, role: "img" });
    this.canvas.setAttribute(
      "aria-label",
      `Correlations of ${this.size} datasets with each other; arrow keys go through the pairs, Enter shows one.`,
    );
    this.canvas.addEventListener("pointermove", (event) => this.hover(this.cell(event), event));
    this.canvas.addEventListener("pointerleave", () => this.hover(null));
    this.canvas.addEventListener("blur", () => this.hover(null));
    this.canvas.addEventListener("click", (event) => this.choose(this.cell(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  lay() {
    this.side = Math.min(this.box.clientWidth, MOST_SIDE);
    if (!this.side) return;
    const pen = this.canvas.getContext("2d");
    pen.font = "11px system-ui, sans-serif";
    const widest = Math.max(...this.names.map((name) => pen.measureText(name).width));
    const room = this.size <= 40 ? Math.min(widest + 8, 0.3 * this.side) : 0;
    this.room = room;
    this.step = (this.side - room) / this.size;
    this.canvas.style.width = this.canvas.style.height = `${this.side}px`;
    this.box.style.height = `${this.side}px`;
    this.canvas.width = this.canvas.height = Math.round(this.side * devicePixelRatio);
    pen.scale(devicePixelRatio, devicePixelRatio);
    this.draw();
  }

  draw() {
    const { colours } = this.explorer;
    const { names } = this;
    const pen = this.canvas.getContext("2d");
    const { step, room } = this;
    pen.clearRect(0, 0, this.side, this.side);
    pen.font = `${step < 40 ? 10 : 11}px system-ui, sans-serif`;
    for (let i = 0; i < this.size; i += 1) {
      for (let j = 0; j < this.size; j += 1) if (i !== j) this.drawCell(pen, colours, i, j);
    }
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colours.ink;
    for (let i = 0; room && i < this.size; i += 1) {
      const middle = room + (i + 0.5) * step;
      pen.textAlign = "right";
      pen.fillText(fitted(pen, names[i], room - 6), room - 4, middle + 4);
      pen.save();
      pen.translate(middle + 4, room - 4);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "left";
      pen.fillText(fitted(pen, names[i], room - 6), 0, 0);
      pen.restore();
    }
    if (!this.at) return;
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 2;
    const [i, j] = this.at;
    pen.strokeRect(room + j * step, room + i * step, step, step);
  }

  // Bluer or more orange the farther from 0; the paper's colour at 0, grey where there is none.
  drawCell(pen, colours, i, j) {
    const estimate = pairOf(this.data, i, j).rho;
    const [x, y] = [this.room + j * this.step, this.room + i * this.step];
    const gap = this.step > 8 ? 1 : 0;
    const strength = estimate === null ? 0.2 : Math.abs(estimate) ** 1.3 * 0.9;
    pen.globalAlpha = strength;
    pen.fillStyle = estimate === null ? colours.soft : estimate > 0 ? colours.low : colours.high;
    pen.fillRect(x, y, this.step - gap, this.step - gap);
    pen.globalAlpha = 1;
    if (this.step < 30) return;
    pen.fillStyle = strength > 0.6 ? ON_COLOUR : colours.ink;
    pen.textAlign = "center";
    pen.fillText(written(estimate), x + this.step / 2, y + this.step / 2 + 4);
  }

  cell(event) {
    const [j, i] = [event.offsetX, event.offsetY].map((at) => Math.floor((at - this.room) / this.step));
    const inside = [i, j].every((at) => at >= 0 && at < this.size);
    return inside && i !== j ? [i, j] : null;
  }

  hover(cell, event) {
    if (!cell && !this.at) return;
    this.at = cell;
    this.draw();
    if (!cell) {
      this.explorer.tip.hide();
      return;
    }
    const [i, j] = cell;
    const { names } = this;
    const said = saidCorrelation(pairOf(this.data, i, j)).replace("ρ", this.explorer.data.letter);
    this.explorer.tell([`${names[i]} and ${names[j]}`, said], [event.clientX, event.clientY]);
  }

  choose(cell) {
    if (!cell) return;
    const [y, x] = cell.map((at) => this.explorer.columnOf(this.names[at]));
    this.explorer.choosePair(x, y, true);
  }

  key(event) {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (event.key in moves) {
      let cell = this.at ?? [0, 0];
      do cell = cell.map((at, k) => (at + moves[event.key][k] + this.size) % this.size);
      while (cell[0] === cell[1]);
      const { x, y } = this.canvas.getBoundingClientRect();
      const at = (k) => this.room + (cell[k] + 0.5) * this.step;
      this.hover(cell, { clientX: x + at(1), clientY: y + at(0) });
    } else if (event.key === "Enter") this.choose(this.at);
    else return;
    event.preventDefault();
  }
}
