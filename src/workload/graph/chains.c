/* chains.c - agents, and the chains of a flat list of calls; part of weka.h. */
#include <string.h>

#include "workload/graph/weka.h"

blis_status blis__weka_add_agent(blis__weka *w, const blis__weka_agent *agent) {
  if (w->agent_count == w->agents.count) {
    BLIS_TRY(blis_array_push(&w->alloc, &w->agents, (blis__weka_agent){0}));
  }
  blis__weka_agent *made = &w->agents.items[w->agent_count++];
  made->session = agent->session;
  made->parent = agent->parent;
  made->spawned = agent->spawned;
  made->joined = agent->joined;
  made->is_chain = agent->is_chain;
  made->calls.count = 0;
  return BLIS_OK;
}

/* State of splitting the calls of an agent. */
typedef struct splitting {
  blis__weka *w;
  const uint32_t *calls; /* all calls, in order of time */
  uint32_t count;
  uint32_t agent;
  size_t first_chain; /* index of the first agent created from this chain */
} splitting;

static const blis__weka_call *call_at(const splitting *s, uint32_t place) {
  return &s->w->calls.items[s->calls[place]];
}

static uint32_t common(const blis__weka *w, const blis__weka_call *a, const blis__weka_call *b) {
  const uint32_t *ids = w->blocks.ids.items;
  uint32_t most = a->id_count < b->id_count ? a->id_count : b->id_count;
  uint32_t length = 0;
  while (length < most && ids[a->first_id + length] == ids[b->first_id + length]) {
    length++;
  }
  return length;
}

static bool contains(const blis__weka *w, const blis__weka_call *whole,
                     const blis__weka_call *part) {
  uint32_t n = part->id_count;
  const uint32_t *ids = w->blocks.ids.items;
  return n <= whole->id_count &&
         (n == 0 || (ids[whole->first_id + n - 1] == ids[part->first_id + n - 1] &&
                     memcmp(ids + whole->first_id, ids + part->first_id, n * sizeof *ids) == 0));
}

static const blis__weka_call *tail_of(const splitting *s, size_t chain) {
  const blis__weka_agent *agent = &s->w->agents.items[chain];
  return &s->w->calls.items[agent->calls.items[agent->calls.count - 1]];
}

/* Returns an agent of the list: index 0 is the agent itself, the others are the chains found in
   it. */
static size_t chain_at(const splitting *s, size_t index) {
  return index == 0 ? s->agent : s->first_chain + index - 1;
}

static size_t chain_count(const splitting *s) {
  return s->w->agent_count - s->first_chain + 1;
}

static bool may_follow(const blis__weka_call *call, const blis__weka_call *tail) {
  return tail->end_us <= call->start_us && tail->model == call->model;
}

/* Finds the chain whose complete last prompt the call contains; the longest of several. */
static bool find_extended(const splitting *s, const blis__weka_call *call, size_t *found) {
  int64_t longest = -1;
  for (size_t i = 0; i < chain_count(s); i++) {
    const blis__weka_call *tail = tail_of(s, chain_at(s, i));
    if ((int64_t)tail->id_count > longest && may_follow(call, tail) && contains(s->w, call, tail)) {
      longest = tail->id_count;
      *found = chain_at(s, i);
    }
  }
  return longest >= 0;
}

static bool is_used_again(const splitting *s, uint32_t place, const blis__weka_call *tail) {
  for (uint32_t i = place; i < s->count; i++) {
    if (contains(s->w, call_at(s, i), tail)) {
      return true;
    }
  }
  return false;
}

/* Returns the length of the common prefix of a chain and the call that spawned it. */
static uint32_t inherited(const splitting *s, size_t chain) {
  const blis__weka_agent *agent = &s->w->agents.items[chain];
  if (chain == s->agent) {
    return 0;
  }
  const blis__weka_agent *parent = &s->w->agents.items[agent->parent];
  return common(s->w, &s->w->calls.items[agent->calls.items[0]],
                &s->w->calls.items[parent->calls.items[agent->spawned - 1]]);
}

/* Finds the chain whose last prompt the call has truncated. */
static bool find_compacted(const splitting *s, uint32_t place, size_t *found) {
  const blis__weka_call *call = call_at(s, place);
  uint32_t longest = 0;
  for (size_t i = 0; i < chain_count(s); i++) {
    size_t chain = chain_at(s, i);
    const blis__weka_call *tail = tail_of(s, chain);
    uint32_t kept = common(s->w, call, tail);
    if (kept > longest && kept > inherited(s, chain) && may_follow(call, tail) &&
        !is_used_again(s, place, tail)) {
      longest = kept;
      *found = chain;
    }
  }
  return longest > 0;
}

