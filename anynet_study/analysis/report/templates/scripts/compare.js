"use strict";

// Two recipes or two studies side by side, dataset by dataset.

class Comparison {
  // `data.sides`: name, source (null: none), and a column for each dataset.
  constructor(explorer, parent) {
    this.explorer = explorer;
    const { sides } = explorer.data;
    const bar = element("div", parent, { class: "tools" });
    const options = sides.map(({ name }, k) => [k, name]);
    this.left = choice(bar, "Set", options, 0, () => this.fill());
    this.right = choice(bar, "beside", options, 1, () => this.fill());
    this.around = element("div", parent);
    this.fill();
  }

  fill() {
    const { explorer } = this;
    const { columns, sides, z } = explorer.data;
    const [a, b] = [sides[this.left.value], sides[this.right.value]];
    const both = Object.keys(a.columns).filter((name) => name in b.columns);
    const rho = (x, y) => {
      if (x === undefined || x === y) return "–";
      const { rho: found, low, high } = correlation(columns[x].values, columns[y].values, z);
      return found === null ? "–" : `${written(found)} [${written(low)}, ${written(high)}]`;
    };
    const rows = both.map((name) => {
      const [x, y] = [a.columns[name], b.columns[name]];
      const middle = [x, y].map((k) => written(median(columns[k].values)));
      const withSource = [rho(a.columns[a.source], x), rho(b.columns[b.source], y)];
      return [name, ...middle, ...(a.source || b.source ? withSource : []), rho(x, y)];
    });
    const headings = ["dataset", `median error, ${a.name}`, `median error, ${b.name}`];
    if (a.source || b.source) headings.push(`ρ with the source, ${a.name}`, `ρ with the source, ${b.name}`);
    this.around.replaceChildren();
    const scroll = element("div", this.around, { class: "scroll", tabindex: 0, role: "region" });
    scroll.setAttribute("aria-label", `${a.name} beside ${b.name}`);
    this.table = element("table", scroll);
    fillTable(this.table, [...headings, "ρ of the two"], rows);
    new SortableTable(this.table);
    [...this.table.tBodies[0].rows].forEach((row, k) => {
      const button = element("button", element("td", row), { type: "button" }, "Show");
      button.setAttribute("aria-label", `Show ${both[k]}: ${a.name} against ${b.name}`);
      button.addEventListener("click", () =>
        explorer.choosePair(a.columns[both[k]], b.columns[both[k]], true),
      );
    });
    element("th", this.table.tHead.rows[0], { scope: "col" }, "points");
  }
}
