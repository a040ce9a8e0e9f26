// A run as the program tells it (lua/blis/playground/run.lua), made ready to be asked what is where
// at a time. Times are microseconds; a time that never came is Infinity.

export const phase = { none: 0, router: 1, waiting: 2, prefill: 3, moving: 4, decode: 5, ended: 6 };

export const phaseNames = ["not there yet", "at the router", "waiting", "prefill", "KV in transfer",
  "decode", "ended"];

function times(list, count) {
  const column = new Float64Array(count).fill(Infinity);
  list?.forEach((value, i) => { if (value !== null) column[i] = value; });
  return column;
}

// When each request was routed: at its arrival, or when it was let in.
function routedTimes(requests, decisions, count) {
  const routed = times(requests.arrival_us, count);
  for (let i = 0; i < count; i++) routed[i] += requests.gateway_us[i];
  for (const decision of decisions) {
    if (decision.kind === "routing" && decision.stage !== "decode") {
      routed[decision.request] = decision.time_us;
    }
  }
  return routed;
}

// A place in the batch for each request, the lowest that is free from its admission to its end, so
// that pictures of it stand still.
function batchPlaces(run) {
  const places = new Int32Array(run.count).fill(-1);
  const order = [...places.keys()].filter((i) => run.admitted[i] < Infinity)
    .sort((a, b) => run.admitted[a] - run.admitted[b]);
  const freeFrom = run.instances.map(() => []);
  for (const i of order) {
    const list = freeFrom[run.instance[i]];
    if (!list) continue;
    let place = list.findIndex((time) => time <= run.admitted[i]);
    if (place < 0) place = list.length;
    list[place] = run.end[i];
    places[i] = place;
  }
  return places;
}

export class Run {
  constructor(json) {
    const told = JSON.parse(json), requests = told.requests;
    this.told = told;
    this.label = told.label;
    this.hash = told.hash;
    this.settings = told.settings ?? {};
    this.figures = told.figures;
    this.instances = told.instances;
    this.duration = told.duration_us;
    this.requests = requests;
    this.count = requests.id.length;
    this.decisions = told.decisions?.list ?? [];
    this.arrival = times(requests.arrival_us, this.count);
    this.routed = routedTimes(requests, this.decisions, this.count);
    this.admitted = times(requests.admitted_us, this.count);
    this.first = times(requests.first_us, this.count);
    this.end = times(requests.end_us, this.count);
    this.moveStart = times(requests.transfer_start_us, this.count);
    this.moveEnd = times(requests.transfer_end_us, this.count);
    this.instance = requests.instance;
    this.prefillInstance = requests.prefill_instance;
    this.places = batchPlaces(this);
  }

  // Where a request is in its life.
  phaseAt(i, time) {
    if (time < this.arrival[i]) return phase.none;
    if (time >= this.end[i]) return phase.ended;
    if (time < this.routed[i]) return phase.router;
    if (time < this.admitted[i]) return phase.waiting;
    if (time >= this.moveStart[i] && time < this.moveEnd[i]) return phase.moving;
    return time < this.first[i] ? phase.prefill : phase.decode;
  }

  // The place of the instance that has a request; null while none does.
  instanceAt(i, time) {
    const first = this.prefillInstance[i];
    if (first !== null && time < Math.min(this.moveStart[i], this.end[i])) return first;
    return this.instance[i];
  }

  // Share of the KV blocks in use at an instance, where it was recorded.
  kvAt(instance, time) {
    const series = this.told.series, list = series?.kv_utilization[instance];
    if (!list || list.length === 0) return null;
    let low = 0, high = Math.min(series.t_us.length, list.length) - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (series.t_us[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return series.t_us[low] <= time ? list[low] : 0;
  }

  // Requests in the system at evenly spread times.
  inSystem(points, duration) {
    const changes = new Int32Array(points + 1);
    const at = (time) => Math.min(points, Math.max(0, Math.ceil(time / duration * (points - 1))));
    for (let i = 0; i < this.count; i++) {
      changes[at(this.arrival[i])]++;
      if (this.end[i] < Infinity) changes[at(this.end[i])]--;
    }
    let sum = 0;
    return Array.from(changes.subarray(0, points), (change) => sum += change);
  }

  // The decisions about a request, in their order.
  decisionsOf(i) {
    return this.decisions.filter((decision) => decision.request === i);
  }

  scorersOf(decision) {
    const told = this.told.decisions;
    return decision.stage === "prefill" ? told.prefill_scorers : told.scorers;
  }
}
