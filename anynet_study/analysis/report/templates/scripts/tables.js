"use strict";

// Tables that sort by a click on a heading, are filtered by a text, and draw their intervals.

const FILTERED = 9; // rows from which on a table has a filter
const BAR = 56; // pixels of a drawn interval
const BESIDE = 4; // drawn intervals of a row that have room beside their numbers; more are below

// The number that a cell begins with, such as "1,234", "380.7M", "−0.24 [−0.65, 0.15]", "<0.001" or "87%".
function numberOf(text) {
  const found = text.replaceAll("−", "-").replaceAll(",", "").match(/^[<>]?\s*(-?\d+(\.\d+)?)([kMGT]\b)?/);
  return found ? Number(found[1]) * 1000 ** " kMGT".indexOf(found[3] || " ") : null;
}

function isNumeric(cells) {
  const known = cells.filter((text) => text && text !== "–");
  return known.length > 0 && known.every((text) => numberOf(text) !== null && !/^[0-9a-f]{16}$/.test(text));
}

class SortableTable {
  constructor(table, filtered = true) {
    this.body = table.tBodies[0];
    this.rows = [...this.body.rows];
    this.heads = [...table.tHead.rows[0].cells];
    this.heads.forEach((head, k) => {
      const button = element("button", null, { type: "button", class: "sort" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => this.sort(k));
    });
    table.classList.toggle("crowded", this.drawIntervals() > BESIDE);
    if (filtered && this.rows.length >= FILTERED) this.addFilter(table);
  }

  // Ascending, and descending by the next click; cells without a value come last.
  sort(k) {
    const head = this.heads[k];
    const rising = head.getAttribute("aria-sort") !== "ascending";
    this.heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const texts = new Map(this.rows.map((row) => [row, row.cells[k].textContent.trim()]));
    const numeric = isNumeric([...texts.values()]);
    const key = (row) => (numeric ? numberOf(texts.get(row)) : texts.get(row) || null);
    const keys = new Map(this.rows.map((row) => [row, key(row)]));
    const sign = rising ? 1 : -1;
    this.body.append(
      ...[...this.rows].sort((a, b) => {
        const [x, y] = [keys.get(a), keys.get(b)];
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (numeric ? x - y : x.localeCompare(y, undefined, { numeric: true }));
      }),
    );
  }

  addFilter(table) {
    const bar = element("div", null, { class: "filter" });
    const label = element("label", bar, {}, "Filter rows ");
    const field = element("input", label, { type: "search", spellcheck: "false", size: 14 });
    const count = element("output", bar, { "aria-live": "polite" });
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const row of this.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      count.value = field.value ? `${shown} of ${this.rows.length} rows` : "";
    });
    table.parentElement.before(bar);
  }

  // An interval in a cell, "0.81 [0.62, 0.91]", is drawn beside it, on one scale for a column.
  // Returns how many columns have any.
  drawIntervals() {
    return this.heads.filter((head, k) => {
      const found = this.rows.map((row) => {
        const ends = row.cells[k]?.textContent.replaceAll("−", "-").replaceAll(",", " ");
        const match = ends?.match(/^(-?[\d.]+) \[(-?[\d.]+)\s+(-?[\d.]+)\]$/);
        return match ? match.slice(1).map(Number) : null;
      });
      const known = found.filter(Boolean);
      const range = [Math.min(0, ...known.map((each) => each[1])), Math.max(...known.map((each) => each[2]))];
      if (known.length < 2 || range[0] === range[1]) return false; // such as 0.00 [0.00, 0.00] alone
      const across = scale(range, 3, BAR - 3);
      found.forEach((each, row) => each && this.rows[row].cells[k].append(drawnInterval(each, across)));
      return true;
    }).length;
  }
}

function drawnInterval(ends, across) {
  const [at, low, high] = ends.map((value) => across(value).toFixed(1));
  const zero = across(0).toFixed(1);
  const around = element("span");
  around.innerHTML = `<svg class="interval" width="${BAR}" height="10" aria-hidden="true">
    <line class="zero" x1="${zero}" x2="${zero}" y1="0" y2="10"/>
    <line x1="${low}" x2="${high}" y1="5" y2="5"/><circle cx="${at}" cy="5" r="2"/></svg>`;
  return around.firstChild;
}

// Fill a table anew: headings, and rows of texts of which the first is a heading.
function fillTable(table, headings, rows) {
  table.replaceChildren();
  const head = element("tr", element("thead", table));
  headings.forEach((text, k) => element("th", head, { scope: "col", class: k ? "" : "name" }, text));
  const body = element("tbody", table);
  for (const [first, ...cells] of rows) {
    const row = element("tr", body);
    element("th", row, { scope: "row", class: "name" }, first);
    for (const cell of cells) element("td", row, {}, cell);
  }
}
