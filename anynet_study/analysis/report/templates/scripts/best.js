"use strict";

// The ten best architectures of a dataset, with their specifications to copy; and what is marked.

const BEST = 10;
const LISTED = 50;

// Four digits and k, M or G, as tables write them: 380.7M.
function briefly(value) {
  const text = value.toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 4 });
  return text.replace("K", "k").replace("B", "G");
}

// Numbers of the architectures of the lowest errors of a column, or of the highest.
function extremes(column, count, lowest = true) {
  const known = column.values.flatMap((value, i) => (value === null ? [] : [i]));
  const sign = lowest ? 1 : -1;
  return known.sort((a, b) => sign * (column.values[a] - column.values[b])).slice(0, count);
}

class BestTable {
  constructor(explorer, parent) {
    this.explorer = explorer;
    const bar = element("div", parent, { class: "tools" });
    const { columns } = explorer.data;
    const options = explorer.errorColumns.map((k) => [k, columns[k].name]);
    this.list = choice(bar, "Dataset", options, explorer.errorColumns[0], () => this.fill());
    const all = element("button", bar, { type: "button" }, "Copy all");
    const mark = element("button", bar, { type: "button" }, "Mark them");
    this.said = element("output", bar, { "aria-live": "polite" });
    all.addEventListener("click", () => this.copy(this.best.map((i) => explorer.specification(i))));
    mark.addEventListener("click", () => explorer.marks.set(this.best));
    all.hidden = !explorer.data.skeletons;
    const around = element("div", parent, { class: "scroll", tabindex: 0, role: "region" });
    around.setAttribute("aria-label", "The best architectures");
    this.table = element("table", around);
    this.fill();
  }

  fill() {
    const { explorer, table } = this;
    const { data } = explorer;
    const column = data.columns[this.list.value];
    this.best = extremes(column, BEST);
    const shown = data.columns.filter((each) => !each.error && !each.stage && !/^cumulative/.test(each.name));
    const kinds = [...new Set(data.columns.map(({ stage }) => stage).filter(Boolean))];
    const ofStages = (kind, i) => data.columns.filter(({ stage }) => stage === kind).map(({ values }) => values[i] ?? "–");
    const rows = this.best.map((i) => [
      data.architectures[i],
      written(column.values[i]),
      ...shown.map(({ values }) => (values[i] === null ? "–" : briefly(values[i]))),
      ...kinds.map((kind) => ofStages(kind, i).join(" ")),
    ]);
    const headings = [`error on ${column.name} (%)`, ...shown.map(({ name }) => name)];
    fillTable(table, ["architecture", ...headings, ...kinds.map((kind) => kind.replaceAll("_", " "))], rows);
    new SortableTable(table, false);
    if (!data.skeletons) return;
    element("th", table.tHead.rows[0], { scope: "col" }, "specification");
    this.best.forEach((i, k) => {
      const cell = element("td", table.tBodies[0].rows[k]);
      const button = element("button", cell, { type: "button" }, "Copy");
      button.setAttribute("aria-label", `Copy the specification of ${data.architectures[i]}`);
      button.addEventListener("click", () => this.copy([explorer.specification(i)]));
    });
  }

  // As JSON, one architecture per line, which `anynet-study complexity` reads.
  async copy(specifications) {
    const text = specifications.join("\n");
    const count = specifications.length === 1 ? "1 specification" : `${specifications.length} specifications`;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = element("textarea", document.body, { class: "unseen" });
      field.value = text;
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    this.copied = text;
    this.said.value = `${count} copied`;
  }
}

// A table of the marked architectures, the best on the first dataset first, with medians.
function listMarked(explorer, table, numbers) {
  const { architectures } = explorer.data;
  const columns = explorer.data.columns.filter(({ stage }) => !stage);
  const key = (i) => columns[0].values[i] ?? Infinity;
  const sorted = [...numbers].sort((a, b) => key(a) - key(b));
  const text = (value, { error }) => (error ? written(value) : value === null ? "–" : value.toLocaleString("en-US"));
  const medians = (of) => columns.map((column) => text(median(of(column)), column));
  const rows = [
    ["median of the marked", ...medians(({ values }) => sorted.map((i) => values[i]))],
    ["median of all", ...medians(({ values }) => values)],
    ...sorted.slice(0, LISTED).map((i) => [architectures[i], ...columns.map((each) => text(each.values[i], each))]),
  ];
  if (sorted.length > LISTED) rows.push([`and ${sorted.length - LISTED} more`]);
  fillTable(table, ["architecture", ...columns.map(({ name }) => name)], rows);
}
