#include "policy/pipeline/best_search.h"

#include <math.h>

#include "base/invariant.h"

enum { FAN = BLIS_EXTREMES_FAN };

/* Returns a tree of the query; the trees of all columns have the same shape. */
static const blis_extremes *shape_of(const blis__best_query *query) {
  return query->terms[0].extremes;
}

/*
 * Computes an upper bound of the candidates' sums for each part of a node. On level 1, the parts
 * are candidates and the bounds are their sums. Returns the number of parts; the remaining sums are
 * set below all others.
 */
static uint32_t sum_parts(const blis__best_query *query, uint32_t level, uint32_t node,
                          double *sums) {
  uint32_t first = blis_extremes_first(node);
  uint32_t count = blis_extremes_end(shape_of(query), level, node) - first;
  for (uint32_t i = 0; i < FAN; i++) {
    sums[i] = 0;
  }
  for (uint32_t i = count; i < FAN; i++) {
    sums[i] = -INFINITY;
  }
  for (size_t t = 0; t < query->count; t++) {
    const blis__term *term = &query->terms[t];
    const double *least = term->extremes->levels[level - 1].least + first;
    blis__column_rule_add(&term->rule, least, count, term->weight, sums);
  }
  return count;
}

/* Returns whether all candidates of a node have the same values and therefore the same sum. */
static bool is_uniform(const blis__best_query *query, uint32_t level, uint32_t node) {
  for (size_t t = 0; t < query->count; t++) {
    const blis_extremes_level *l = &query->terms[t].extremes->levels[level];
    if (l->least[node] != l->greatest[node]) {
      return false;
    }
  }
  return true;
}

typedef struct range {
  uint32_t first;
  uint32_t count;
} range;

/* Returns the candidates of a node. On level 0, a node is a single candidate. */
static range candidates_of(const blis__best_query *query, uint32_t level, uint32_t node) {
  uint32_t size = 1;
  for (uint32_t k = 0; k < level; k++) {
    size *= FAN;
  }
  uint32_t first = node * size;
  uint32_t left = shape_of(query)->levels[0].count - first;
  return (range){first, left < size ? left : size};
}

/* Search for the best candidate. */

typedef struct finding {
  double best;
  const blis_extremes *ranks; /* finds the lowest rank; NULL = counts tied candidates */
  double rank;                /* rank of the chosen candidate; initially that of none */
  uint32_t chosen;            /* chosen candidate among those found by their terms */
  uint32_t tied;              /* number of tied candidates found by their terms */
} finding;

/* Whether this node can contain a better candidate, given an upper bound of its scores. */
static bool is_promising(const finding *found, uint32_t level, uint32_t node, double bound) {
  if (bound != found->best || found->ranks == NULL) {
    return bound >= found->best;
  }
  return found->ranks->levels[level].least[node] < found->rank;
}

/* Returns the candidate with the lowest rank in a node. */
static uint32_t lowest_in(const blis_extremes *ranks, uint32_t level, uint32_t node) {
  double rank = ranks->levels[level].least[node];
  for (; level > 0; level--) {
    node = blis_extremes_first(node);
    while (ranks->levels[level - 1].least[node] != rank) {
      node++;
    }
  }
  return node;
}

/* Takes a promising node whose candidates all have this sum. */
static void take(const blis__best_query *query, uint32_t level, uint32_t node, double sum,
                 finding *found) {
  if (sum > found->best) {
    found->best = sum;
    found->tied = 0;
  }
  range candidates = candidates_of(query, level, node);
  found->tied += candidates.count;
  found->chosen = candidates.first;
  if (found->ranks != NULL) {
    found->rank = found->ranks->levels[level].least[node];
    found->chosen = lowest_in(found->ranks, level, node);
  }
}

static void find(const blis__best_query *query, uint32_t level, uint32_t node, finding *found);

static void find_in_part(const blis__best_query *query, uint32_t level, uint32_t node, double bound,
                         finding *found) {
  if (is_uniform(query, level, node)) {
    take(query, level, node, bound, found);
  } else {
    find(query, level, node, found);
  }
}

/* Returns the maximum by halving; each step is a few vector instructions. */
static double highest_of(const double *sums) {
  double highest[FAN / 2];
  for (int i = 0; i < FAN / 2; i++) {
    double other = sums[FAN / 2 + i];
    highest[i] = sums[i] > other ? sums[i] : other;
  }
  for (int half = FAN / 4; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) {
      double other = highest[half + i];
      highest[i] = highest[i] > other ? highest[i] : other;
    }
  }
  return highest[0];
}

/* Searches a node whose parts are candidates. */
static void find_among_few(const blis__best_query *query, uint32_t node, finding *found) {
  double sums[FAN];
  uint32_t count = sum_parts(query, 1, node, sums);
  uint32_t first = blis_extremes_first(node);
  double highest = highest_of(sums);
  if (highest < found->best) {
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (sums[i] == highest && is_promising(found, 0, first + i, highest)) {
      take(query, 0, first + i, highest, found);
    }
  }
}

/* Searches a node. The part with the highest bound is searched first, because it excludes more
   of the others. */
