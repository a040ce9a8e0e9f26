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

// A time of a run.
export function moment(us) {
  return (us / 1e6).toFixed(2) + " s";
}