/* Finds the earlier call with the longest common prefix. */
static void find_fork(const splitting *s, const blis__weka_call *call, uint32_t *parent,
                      uint32_t *spawned) {
  int64_t longest = -1;
  for (size_t i = 0; i < chain_count(s); i++) {
    const blis__weka_agent *agent = &s->w->agents.items[chain_at(s, i)];
    for (uint32_t c = 0; c < agent->calls.count; c++) {
      const blis__weka_call *other = &s->w->calls.items[agent->calls.items[c]];
      int64_t length = common(s->w, call, other);
      if (length > longest) {
        longest = length;
        *parent = (uint32_t)chain_at(s, i);
        *spawned = c + 1;
      }
    }
  }
}

static blis_status begin_chain(const splitting *s, const blis__weka_call *call,
                               blis__graph_rows *rows, size_t *chain) {
  blis__weka_agent agent = {.is_chain = true};
  find_fork(s, call, &agent.parent, &agent.spawned);
  BLIS_TRY(blis__graph_text(rows, &agent.session, "%.200s::chain:%zu",
                            blis_intern_text(rows->strings, s->w->agents.items[s->agent].session),
                            chain_count(s)));
  *chain = s->w->agent_count;
  return blis__weka_add_agent(s->w, &agent);
}

/* Joins chains: a chain is joined by the first call of its parent that starts after the end of
   the chain. */
static void join_chains(const splitting *s) {
  for (size_t i = 1; i < chain_count(s); i++) {
    blis__weka_agent *agent = &s->w->agents.items[chain_at(s, i)];
    const blis__weka_agent *parent = &s->w->agents.items[agent->parent];
    int64_t end_us = tail_of(s, chain_at(s, i))->end_us;
    agent->joined = agent->spawned;
    while (agent->joined < parent->calls.count &&
           s->w->calls.items[parent->calls.items[agent->joined]].start_us < end_us) {
      agent->joined++;
    }
  }
}

/* Moves subagents called by the agent to the continuing chain. */
static void move_children(const splitting *s, const uint32_t *places) {
  for (size_t i = 0; i < s->first_chain; i++) {
    blis__weka_agent *child = &s->w->agents.items[i];
    if (child->parent != s->agent || child->is_chain) {
      continue;
    }
    uint32_t before = 0;
    for (uint32_t c = 0; c < child->spawned; c++) {
      before += places[c] == s->agent;
    }
    child->spawned = before;
    child->joined = before;
  }
}

static blis_status split(splitting *s, blis__graph_rows *rows, uint32_t *places) {
  blis__weka *w = s->w;
  w->agents.items[s->agent].calls.count = 0;
  for (uint32_t i = 0; i < s->count; i++) {
    size_t chain = s->agent;
    bool is_first = i == 0;
    if (!is_first && !find_extended(s, call_at(s, i), &chain) && !find_compacted(s, i, &chain)) {
      BLIS_TRY(begin_chain(s, call_at(s, i), rows, &chain));
    }
    places[i] = (uint32_t)chain;
    BLIS_TRY(blis_array_push(&w->alloc, &w->agents.items[chain].calls, s->calls[i]));
  }
  move_children(s, places);
  join_chains(s);
  return BLIS_OK;
}

blis_status blis__weka_split(blis__weka *w, uint32_t agent, blis__graph_rows *rows) {
  const blis__weka_agent *given = &w->agents.items[agent];
  uint32_t count = (uint32_t)given->calls.count;
  if (count < 2) {
    return BLIS_OK;
  }
  uint32_t *calls = blis_alloc_new(&w->alloc, 2 * count * sizeof *calls);
  if (calls == NULL) {
    return BLIS_ERR_NOMEM;
  }
  memcpy(calls, given->calls.items, count * sizeof *calls);
  splitting s = {
      .w = w, .calls = calls, .count = count, .agent = agent, .first_chain = w->agent_count};
  blis_status status = split(&s, rows, calls + count);
  blis_alloc_free(&w->alloc, calls, 2 * count * sizeof *calls);
  return status;
}
