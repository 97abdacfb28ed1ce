"use strict";

// What the page does once it is loaded.

// Links into a folded part unfold it; printing unfolds all.
function unfold() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target.querySelector(":scope > details.section")?.setAttribute("open", "");
  target.scrollIntoView();
}

for (const table of document.querySelectorAll("table.grid")) new SortableTable(table);
addEventListener("hashchange", unfold);
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details")) each.open = true;
});

const stored = document.getElementById("data");
const explorer = stored && new Explorer(document.getElementById("explore"), JSON.parse(stored.textContent));
if (explorer) {
  const part = (name) => document.querySelector(`[data-part=${name}]`);
  if (part("best")) explorer.best = new BestTable(explorer, part("best"));
  if (part("matrix")) explorer.matrix = new Matrix(explorer, part("matrix"));
  if (part("sides")) explorer.sides = new Comparison(explorer, part("sides"));
  explorer.lay();
  for (const row of document.querySelectorAll("[data-dataset]")) {
    const lines = [row.dataset.dataset, row.getAttribute("aria-label").split(": ").at(-1)];
    const { source } = explorer.data;
    const show = () => explorer.choosePair(explorer.columnOf(source), explorer.columnOf(row.dataset.dataset), true);
    row.addEventListener("pointermove", (event) => explorer.tell(lines, [event.clientX, event.clientY]));
    row.addEventListener("pointerleave", () => explorer.tip.hide());
    row.addEventListener("click", show);
    row.addEventListener("keydown", (event) => event.key === "Enter" && show());
  }
}
unfold();
