// Two runs on one clock.
import { byId } from "./dom.js";
import { Clock } from "./clock.js";
import { labelsOf } from "./labels.js";
import { Lane } from "./lane.js";
import { tell } from "./life.js";

export class Race {
  #runs = [];
  #selected = null;
  #isDue = false;
  #clock = new Clock(() => this.#draw());
  #lanes = ["first", "second"].map((name) => new Lane(byId("lanes"), name, () => this.#choose(),
    (i) => this.select(i)));

  constructor() {
    byId("pick").addEventListener("submit", (event) => {
      event.preventDefault();
      const number = byId("number").valueAsNumber;
      if (!Number.isNaN(number)) this.select(number);
    });
    window.addEventListener("resize", () => this.#draw());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
      () => this.#draw());
  }

  // Shows the first and the last of the runs of a script, and plays them.
  set runs(runs) {
    this.#runs = runs;
    labelsOf(runs).forEach((label, i) => { runs[i].label = label; });
    byId("race").hidden = runs.length === 0;
    byId("lanes").classList.toggle("lonely", runs.length === 1);
    if (runs.length === 0) return;
    this.#lanes[0].offer(runs, 0);
    this.#lanes[1].offer(runs, runs.length - 1);
    this.#selected = null;
    byId("told").replaceChildren();
    this.#choose();
    if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) this.#clock.play();
  }

  select(i) {
    this.#selected = i;
    byId("number").value = i;
    byId("told").replaceChildren(...tell(this.#shown(), i));
    this.#draw();
  }

  #shown() {
    return (this.#runs.length === 1 ? this.#lanes.slice(0, 1) : this.#lanes)
      .map((lane) => lane.run);
  }

  #choose() {
    const [first, second] = this.#lanes;
    first.show(this.#runs[first.chosen]);
    second.show(this.#runs[second.chosen], first.run);
    this.#clock.runs = this.#shown();
    if (this.#selected !== null) this.select(this.#selected);
  }

  // At most once for each picture of the screen.
  #draw() {
    if (this.#isDue || this.#runs.length === 0) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#clock.draw();
      const lanes = this.#runs.length === 1 ? this.#lanes.slice(0, 1) : this.#lanes;
      for (const lane of lanes) lane.draw(this.#clock.time, this.#clock.speed, this.#selected);
    });
  }
}
