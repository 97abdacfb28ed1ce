"use strict";

// The page as a whole: one set of marks that all drawings and tables share.

const EXTREMES = 10; // or a quarter of the architectures, where that is fewer

// Which architectures are marked, by number, in rising order.
class Marks {
  constructor(changed) {
    this.numbers = [];
    this.changed = changed;
  }

  set(numbers) {
    this.numbers = [...new Set(numbers)].sort((a, b) => a - b);
    this.changed();
  }

  toggle(i) {
    const rest = this.numbers.filter((each) => each !== i);
    this.set(rest.length < this.numbers.length ? rest : [...rest, i]);
  }
}

class Explorer {
  constructor(section, data) {
    this.data = data;
    this.section = section;
    this.everything = [...data.architectures.keys()];
    this.errorColumns = [...data.columns.keys()].filter((k) => data.columns[k].error);
    this.parameters = data.columns.filter((column) => column.stage);
    this.hovered = null;
    this.marks = new Marks(() => this.redraw());
    this.tip = new Tip();
    this.views = [];
    const names = ["tools", "pair", "curves", "parallel", "groups", "none", "table", "spoken"];
    this.parts = Object.fromEntries(names.map((name) => [name, section.querySelector(`[data-part=${name}]`)]));
    this.colours = pageColours();
    this.addTools();
    this.addPair();
    this.addCurves();
    this.addParallel();
    this.addGroups();
    this.listen();
    this.lay();
  }

  // Mark the best or worst, or by id; and clear.
  addTools() {
    const { tools } = this.parts;
    const count = Math.max(1, Math.min(EXTREMES, Math.floor(this.everything.length / 4)));
    const options = this.errorColumns.map((k) => [k, this.data.columns[k].name]);
    const end = choice(tools, `Mark the ${count}`, [["lowest", "lowest"], ["highest", "highest"]], "lowest", () => {});
    const dataset = choice(tools, "errors on", options, this.errorColumns[0], () => {});
    const pick = element("button", tools, { type: "button" }, "Mark");
    const find = element("input", element("label", tools, {}, "or ids with "), { type: "search", size: 10 });
    this.clearing = element("button", tools, { type: "button", disabled: "" }, "Clear");
    this.count = element("output", tools, { "aria-live": "polite" });
    pick.addEventListener("click", () =>
      this.marks.set(extremes(this.data.columns[dataset.value], count, end.value === "lowest")),
    );
    find.addEventListener("input", () => {
      const text = find.value.trim().toLowerCase();
      this.marks.set(text ? this.everything.filter((i) => this.data.architectures[i].toLowerCase().includes(text)) : []);
    });
    this.clear = () => {
      find.value = "";
      for (const view of this.views) view.press = null;
      this.marks.set([]);
    };
    this.clearing.addEventListener("click", this.clear);
  }

  // The large scatter plot, of any two columns.
  addPair() {
    const { columns, pair } = this.data;
    const bar = element("div", this.parts.pair, { class: "tools" });
    const options = columns.map(({ label }, k) => [k, label]);
    const lists = ["y", "x"].map((name, k) => choice(bar, name, options, pair[1 - k], () => this.choosePair(lists[1].value, lists[0].value)));
    this.pair = this.add(new Scatter(this, this.parts.pair, ...pair, 340, this.analysed(...pair)));
    this.choosePair = (x, y, there = false) => {
      [lists[0].value, lists[1].value] = [y, x];
      this.pair.show(x, y, this.analysed(x, y));
      if (there) this.parts.pair.scrollIntoView({ block: "center" });
      this.parallel?.show(this.data.columns[y]);
      this.lay();
    };
  }

  addCurves() {
    const names = Object.keys(this.data.curves);
    if (!names.length) return;
    const bar = element("div", this.parts.curves, { class: "tools" });
    const curves = this.add(new Curves(this, this.parts.curves, names[0], 340));
    choice(bar, "Learning curves on", names.map((name) => [name, name]), names[0], (name) => {
      curves.show(name);
      this.lay();
    });
    this.curves = curves;
  }

