// Settings of the search. VitePress sends the functions to the browser as text, so they use nothing
// outside of themselves. check.mjs searches with the same settings.

// Only the last word may be incomplete, because "slo" would find "slow". Pages about a subject come
// first, then policies, options, and commands, then types and histories.
export const searchOptions = {
  fuzzy: 0.1,
  prefix: (term, index, terms) => index === terms.length - 1,
  bm25: { k: 1.2, b: 0.2, d: 0.5 },
  boost: { title: 4, titles: 2, text: 1 },
  boostDocument: (id) =>
    /\/(reference\/(types|functions)|changelog|coverage|source-layout|contributing)/.test(id)
      ? 0.25
      : /\/(reference|examples)\//.test(id) ? 0.5 : 1,
}

// What new users look for, and a page that answers it. It must be among the first five results.
export const expected = [
  ['disaggregation', '/disaggregation.html'],
  ['FP8', '/models.html'],
  ['autoscaling with KEDA', '/autoscaling.html'],
  ['import of an EPP file', '/production.html'],
  ['own trace CSV', '/traces.html'],
  ['TTFT definition', '/results.html'],
  ['calibration', '/calibrating.html'],
  ['SLO attainment', '/results.html'],
  ['prefix-affinity', '/reference/policies/scorers.html'],
  ['router replicas', '/router-replicas.html'],
]
