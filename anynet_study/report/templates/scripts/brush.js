"use strict";

// Linked panels: what is selected in one is marked in all, and listed.

const SHOWN_ROWS = 50;
const EXTREMES = 10; // or a quarter of the architectures, where that is fewer
const DRAG = 4; // pixels from which on a press is a drag
const PARTS = ["groups", "many", "end", "dataset", "pick", "find", "clear", "count", "table"];

class Brush {
  constructor(section, data) {
    this.section = section;
    this.data = data;
    this.count = data.architectures.length;
    this.selected = new Uint8Array(this.count);
    this.extreme = Math.max(1, Math.min(EXTREMES, Math.floor(this.count / 4)));
    this.panels = [];
    this.press = null;
    this.waiting = false;
    const part = (name) => section.querySelector(`[data-brush=${name}]`);
    this.parts = Object.fromEntries(
      PARTS.map((name) => [name, part(name)]),
    );
    this.parts.many.textContent = this.extreme;
    this.makePanels();
    this.listen();
    this.resize();
  }

  makePanels() {
    const { columns, groups } = this.data;
    for (const group of groups) {
      const grid = this.addGroup(group.title, group.more);
      for (const { x, y, note } of group.panels) this.addPanel(grid, x, y, note);
    }
    this.addChosen();
    columns.forEach((column, i) => {
      if (column.error) this.parts.dataset.append(new Option(column.name, i));
    });
  }

  addGroup(title, more) {
    const group = document.createElement("details");
    group.open = true;
    const summary = document.createElement("summary");
    summary.textContent = more ? `${title} (${more} more: choose them below)` : title;
    const grid = document.createElement("div");
    grid.className = "brush-grid";
    group.append(summary, grid);
    group.addEventListener("toggle", () => this.resize());
    this.parts.groups.append(group);
    return grid;
  }

  addPanel(grid, x, y, note) {
    const panel = new Panel(this.data.columns, x, y, note);
    grid.append(panel.figure);
    this.panels.push(panel);
    const { front } = panel;
    front.addEventListener("pointerdown", (event) => this.start(panel, event));
    front.addEventListener("pointermove", (event) => this.move(panel, event));
    front.addEventListener("pointerup", (event) => this.stop(panel, event));
    front.addEventListener("pointercancel", () => this.abandon());
    return panel;
  }

  // One panel more, of any two columns that the reader chooses.
  addChosen() {
    const { columns } = this.data;
    if (columns.length < 2) return;
    const grid = this.addGroup("Any two", 0);
    const panel = this.addPanel(grid, 0, 1, "");
    const choices = document.createElement("div");
    const lists = ["y", "x"].map((name, axis) => {
      const label = document.createElement("label");
      const list = document.createElement("select");
      columns.forEach((column, i) => list.append(new Option(column.label, i)));
      list.value = 1 - axis;
      list.addEventListener("change", () => {
        panel.show(columns, lists[1].value, lists[0].value, "");
        this.resize();
      });
      label.append(`${name}: `, list);
      choices.append(label);
      return list;
    });
    grid.append(choices);
  }

  listen() {
    const { pick, find, clear } = this.parts;
    pick.addEventListener("click", () => this.select(this.extremes()));
    find.addEventListener("input", () => this.select(this.named(find.value.trim().toLowerCase())));
    clear.addEventListener("click", () => this.clear());
    this.section.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.clear();
    });
    new ResizeObserver(() => this.resize()).observe(this.parts.groups);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.resize());
  }

  // The mouse, a pen or a finger on a panel.
  start(panel, event) {
    if (event.button) return;
    const adds = event.shiftKey || event.ctrlKey || event.metaKey;
    const before = adds ? this.selected.slice() : new Uint8Array(this.count);
    this.press = { panel, from: [event.offsetX, event.offsetY], before, old: this.selected };
    panel.front.setPointerCapture(event.pointerId);
  }

  move(panel, event) {
    if (!this.press) {
      const i = panel.nearest(event.offsetX, event.offsetY);
      panel.front.title = i < 0 ? "" : this.data.architectures[i];
      return;
    }
    const [x, y] = this.press.from;
    if (Math.hypot(event.offsetX - x, event.offsetY - y) < DRAG && !this.press.rectangle) return;
    this.press.rectangle = [x, y, event.offsetX, event.offsetY];
    this.select(panel.within(this.press.rectangle), this.press.before);
  }

  stop(panel) {
    if (!this.press) return;
    const { from, before, rectangle } = this.press;
    this.press = null;
    const i = panel.nearest(...from);
    if (rectangle) this.draw();
    else this.select(i < 0 ? [] : [i], before);
  }

  abandon() {
    if (!this.press) return;
    this.selected = this.press.old;
    this.press = null;
    this.draw();
  }

  // Numbers of architectures: those with the lowest or highest errors, or whose id holds a text.
  extremes() {
    const { values } = this.data.columns[this.parts.dataset.value];
    const known = values.flatMap((value, i) => (value === null ? [] : [i]));
    const sign = this.parts.end.value === "lowest" ? 1 : -1;
    known.sort((a, b) => sign * (values[a] - values[b]));
    return known.slice(0, this.extreme);
  }

  named(text) {
    if (!text) return [];
    return this.data.architectures.flatMap((id, i) => (id.toLowerCase().includes(text) ? [i] : []));
  }

  select(numbers, before = new Uint8Array(this.count)) {
    this.selected = before.slice();
    for (const i of numbers) this.selected[i] = 1;
    this.draw();
  }

  clear() {
    this.press = null;
    this.parts.find.value = "";
    this.select([]);
  }

  resize() {
    const style = getComputedStyle(document.documentElement);
    const named = { points: "accent", selected: "warm", ink: "ink", soft: "soft", line: "soft" };
    this.colours = Object.fromEntries(
      Object.entries(named).map(([name, of]) => [name, style.getPropertyValue(`--${of}`)]),
    );
    this.shown = this.panels.filter((panel) => panel.box.clientWidth > 0);
    for (const panel of this.shown) {
      panel.lay();
      panel.drawAll(this.colours);
    }
    this.draw();
  }

  // At most once a frame, however fast the mouse is.
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const numbers = [...this.selected.keys()].filter((i) => this.selected[i]);
      for (const panel of this.shown) {
        const rectangle = this.press?.panel === panel ? this.press.rectangle : null;
        panel.drawSelected(this.colours, this.selected, numbers.length > 0, rectangle);
      }
      this.parts.clear.disabled = numbers.length === 0;
      this.parts.count.textContent = `${numbers.length} of ${this.count} marked`;
      fillTable(this.parts.table, this.data, numbers, SHOWN_ROWS);
    });
  }
}

const brush = new Brush(
  document.getElementById("explore"),
  JSON.parse(document.getElementById("architectures").textContent),
);
