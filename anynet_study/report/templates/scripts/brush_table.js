"use strict";

// The table of what is selected: ids and numbers, best on the first dataset first, with medians.

function median(values) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const middle = known.length >> 1;
  if (!known.length) return null;
  return known.length % 2 ? known[middle] : (known[middle - 1] + known[middle]) / 2;
}

function written(value, column) {
  if (value === null) return "–";
  return column.error ? value.toFixed(2) : String(value);
}

function addRow(body, head, cells) {
  const row = body.insertRow();
  const name = document.createElement("th");
  name.scope = "row";
  name.className = "name";
  name.textContent = head;
  row.append(name);
  for (const cell of cells) row.insertCell().textContent = cell;
}

function fillTable(table, { architectures, columns }, numbers, most) {
  table.replaceChildren();
  if (!numbers.length) {
    table.createCaption().textContent = "Nothing is marked yet: its ids and errors will be listed here.";
    return;
  }
  const key = (i) => columns[0].values[i] ?? Infinity;
  const rows = [...numbers].sort((a, b) => key(a) - key(b));
  const head = table.createTHead().insertRow();
  for (const title of ["architecture", ...columns.map((column) => column.name)]) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = title;
    head.append(cell);
  }
  head.cells[0].className = "name";
  const body = table.createTBody();
  const medians = (of) => columns.map((column) => written(median(of(column)), column));
  addRow(body, "median of the marked", medians((column) => rows.map((i) => column.values[i])));
  addRow(body, "median of all", medians((column) => column.values));
  for (const i of rows.slice(0, most)) {
    addRow(body, architectures[i], columns.map((column) => written(column.values[i], column)));
  }
  if (rows.length > most) addRow(body, `and ${rows.length - most} more`, []);
}