static void find(const blis__best_query *query, uint32_t level, uint32_t node, finding *found) {
  if (level == 1) {
    find_among_few(query, node, found);
    return;
  }
  double sums[FAN];
  uint32_t count = sum_parts(query, level, node, sums);
  uint32_t first = blis_extremes_first(node);
  double highest = highest_of(sums);
  if (highest < found->best) {
    return;
  }
  uint32_t begun = 0;
  while (sums[begun] != highest) {
    begun++;
  }
  if (is_promising(found, level - 1, first + begun, highest)) {
    find_in_part(query, level - 1, first + begun, highest, found);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (sums[i] >= found->best && i != begun &&
        is_promising(found, level - 1, first + i, sums[i])) {
      find_in_part(query, level - 1, first + i, sums[i], found);
    }
  }
}

/* Returns the sum of one candidate's terms. */
static double sum_of(const blis__best_query *query, uint32_t candidate) {
  double sum = 0;
  for (size_t t = 0; t < query->count; t++) {
    const blis__term *term = &query->terms[t];
    blis__column_rule_add(&term->rule, term->extremes->levels[0].least + candidate, 1, term->weight,
                          &sum);
  }
  return sum;
}

/* Searches from the root, starting with the result of the raised candidates. */
static void find_all(const blis__best_query *query, finding *found) {
  uint32_t top = shape_of(query)->top;
  if (!is_uniform(query, top, 0)) {
    find(query, top, 0, found);
    return;
  }
  double sum = sum_of(query, 0);
  if (is_promising(found, top, 0, sum)) {
    take(query, top, 0, sum, found);
  }
}

/* By the lowest id. */

static uint32_t pick_lowest(const blis__best_query *query, double *best) {
  finding found = {.best = -INFINITY, .ranks = query->ranks, .rank = INFINITY};
  for (size_t k = 0; k < query->raised_count; k++) {
    const blis__raised *raised = &query->raised[k];
    if (raised->sum >= found.best && is_promising(&found, 0, raised->candidate, raised->sum)) {
      take(query, 0, raised->candidate, raised->sum, &found);
    }
  }
  find_all(query, &found);
  *best = found.best;
  return found.chosen;
}

/* By position among tied candidates. */

/* A walk over the tied candidates, in order. */
typedef struct walk {
  const blis__best_query *query;
  double best;
  size_t skip;   /* tied candidates to skip */
  size_t raised; /* raised candidates below this index were already visited */
  bool is_over;
  uint32_t chosen; /* result */
} walk;

static void meet(walk *w, range candidates) {
  if (w->skip >= candidates.count) {
    w->skip -= candidates.count;
  } else {
    w->chosen = candidates.first + (uint32_t)w->skip;
    w->is_over = true;
  }
}

/* Visits raised candidates that precede a candidate. */
static void meet_raised(walk *w, uint32_t before) {
  for (; w->raised < w->query->raised_count && !w->is_over; w->raised++) {
    const blis__raised *raised = &w->query->raised[w->raised];
    if (raised->candidate >= before) {
      return;
    }
    if (raised->is_tied) {
      meet(w, (range){raised->candidate, 1});
    }
  }
}

static void walk_node(walk *w, uint32_t level, uint32_t node) {
  double sums[FAN];
  uint32_t count = sum_parts(w->query, level, node, sums);
  uint32_t first = blis_extremes_first(node);
  for (uint32_t i = 0; i < count && !w->is_over; i++) {
    if (sums[i] < w->best) {
      continue;
    }
    uint32_t part = first + i;
    if (level > 1 && !is_uniform(w->query, level - 1, part)) {
      walk_node(w, level - 1, part);
      continue;
    }
    range candidates = candidates_of(w->query, level - 1, part);
    meet_raised(w, candidates.first);
    if (!w->is_over) {
      meet(w, candidates);
    }
  }
}

static uint32_t choose_tied(const blis__best_query *query, double best, size_t skip) {
  walk w = {.query = query, .best = best, .skip = skip};
  walk_node(&w, shape_of(query)->top, 0);
  meet_raised(&w, UINT32_MAX);
  BLIS_ASSERT(w.is_over);
  return w.chosen;
}

/* Marks raised candidates that are best and were not found by their terms. */
static uint32_t mark_raised(const blis__best_query *query, finding *found) {
  uint32_t tied = 0;
  for (size_t k = 0; k < query->raised_count; k++) {
    blis__raised *raised = &query->raised[k];
    raised->is_tied = raised->sum == found->best && sum_of(query, raised->candidate) < found->best;
    if (raised->is_tied) {
      tied++;
      found->chosen = raised->candidate;
    }
  }
  return tied;
}

static uint32_t pick_by_place(const blis__best_query *query, blis_tie *tie, double *best) {
  finding found = {.best = -INFINITY};
  for (size_t k = 0; k < query->raised_count; k++) {
    double sum = query->raised[k].sum;
    found.best = sum > found.best ? sum : found.best;
  }
  find_all(query, &found);
  size_t tied = (size_t)found.tied + mark_raised(query, &found);
  *best = found.best;
  size_t skip;
  bool is_by_place = blis_tie_draw(tie, tied, &skip);
  BLIS_ASSERT(is_by_place);
  return tied == 1 ? found.chosen : choose_tied(query, found.best, skip);
}

size_t blis__best_pick(const blis__best_query *query, blis_tie *tie, double *best) {
  return tie->rule == BLIS_TIE_LOWEST_ID ? pick_lowest(query, best)
                                         : pick_by_place(query, tie, best);
}
