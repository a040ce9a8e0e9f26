// The time of the race: plays, stands still, is dragged. Tells whoever listens.
import { byId, colour, fitted } from "./dom.js";
import { moment, number } from "./format.js";

const steps = 1000, points = 300, speeds = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 500, 2000];

// A run should be over in about so many seconds.
const wanted_s = 25;

export class Clock {
  time = 0;
  speed = 1;
  #end = 1;
  #last = null; // when the last picture was, while it plays
  #curves = [];
  #most = 1; // of all curves
  #listener;
  #slider = byId("time");
  #button = byId("play");
  #speeds = byId("speed");

  constructor(listener) {
    this.#listener = listener;
    this.#slider.addEventListener("input", () => {
      this.time = this.#slider.value / steps * this.#end;
      this.#show();
    });
    this.#button.addEventListener("click", () => this.isPlaying ? this.pause() : this.play());
    this.#speeds.addEventListener("change", () => { this.speed = Number(this.#speeds.value); });
    for (const speed of speeds) this.#speeds.add(new Option(speed + " ×", speed));
  }

  get isPlaying() {
    return this.#last !== null;
  }

  // Begins anew with these runs.
  set runs(runs) {
    this.pause();
    this.#end = Math.max(1, ...runs.map((run) => run.duration));
    this.#curves = runs.map((run) => run.inSystem(points, this.#end));
    const seconds = this.#end / 1e6;
    this.speed = speeds.find((speed) => seconds / speed <= wanted_s) ?? speeds.at(-1);
    this.#speeds.value = this.speed;
    this.time = 0;
    this.#most = Math.max(1, ...this.#curves.flat());
    byId("most").textContent = ` (at most ${number(this.#most)})`;
    this.#show();
  }

  play() {
    if (this.time >= this.#end) this.time = 0;
    this.#last = performance.now();
    this.#button.textContent = "Pause";
    requestAnimationFrame((now) => this.#tick(now));
  }

  pause() {
    this.#last = null;
    this.#button.textContent = "Play";
  }

  #tick(now) {
    if (!this.isPlaying) return;
    this.time = Math.min(this.#end, this.time + Math.max(0, now - this.#last) * 1000 * this.speed);
    this.#last = now;
    if (this.time >= this.#end) this.pause();
    this.#show();
    requestAnimationFrame((next) => this.#tick(next));
  }

  #show() {
    this.#slider.value = this.time / this.#end * steps;
    this.#slider.setAttribute("aria-valuetext", moment(this.time));
    byId("now").textContent = `${moment(this.time)} of ${moment(this.#end)}`;
    this.#listener();
  }

  // The requests in the system over time, and a line at the time.
  draw() {
    const { context, width, height } = fitted(byId("waits"));
    context.lineWidth = 1.5;
    this.#curves.forEach((curve, k) => {
      context.strokeStyle = colour(k === 0 ? "first" : "second");
      context.beginPath();
      curve.forEach((value, i) => context.lineTo(i / (points - 1) * width,
        height - 2 - value / this.#most * (height - 4)));
      context.stroke();
    });
    context.fillStyle = colour("ink");
    context.fillRect(this.time / this.#end * width - 0.5, 0, 1, height);
  }
}
