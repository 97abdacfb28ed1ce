"use strict";

// The page of `anynet-study serve`: asks for the state of a study again and again, and shows it.

const EVERY = 3000; // milliseconds between two looks
const PLACE = { left: 38, right: 10, top: 20, bottom: 34 };

class Watching {
  constructor() {
    this.tip = new Tip();
    this.state = null;
    this.colours = pageColours();
    this.data = { letter: "ρ", matrix: null };
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.look();
  }

  // A server that is gone is said; the last state stays.
  async look() {
    const now = document.getElementById("now");
    try {
      const answer = await fetch("/state");
      if (!answer.ok) throw new Error(await answer.text());
      this.state = await answer.json();
      const { active } = this.state; // null: squeue does not answer
      const doing = active === null ? "It is not known whether jobs run" : active ? "At work" : "No job runs";
      now.textContent = `${doing}; read ${this.state.time}`;
      this.draw();
    } catch (error) {
      now.textContent = `No answer: ${error.message}. Below is what was read last.`;
    }
    setTimeout(() => this.look(), EVERY);
  }

  draw() {
    if (!this.state) return;
    this.colours = pageColours();
    this.drawDatasets();
    this.drawFailures();
    this.drawCurves();
    for (const list of ["concerns", "lines"]) {
      const lines = this.state[list].map((line) => element("li", null, {}, line));
      document.getElementById(list).replaceChildren(...lines);
    }
    document.getElementById("concerned").hidden = !this.state.concerns.length;
    this.drawMatrix();
  }

  drawMatrix() {
    const shared = this.state.matrix.pairs.map(([, , , n]) => n);
    const [fewest, most] = [Math.min(...shared), Math.max(...shared)];
    const count = fewest === most ? most : `${fewest} to ${most}`;
    document.getElementById("shared").textContent = most
      ? `Spearman's ρ of the errors of ${count} architectures; point at a cell for its interval.`
      : "No architecture has errors on two datasets yet.";
    this.data.matrix = this.state.matrix;
    const place = document.getElementById("matrix");
    if (!this.matrix) this.matrix = new Matrix(this, place);
    this.matrix.data = this.state.matrix;
    this.matrix.lay();
  }

  drawDatasets() {
    const bars = this.state.datasets.map(([name, recorded, planned]) => {
      const label = element("label", null, { class: "bar" }, `${name}: ${recorded} of ${planned} `);
      element("progress", label, { value: recorded, max: planned });
      return label;
    });
    document.getElementById("datasets").replaceChildren(...bars);
  }

  drawFailures() {
    const { failures } = this.state;
    document.getElementById("none").hidden = failures.length > 0;
    const rows = failures.map(([dataset, kind, runs, message]) => [dataset, kind, runs, message]);
    const headings = ["dataset", "kind", "runs", "message of the first"];
    const table = document.getElementById("failures");
    table.replaceChildren();
    if (!rows.length) return;
    const head = element("tr", element("thead", table));
    for (const text of headings) element("th", head, { scope: "col" }, text);
    const body = element("tbody", table);
    for (const cells of rows) {
      const row = element("tr", body);
      for (const cell of cells) element("td", row, {}, cell);
    }
  }

  drawCurves() {
    const canvas = document.getElementById("curves");
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    const pen = canvas.getContext("2d");
    pen.scale(devicePixelRatio, devicePixelRatio);
    const { curves } = this.state;
    if (!curves.length) return;
    const longest = Math.max(...curves.map(({ errors }) => errors.length));
    const ranges = [rangeOf([1, longest], null, 0.02), rangeOf(curves.flatMap(({ errors }) => errors))];
    const across = scale(ranges[0], PLACE.left, width - PLACE.right);
    const up = scale(ranges[1], height - PLACE.bottom, PLACE.top);
    const labels = ["epoch", "test error (%)"];
    drawFrame(pen, this.colours, { width, height, margin: PLACE, ranges, across, up, labels, whole: true });
    curves.forEach(({ errors }, k) => {
      const latest = k === curves.length - 1;
      pen.strokeStyle = latest ? this.colours.marked : this.colours.points;
      pen.lineWidth = latest ? 2.5 : 1.2;
      pen.beginPath();
      errors.forEach((error, epoch) => error !== null && pen.lineTo(across(epoch + 1), up(error)));
      pen.stroke();
    });
    pen.fillStyle = this.colours.ink;
    pen.textAlign = "right";
    pen.fillText(fitted(pen, `latest: ${curves.at(-1).name}`, width - 60), width - 8, 14);
  }

  // As the drawings of the report's page have them.
  tell(lines, place) {
    this.tip.show(lines, place);
  }

  columnOf() {
    return 0;
  }

  choosePair() {}
}

const watching = new Watching();
