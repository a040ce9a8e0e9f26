// Names of runs by what they differ in.

const longest = 60;

const shortened = (text) => (text.length <= longest ? text : text.slice(0, longest - 1) + "…");

// The settings that not all runs have alike; what all say of routing is in their names already.
function differing(runs) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.settings)))];
  return names.filter((name) => name !== "routing" && name !== "step times" && name !== "KV cache"
    && new Set(runs.map((run) => run.settings[name])).size > 1);
}

// A name for each run: its label; of runs with the same label also the settings that differ.
export function labelsOf(runs) {
  return runs.map((run) => {
    const alike = runs.filter((other) => other.label === run.label);
    if (alike.length === 1) return run.label;
    const words = differing(alike).map((name) => (run.settings[name] === undefined
      ? `without ${name}` : `${name}: ${run.settings[name]}`));
    return words.length === 0 ? run.label : `${run.label}, ${shortened(words.join("; "))}`;
  });
}
