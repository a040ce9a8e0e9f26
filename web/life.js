// What happened to one request in both runs, and the scores that decided where it went.
import { make } from "./dom.js";
import { duration, moment, number, percent } from "./format.js";
import { phaseNames } from "./run.js";

const classes = ["", "router", "waiting", "prefill", "moving", "decode"];

// The phases of a life, each with its length.
function phasesOf(run, i) {
  const marks = [run.arrival[i], run.routed[i], run.admitted[i], run.first[i], run.moveStart[i],
    run.moveEnd[i], run.end[i]].filter((time) => time < Infinity).sort((a, b) => a - b);
  const list = [];
  for (let k = 1; k < marks.length; k++) {
    const length = marks[k] - marks[k - 1];
    if (length <= 0 || marks[k - 1] >= run.end[i]) continue;
    list.push({ kind: run.phaseAt(i, marks[k - 1]), length });
  }
  return list;
}

function bar(phases, longest) {
  const box = make("div", { class: "life-bar", "aria-hidden": "true" });
  for (const { kind, length } of phases) {
    const part = make("span", { class: classes[kind] });
    part.style.width = length / longest * 100 + "%";
    box.append(part);
  }
  return box;
}

// "arrived at 1.23 s, waiting 1.2 s, prefill 80 ms, decode 2 s, completed"
function story(run, i, phases) {
  const words = [`arrived at ${moment(run.arrival[i])}`];
  for (const { kind, length } of phases) {
    words.push(`${phaseNames[kind]} ${duration(length / 1000)}`);
  }
  const reason = run.requests.reason?.[i];
  words.push(run.requests.state[i].replaceAll("_", " ") + (reason ? ` (${reason})` : ""));
  return words.join(", ");
}

function nameOf(run, place) {
  return run.instances[place] ?? "nowhere";
}

// The candidates of a decision, the best first.
function candidates(run, decision) {
  const scorers = run.scorersOf(decision);
  const rows = [...decision.candidates].sort((a, b) => b[1] - a[1]);
  const head = ["instance", "score", ...scorers.map((one) => `${one.name} × ${number(one.weight)}`),
    "waiting", "running", "KV in use"];
  return make("div", { class: "wide" }, make("table", {},
    make("caption", {}, `${moment(decision.time_us)}: what ${decision.reason} saw`
      + (decision.stage ? ` (${decision.stage})` : "")),
    make("thead", {}, make("tr", {}, head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, rows.map(([place, score, queued, running, kv, ...scores]) => {
      const isChosen = place === decision.chosen;
      const cells = [number(score), ...scorers.map((_, k) => number(scores[k])), number(queued),
        number(running), percent(kv)];
      return make("tr", { class: isChosen ? "chosen" : null },
        make("th", { scope: "row" }, nameOf(run, place).replace(/^instance_/, "")
          + (isChosen ? " (chosen)" : "")),
        cells.map((text) => make("td", {}, text)));
    }))));
}

function decisionParts(run, i) {
  const list = run.decisionsOf(i);
  if (list.length === 0) {
    return make("p", { class: "soft" }, run.told.decisions?.is_complete === false
      ? "Decisions are told of the first requests only: there were too many."
      : "No decision was recorded.");
  }
  return list.map((decision) => decision.candidates?.length > 0 ? candidates(run, decision)
    : make("p", {}, `${moment(decision.time_us)}: ${decision.kind}, ${decision.verdict}`
      + (decision.chosen !== undefined ? `, ${nameOf(run, decision.chosen)}` : "")
      + ` (${decision.reason})`));
}

function column(run, i, longest) {
  const phases = phasesOf(run, i);
  const place = run.instance[i];
  return make("div", {}, make("h3", {}, `${run.label}: `
      + (place === null ? "to no instance" : nameOf(run, place))),
    bar(phases, longest), make("p", {}, story(run, i, phases)), decisionParts(run, i));
}

// Elements that tell of request i of the runs; they have the same requests where they were compared.
export function tell(runs, i) {
  const known = runs.filter((run) => i < run.count);
  if (known.length === 0) return [make("p", {}, "There is no such request.")];
  const longest = Math.max(1, ...known.map((run) => Math.min(run.end[i], run.duration)
    - run.arrival[i]));
  const { requests } = known[0], facts = [
    `${number(requests.prompt_tokens[i])} prompt tokens`,
    `${number(requests.output_tokens[i])} output tokens`,
    ...["tenant", "slo_class", "session", "model"].filter((key) => requests[key]?.[i])
      .map((key) => `${key.replace("_", " ")} ${requests[key][i]}`)];
  return [make("h2", {}, requests.id[i].replace("_", " ")),
    make("p", { class: "soft" }, facts.join(", ")),
    make("div", { class: "lives" }, known.map((run) => column(run, i, longest)))];
}

