// Numbers as people read them.

// 12345.678 as "12,346", 0.01234 as "0.0123", nothing as "–".
export function number(value) {
  if (value === null || value === undefined) return "–";
  const digits = Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 }
    : { maximumSignificantDigits: 3 };
  return value.toLocaleString("en-US", digits);
}

// Milliseconds as "85.3 ms" or "1.2 s".
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  return ms >= 1000 ? (ms / 1000).toFixed(ms >= 10000 ? 1 : 2) + " s" : number(ms) + " ms";
}

export function percent(share) {
  return share === null || share === undefined ? "–" : (share * 100).toFixed(1) + " %";
}

// The change from one value to another, with its sign: "+12.3 %", "−4.0 %"; nothing without both.
export function change(from, to) {
  if (!(from > 0) || to === null || to === undefined) return "";
  const percents = (to / from - 1) * 100;
  const digits = Math.abs(percents) >= 100 ? 0 : 1, size = Math.abs(percents).toFixed(digits);
  if (Number(size) === 0) return "±0 %";
  return `${percents > 0 ? "+" : "−"}${size} %`;
}

// A time of a run.
export function moment(us) {
  return (us / 1e6).toFixed(2) + " s";
}
