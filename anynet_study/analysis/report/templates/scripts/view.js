"use strict";

// What all drawings of architectures share: two canvases, hovering, brushing, and the keyboard.
//
// All architectures lie on the back canvas, in a quiet colour while some are marked; axes, marked
// ones, the one under the mouse and the rectangle being drawn are on the front one. A kind of view
// says where things are: `fit`, `trace`, `axes`, `within`, `nearest`, `place`, `tell` and `order`.

const FEW = 2000; // beyond this, points are squares, which draw faster
const NEAR = 14; // pixels from a point that count as on it
const DRAG = 4; // pixels from which on a press is a drag

class View {
  constructor(explorer, parent, height) {
    this.explorer = explorer;
    this.marks = explorer.marks;
    this.figure = element("figure", parent, { class: "view" });
    this.box = element("div", this.figure, { class: "plot" });
    this.box.style.height = `${height}px`;
    this.back = element("canvas", this.box);
    this.front = element("canvas", this.box, { tabindex: 0, role: "img" });
    this.caption = element("figcaption", this.figure);
    this.press = null;
    this.visible = true;
    this.listen();
  }

  listen() {
    const { front } = this;
    front.addEventListener("pointerdown", (event) => this.start(event));
    front.addEventListener("pointermove", (event) => this.move(event));
    front.addEventListener("pointerup", () => this.stop());
    front.addEventListener("pointercancel", () => this.abandon());
    front.addEventListener("pointerleave", () => this.explorer.hover(null));
    front.addEventListener("blur", () => this.explorer.hover(null));
    front.addEventListener("keydown", (event) => this.key(event));
  }

  // Fit the canvases to the page, and what is drawn into them.
  lay() {
    this.width = this.box.clientWidth;
    this.height = this.box.clientHeight;
    for (const canvas of [this.back, this.front]) {
      canvas.width = Math.round(this.width * devicePixelRatio);
      canvas.height = Math.round(this.height * devicePixelRatio);
      canvas.getContext("2d").scale(devicePixelRatio, devicePixelRatio);
    }
    if (this.width) this.fit();
    this.drawnQuiet = null;
  }

  draw() {
    if (!this.width || !this.visible) return;
    const { colours } = this.explorer;
    const quiet = this.marks.numbers.length > 0;
    if (quiet !== this.drawnQuiet) {
      const pen = this.back.getContext("2d");
      pen.clearRect(0, 0, this.width, this.height);
      this.trace(pen, this.explorer.everything, { colour: quiet ? colours.quiet : colours.points });
      this.drawnQuiet = quiet;
    }
    const pen = this.front.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    this.axes(pen, colours);
    this.trace(pen, this.marks.numbers, { colour: colours.marked, edge: colours.ink, large: true });
    const { hovered } = this.explorer;
    if (hovered !== null) this.trace(pen, [hovered], { colour: colours.ink, large: true, ring: true });
    if (this.press?.rectangle) {
      const [x, y, toX, toY] = this.press.rectangle;
      pen.strokeStyle = colours.ink;
      pen.setLineDash([4, 3]);
      pen.strokeRect(x, y, toX - x, toY - y);
      pen.setLineDash([]);
    }
    this.said();
  }

  // What a kind of view writes below itself when marks change.
  said() {}

  // The mouse, a pen or a finger.
  start(event) {
    if (event.button) return;
    const adds = event.shiftKey || event.ctrlKey || event.metaKey;
    const old = this.marks.numbers;
    this.press = { from: [event.offsetX, event.offsetY], before: adds ? old : [], old };
    this.front.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (!this.press) {
      const i = this.nearest(event.offsetX, event.offsetY);
      this.explorer.hover(i < 0 ? null : i, this, [event.clientX, event.clientY]);
      return;
    }
    const [x, y] = this.press.from;
    if (Math.hypot(event.offsetX - x, event.offsetY - y) < DRAG && !this.press.rectangle) return;
    this.press.rectangle = [x, y, event.offsetX, event.offsetY];
    this.marks.set([...this.press.before, ...this.within(this.press.rectangle)]);
  }

  stop() {
    if (!this.press) return;
    const { from, before, rectangle } = this.press;
    this.press = null;
    const i = this.nearest(...from);
    if (rectangle) this.explorer.redraw();
    else this.marks.set(i < 0 ? before : [...before, i]);
  }

  abandon() {
    if (!this.press) return;
    const { old } = this.press;
    this.press = null;
    this.marks.set(old);
  }

  // Arrows go from one architecture to the next, Enter or the space bar marks it.
  key(event) {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
    const { hovered } = this.explorer;
    if (event.key in steps) {
      const order = this.order();
      if (!order.length) return;
      const at = hovered === null ? -1 : order.indexOf(hovered);
      const to = at < 0 ? 0 : (at + steps[event.key] + order.length) % order.length;
      const { x, y } = this.front.getBoundingClientRect();
      const [left, top] = this.place(order[to]);
      this.explorer.hover(order[to], this, [x + left, y + top]);
    } else if ((event.key === "Enter" || event.key === " ") && hovered !== null) {
      this.marks.toggle(hovered);
    } else return;
    event.preventDefault();
  }
}

// An element inside `parent`, with attributes and a text.
function element(name, parent = null, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

// A labelled list of choices inside `parent`: pairs of value and text.
function choice(parent, label, options, value, onChange) {
  const around = element("label", parent, {}, `${label} `);
  const list = element("select", around);
  for (const [key, text] of options) list.append(new Option(text, key));
  list.value = value;
  list.addEventListener("change", () => onChange(list.value));
  return list;
}
