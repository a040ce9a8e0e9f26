// One run as a picture: a box for each instance, in it its batch and, below, its queue. A request is
// a dot; new ones come from the router on top.
import { colour, fitted } from "./dom.js";
import { phase } from "./run.js";

const gap = 10, title = 20, inset = 8, flight_ms = 150, routerHeight = 22;

const colours = {
  [phase.router]: "soft", [phase.waiting]: "waiting", [phase.prefill]: "prefill",
  [phase.moving]: "moving", [phase.decode]: "decode",
};

const mayMove = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;

// Columns of boxes, wide enough for their names and about twice as wide as high.
function columnsFor(count, width) {
  return Math.max(1, Math.min(count, Math.floor(width / 140), Math.ceil(Math.sqrt(count * 3))));
}

// All of the picture, which must not push the rest off the screen.
function heightFor(count, width) {
  const rows = Math.ceil(count / columnsFor(count, width));
  return Math.min(520, Math.max(170, routerHeight + rows * 140));
}

export class Stage {
  #canvas;
  #run = null;
  #dots = []; // of the last picture: { i, x, y }
  #spacing = 9;

  // select(i) is called for a request that was clicked.
  constructor(canvas, select) {
    this.#canvas = canvas;
    canvas.addEventListener("click", (event) => {
      const i = this.#nearest(event.offsetX, event.offsetY);
      if (i !== null) select(i);
    });
  }

  set run(run) {
    this.#run = run;
  }

  #nearest(x, y) {
    let best = null, least = 12 * 12;
    for (const dot of this.#dots) {
      const distance = (dot.x - x) ** 2 + (dot.y - y) ** 2;
      if (distance < least) [best, least] = [dot.i, distance];
    }
    return best;
  }

  #boxes(width, height) {
    const count = this.#run.instances.length, columns = columnsFor(count, width);
    const rows = Math.ceil(count / columns);
    const w = (width - gap * (columns - 1)) / columns;
    const h = (height - routerHeight - gap * (rows - 1)) / rows;
    return this.#run.instances.map((name, k) => ({
      name, w, h, x: (k % columns) * (w + gap),
      y: routerHeight + Math.floor(k / columns) * (h + gap), running: [], waiting: [],
    }));
  }

  // Draws the time; speed is how many microseconds of the run pass in one of the clock.
  draw(time, speed, selected) {
    if (!this.#run) return { running: 0, waiting: 0 };
    this.#canvas.style.height =
      heightFor(this.#run.instances.length, this.#canvas.clientWidth) + "px";
    const { context, width, height } = fitted(this.#canvas);
    const boxes = this.#boxes(width, height), run = this.#run;
    const ink = {};
    for (const name of ["panel", "line", "ink", "soft", ...Object.values(colours)]) {
      ink[name] = colour(name);
    }
    const sums = this.#fill(boxes, time);
    context.font = "11px system-ui, sans-serif";
    this.#dots = [];
    boxes.forEach((box, k) => this.#drawBox(context, ink, box, run.kvAt(k, time)));
    this.#fit(boxes);
    for (const box of boxes) this.#place(box);
    this.#drawRouter(context, ink, width, sums.router);
    this.#drawDots(context, ink, { time, speed, selected, from: width / 2 });
    return sums;
  }

  // Puts requests into the boxes where they are.
  #fill(boxes, time) {
    const run = this.#run, sums = { running: 0, waiting: 0, router: 0 };
    for (let i = 0; i < run.count && run.arrival[i] <= time; i++) {
      const where = run.phaseAt(i, time);
      if (where === phase.ended) continue;
      const box = boxes[run.instanceAt(i, time)];
      if (where === phase.router || !box) {
        sums.router++;
      } else if (where === phase.waiting) {
        sums.waiting++;
        box.waiting.push({ i, where });
      } else {
        sums.running++;
        box.running.push({ i, where });
      }
    }
    return sums;
  }

  #drawBox(context, ink, box, kv) {
    context.fillStyle = ink.panel;
    context.beginPath();
    context.roundRect(box.x, box.y, box.w, box.h, 6);
    context.fill();
    context.textAlign = "left";
    context.fillStyle = ink.ink;
    context.fillText(box.name.replace("instance_", "instance "), box.x + inset, box.y + 14,
      box.w * 0.5);
    context.textAlign = "right";
    context.fillStyle = ink.soft;
    const waiting = box.waiting.length > 0 ? ` + ${box.waiting.length}` : "";
    context.fillText(box.running.length + waiting, box.x + box.w - inset, box.y + 14);
    if (kv === null) return;
    const length = box.w - 2 * inset, y = box.y + box.h - 8;
    context.fillStyle = ink.line;
    context.fillRect(box.x + inset, y, length, 3);
    context.fillStyle = ink.soft;
    context.fillRect(box.x + inset, y, length * kv, 3);
  }

  // One spacing of dots for all boxes: the widest at which the fullest one has room. It shrinks at
  // once and grows slowly, or dots would jump.
  #fit(boxes) {
    const room = (box, spacing) => Math.max(1, Math.floor((box.w - 2 * inset) / spacing))
      * Math.floor((box.h - title - 16 - spacing) / spacing);
    const need = (box) => this.#highest(box) + box.waiting.length;
    let spacing = Math.min(11, this.#spacing + 0.05);
    while (spacing > 3 && boxes.some((box) => need(box) > room(box, spacing))) spacing -= 0.25;
    this.#spacing = spacing;
  }

  #highest(box) {
    let highest = 0;
    for (const { i } of box.running) highest = Math.max(highest, this.#run.places[i] + 1);
    return Math.max(highest, box.running.length);
  }

  // The batch from the top, every request at its place; the queue behind it.
  #place(box) {
    const spacing = this.#spacing;
    const columns = Math.max(1, Math.floor((box.w - 2 * inset) / spacing));
    const put = (dot, place) => {
      dot.x = box.x + inset + (place % columns + 0.5) * spacing;
      dot.y = box.y + title + (Math.floor(place / columns) + 0.5) * spacing;
      if (dot.y < box.y + box.h - 12) this.#dots.push(dot);
    };
    for (const dot of box.running) put(dot, this.#run.places[dot.i]);
    const rows = Math.ceil(this.#highest(box) / columns);
    box.waiting.forEach((dot, k) => put(dot, rows * columns + k));
  }

  #drawRouter(context, ink, width, held) {
    context.fillStyle = ink.soft;
    context.textAlign = "center";
    context.fillText(held > 0 ? `router, ${held} held back` : "router", width / 2, 12);
  }

  #drawDots(context, ink, { time, speed, selected, from }) {
    const radius = Math.max(1.2, this.#spacing * 0.4), run = this.#run;
    const flight = mayMove ? flight_ms * 1000 * speed : 0;
    for (const dot of this.#dots) {
      const since = time - run.routed[dot.i];
      let { x, y } = dot;
      if (since < flight) {
        const way = 1 - (1 - since / flight) ** 3;
        x = from + (x - from) * way;
        y = 14 + (y - 14) * way;
      }
      context.fillStyle = ink[colours[dot.where]];
      context.beginPath();
      context.arc(x, y, radius, 0, 7);
      context.fill();
      if (dot.i === selected) {
        context.strokeStyle = ink.ink;
        context.lineWidth = 2;
        context.beginPath();
        context.arc(x, y, radius + 3, 0, 7);
        context.stroke();
      }
    }
  }
}
