// One side of the race: which run, its figures, its picture.
import { make } from "./dom.js";
import { change, duration, number, percent } from "./format.js";
import { Stage } from "./stage.js";

// Name, text, and the figure whose change against the other run is told.
const shown = [
  ["TTFT mean", (figures) => duration(figures.ttft_ms_mean), "ttft_ms_mean"],
  ["TTFT p99", (figures) => duration(figures.ttft_ms_p99), "ttft_ms_p99"],
  ["ITL mean", (figures) => duration(figures.itl_ms_mean), "itl_ms_mean"],
  ["E2E mean", (figures) => duration(figures.e2e_ms_mean), "e2e_ms_mean"],
  ["tokens/s", (figures) => number(figures.tokens_per_sec), "tokens_per_sec"],
  ["in cache", (figures) => percent(figures.cache_hit_rate_overall)],
  ["completed", (figures) => `${number(figures.completed)} of ${number(figures.arrived)}`],
];

export class Lane {
  run = null;
  #stage;
  #canvas = make("canvas", { class: "stage", role: "img" });
  #choice;
  #figures = make("dl", { class: "figures" });
  #hash = make("code");

  // name is "first" or "second"; changed() is called when another run was chosen, select(i) when
  // request i was clicked.
  constructor(place, name, changed, select) {
    this.#choice = make("select", { "aria-label": `The ${name} run`, on: { change: changed } });
    this.#stage = new Stage(this.#canvas, select);
    place.append(make("section", { class: `lane ${name}` },
      make("div", { class: "bar" }, this.#choice, make("span", { class: "push" }),
        make("span", { class: "soft" }, "result hash ", this.#hash)),
      this.#figures, this.#canvas));
  }

  // What can be chosen, and what is at first.
  offer(runs, chosen) {
    this.#choice.replaceChildren(...runs.map((run, k) => new Option(`${k + 1}: ${run.label}`, k)));
    this.#choice.value = chosen;
  }

  get chosen() {
    return Number(this.#choice.value);
  }

  // base is the run that changes are told against, if any.
  show(run, base = null) {
    this.run = run;
    this.#stage.run = run;
    this.#hash.textContent = run.hash;
    this.#figures.replaceChildren(...shown.map(([name, text, key]) => make("div", {},
      make("dt", {}, name), make("dd", {}, text(run.figures), key && base && base !== run
        ? make("small", { class: "soft" }, ` ${change(base.figures[key], run.figures[key])}`)
        : ""))));
  }

  draw(time, speed, selected) {
    const sums = this.#stage.draw(time, speed, selected);
    this.#canvas.setAttribute("aria-label", `${this.run.label}: ${sums.running} requests running, `
      + `${sums.waiting} waiting`);
  }
}