  addParallel() {
    if (!this.parameters.length) return;
    const columns = [...this.parameters, this.data.columns[this.data.pair[1]]];
    this.parallel = this.add(new Parallel(this, this.parts.parallel, columns, 260));
    this.parallel.show = (error) => {
      this.parallel.columns = error.error ? [...this.parameters, error] : this.parallel.columns;
    };
  }

  addGroups() {
    this.data.groups.forEach(({ title, panels, more }, k) => {
      const group = element("details", this.parts.groups);
      group.open = k === 0 && panels.length <= 6;
      element("summary", group, {}, more ? `${title} (${more} more: choose them above)` : title);
      const grid = element("div", group, { class: "grid" });
      for (const { x, y, note } of panels) this.add(new Scatter(this, grid, x, y, 180, note));
      group.addEventListener("toggle", () => this.lay());
    });
  }

  add(view) {
    this.views.push(view);
    return view;
  }

  listen() {
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.clear();
    });
    const seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const view = this.views.find(({ box }) => box === target);
        view.visible = isIntersecting;
        if (isIntersecting) view.draw();
      }
    }, { rootMargin: "300px" });
    for (const { box } of this.views) seen.observe(box);
    new ResizeObserver(() => this.lay()).observe(this.section);
    addEventListener("beforeprint", () => {
      for (const view of this.views) view.visible = true;
      this.lay();
      for (const view of this.views) view.draw();
    });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.lay());
  }

  lay() {
    this.colours = pageColours();
    for (const view of this.views) view.lay();
    this.matrix?.lay();
    this.redraw();
  }

  // At most once a frame, however fast the mouse is.
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      for (const view of this.views) view.draw();
      const { numbers } = this.marks;
      this.clearing.disabled = !numbers.length;
      this.count.value = `${numbers.length} of ${this.everything.length} marked`;
      this.parts.none.hidden = numbers.length > 0;
      this.parts.table.parentElement.hidden = !numbers.length;
      if (numbers.length) listMarked(this, this.parts.table, numbers);
    });
  }

  // Show what an architecture is and has, and ring it in every drawing; null: none.
  hover(i, view = null, place = [0, 0]) {
    if (i === null) this.tip.hide();
    else this.tell([this.data.architectures[i], ...view.tell(i)], place);
    if (i === this.hovered) return;
    this.hovered = i;
    this.redraw();
  }

  // In the window beside the mouse, and to those who listen.
  tell(lines, place) {
    this.tip.show(lines, place);
    this.parts.spoken.textContent = lines.join(", ");
  }

  // "error on x (%): 20.10 (20.00, 20.20)": replicates in brackets.
  valueOf(column, i) {
    return `${column.label}: ${column.error ? this.errorText(column, i) : column.values[i]}`;
  }

  errorText(column, i) {
    const each = column.replicates?.[i];
    const value = written(column.values[i]);
    return each ? `${value} (replicates ${each.map((error) => written(error)).join(", ")})` : value;
  }

  // The values of each stage, by the field of an architecture.
  stages(i) {
    const fields = {};
    for (const { stage, values } of this.parameters) {
      if (values[i] !== null) fields[stage] = [...(fields[stage] ?? []), values[i]];
    }
    return fields;
  }

  shape(i) {
    const fields = Object.entries(this.stages(i));
    return fields.map(([name, values]) => `${name.replace("_", " ")}: ${values.join(", ")}`);
  }

  // As `anynet-study complexity` reads it.
  specification(i) {
    const { skeletons, skeleton } = this.data;
    return JSON.stringify({ ...this.stages(i), ...skeletons[skeleton[i]] });
  }

  // What the analysis found of two columns; "" for a pair that it did not make.
  analysed(x, y) {
    const { matrix, letter } = this.data;
    const [a, b] = [x, y].map(Number).sort((one, other) => one - other);
    if (!matrix || a === b || b >= matrix.names.length) return "";
    return saidCorrelation(pairOf(matrix, a, b)).replace("ρ", letter);
  }

  columnOf(dataset) {
    return this.data.columns.findIndex(({ error, name }) => error && name === dataset);
  }
}
