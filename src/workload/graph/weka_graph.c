/* weka_graph.c - converts conversations to graphs; part of weka.h. */
#include <stdlib.h>
#include <string.h>

#include "workload/graph/weka.h"
#include "workload/workload.h"

/* A position in the walk through agents and their subagents. */
typedef struct frame {
  uint32_t agent;
  uint32_t call;  /* next call of the agent */
  uint32_t child; /* next agent to process before that call */
} frame;

typedef struct building {
  blis__weka *w;
  blis__graph_rows *rows;
  blis_graph_reading reading;
  uint64_t streams;           /* number of streams for the ids of one session */
  uint32_t *nodes;            /* nodes of the graph, by call */
  BLIS_ARRAY(uint32_t) waits; /* calls, during the construction of a node */
  BLIS_ARRAY(frame) frames;
  int64_t first_us; /* earliest start */
} building;

static const blis__weka_call *call_of(const building *b, uint32_t agent, uint32_t k) {
  return &b->w->calls.items[b->w->agents.items[agent].calls.items[k]];
}

/* Delays. */

/* Returns the delay of a call. b->waits contains the calls that it waits for, starting with the
   one of its own session. */
static int64_t delay_of(const building *b, const blis__weka_call *call) {
  const blis__weka_call *calls = b->w->calls.items;
  blis_graph_delays delays = b->rows->options->delays;
  if (b->waits.count == 0) {
    return 0;
  }
  if (delays == BLIS_GRAPH_DELAYS_USUAL) {
    delays = b->reading == BLIS_GRAPH_AIPERF    ? BLIS_GRAPH_DELAYS_STARTS
             : b->reading == BLIS_GRAPH_GO_BLIS ? BLIS_GRAPH_DELAYS_THINK
                                                : BLIS_GRAPH_DELAYS_COMPLETION;
  }
  bool joins = b->waits.count > 1;
  if (joins && b->reading == BLIS_GRAPH_AISIMULATE) {
    return 0;
  }
  int64_t from_us = calls[b->waits.items[0]].start_us;
  switch (delays) {
  case BLIS_GRAPH_DELAYS_NONE:
    return 0;
  case BLIS_GRAPH_DELAYS_THINK:
    return blis__graph_capped(b->rows, call->think_us > 0 ? call->think_us : 0);
  case BLIS_GRAPH_DELAYS_STARTS:
    break;
  default:
    for (size_t i = 0; i < b->waits.count; i++) {
      int64_t end_us = calls[b->waits.items[i]].end_us;
      from_us = i == 0 || end_us > from_us ? end_us : from_us;
    }
  }
  return blis__graph_capped(b->rows, call->start_us > from_us ? call->start_us - from_us : 0);
}

/* Nodes. */

static blis_status set_blocks(building *b, const blis__weka_call *call, uint32_t agent,
                              blis_request *request, blis_error *error) {
  blis__weka *w = b->w;
  bool is_apart = b->reading == BLIS_GRAPH_LLMD_ROUTER;
  uint64_t stream = BLIS__BLOCKS_GLOBAL;
  if (is_apart || !w->is_global) {
    stream = BLIS_GRAPH_LOCAL + (is_apart ? agent * b->streams : 0);
  }
  return blis__blocks_segments(&w->blocks, call->first_id, call->id_count, stream, w->block_tokens,
                               request, error);
}

/* Returns the new tokens of a call in a context that grows, as in BLIS (Go), by the difference
   to the previous round. */
static uint32_t growth(const building *b, uint32_t k, const blis__weka_call *call) {
  if (k == 0) {
    return call->prompt_tokens;
  }
  const blis__weka_call *before = call_of(b, 0, k - 1);
  int64_t known = (int64_t)before->prompt_tokens + before->output_tokens;
  return call->prompt_tokens > known ? (uint32_t)(call->prompt_tokens - known) : 0;
}

static blis_status add_node(building *b, uint32_t agent, uint32_t k, int64_t delay_us,
                            blis_error *error) {
  blis__weka *w = b->w;
  blis__weka_agent *a = &w->agents.items[agent];
  uint32_t index = a->calls.items[k];
  const blis__weka_call *call = &w->calls.items[index];
  bool grows = b->reading == BLIS_GRAPH_GO_BLIS;
  const blis__weka_call *before = k > 0 ? call_of(b, agent, k - 1) : NULL;
  blis_graph_node node = {
      .request = {.prompt_tokens = grows ? growth(b, k, call) : call->prompt_tokens,
                  .output_tokens = call->output_tokens,
                  .max_output_tokens = call->output_tokens,
                  .session = a->session,
                  .model = call->served,
                  .round_index = (int32_t)k,
                  .is_streaming = call->is_streamed},
      .delay_us = delay_us,
      .tool_us = before != NULL && before->calls_tool ? delay_us : 0,
      .is_background = a->is_background,
      .parent_session = a->parent == BLIS__WEKA_NONE ? 0 : w->agents.items[a->parent].session,
      .extends = grows && k > 0 ? b->nodes[a->calls.items[k - 1]] : BLIS_GRAPH_NO_NODE};
  if (!grows) {
    BLIS_TRY(set_blocks(b, call, agent, &node.request, error));
  }
  uint32_t *waits = b->waits.items;
  for (size_t i = 0; i < b->waits.count; i++) {
    waits[i] = b->nodes[waits[i]];
  }
  b->nodes[index] = (uint32_t)b->rows->builder.nodes.count;
  a->last_node = index;
  return blis__graph_add(b->rows, w->line, &node, grows, waits, (uint32_t)b->waits.count, error);
}

static blis_status wait_for(building *b, uint32_t call) {
  return blis_array_push(&b->w->alloc, &b->waits, call);
}

/* Adds call k of an agent, after the previous call or the spawning one, and after the calls that
   it joins. */
static blis_status add_call(building *b, uint32_t agent, uint32_t k, blis_error *error) {
  blis__weka *w = b->w;
  const blis__weka_agent *a = &w->agents.items[agent];
  b->waits.count = 0;
  if (k > 0) {
    BLIS_TRY_MEM(wait_for(b, a->calls.items[k - 1]), error);
  } else if (a->parent != BLIS__WEKA_NONE) {
    const blis__weka_agent *parent = &w->agents.items[a->parent];
    BLIS_TRY_MEM(wait_for(b, parent->calls.items[a->spawned - 1]), error);
  }
  for (size_t i = 1; k > 0 && i < w->agent_count; i++) {
    const blis__weka_agent *child = &w->agents.items[i];
    if (child->parent == agent && child->joined == k && child->spawned > 0 &&
        child->calls.count > 0) {
      BLIS_TRY_MEM(wait_for(b, child->last_node), error);
    }
  }
  return add_node(b, agent, k, delay_of(b, call_of(b, agent, k)), error);
}

/* Returns the next agent that must precede call k and is not complete yet. */
static uint32_t next_child(const building *b, frame *f) {
  const blis__weka *w = b->w;
  for (; f->call > 0 && f->child < w->agent_count; f->child++) {
    const blis__weka_agent *child = &w->agents.items[f->child];
    if (child->parent == f->agent && child->spawned == f->call && child->calls.count > 0) {
      return f->child++;
    }
  }
  return BLIS__WEKA_NONE;
}

static blis_status enter(building *b, uint32_t agent) {
  blis__weka_agent *a = &b->w->agents.items[agent];
  const blis__weka_agent *parent =
      a->parent == BLIS__WEKA_NONE ? NULL : &b->w->agents.items[a->parent];
  a->is_background = parent != NULL && (parent->is_background || a->joined >= parent->calls.count);
  const frame f = {.agent = agent, .child = 1};
  return blis_array_push(&b->w->alloc, &b->frames, f);
}

/* Builds nodes for agents in the order in which they call each other. */
static blis_status build_tree(building *b, blis_error *error) {
  BLIS_TRY_MEM(enter(b, 0), error);
  while (b->frames.count > 0) {
    frame *f = &b->frames.items[b->frames.count - 1];
    uint32_t child = next_child(b, f);
    if (child != BLIS__WEKA_NONE) {
      BLIS_TRY_MEM(enter(b, child), error);
    } else if (f->call < b->w->agents.items[f->agent].calls.count) {
      uint32_t k = f->call++;
      f->child = 1;
      BLIS_TRY(add_call(b, f->agent, k, error));
    } else {
      b->frames.count--;
    }
  }
  return BLIS_OK;
}

/* llm-d-router: every agent runs independently from its recorded start. */
static blis_status build_apart(building *b, blis_error *error) {
  for (uint32_t agent = 0; agent < b->w->agent_count; agent++) {
    for (uint32_t k = 0; k < b->w->agents.items[agent].calls.count; k++) {
      const blis__weka_call *call = call_of(b, agent, k);
      b->waits.count = 0;
      if (k > 0) {
        uint32_t before = b->w->agents.items[agent].calls.items[k - 1];
        BLIS_TRY_MEM(wait_for(b, before), error);
      }
      int64_t delay_us = k > 0 ? delay_of(b, call) : call->start_us - b->first_us;
      BLIS_TRY(add_node(b, agent, k, delay_us, error));
    }
  }
  return BLIS_OK;
}

/* inference-perf: a call waits for the calls that had ended when it began. */

typedef struct timed_call {
  int64_t time_us;
  uint32_t agent;
  uint32_t k;
  uint32_t order; /* rank of its start among all calls */
} timed_call;

static int compare_timed(const void *a, const void *b) {
  const timed_call *left = a;
  const timed_call *right = b;
  if (left->time_us != right->time_us) {
    return left->time_us < right->time_us ? -1 : 1;
  }
  return (left->order > right->order) - (left->order < right->order);
}

static void sort_calls(const building *b, timed_call *starts, timed_call *ends) {
  uint32_t count = 0;
  for (uint32_t agent = 0; agent < b->w->agent_count; agent++) {
    for (uint32_t k = 0; k < b->w->agents.items[agent].calls.count; k++) {
      starts[count] = (timed_call){
          .time_us = call_of(b, agent, k)->start_us, .agent = agent, .k = k, .order = count};
      count++;
    }
  }
  qsort(starts, count, sizeof *starts, compare_timed);
  for (uint32_t i = 0; i < count; i++) {
    starts[i].order = i;
    ends[i] = starts[i];
    ends[i].time_us = call_of(b, starts[i].agent, starts[i].k)->end_us;
  }
  qsort(ends, count, sizeof *ends, compare_timed);
}

/* Assigns sessions: nested streams that do not overlap share a session, "id:s1", "id:s2", ... */
static blis_status pack_sessions(const building *b) {
  blis__weka *w = b->w;
  BLIS_ARRAY(int64_t) free_us = {0};
  blis_status status = BLIS_OK;
  for (uint32_t i = 1; i < w->agent_count && status == BLIS_OK; i++) {
    blis__weka_agent *agent = &w->agents.items[i];
    if (agent->calls.count == 0) {
      continue;
    }
    const blis__weka_call *last = call_of(b, i, (uint32_t)agent->calls.count - 1);
    size_t lane = 0;
    while (lane < free_us.count && free_us.items[lane] > call_of(b, i, 0)->start_us) {
      lane++;
    }
    if (lane == free_us.count) {
      status = blis_array_push(&w->alloc, &free_us, 0);
    }
    if (status == BLIS_OK) {
      free_us.items[lane] = last->end_us;
      status = blis__graph_text(b->rows, &agent->session, "%.200s:s%zu",
                                blis_intern_text(b->rows->strings, w->id), lane + 1);
    }
  }
  blis_array_deinit(&w->alloc, &free_us);
  return status;
}

static blis_status build_timed(building *b, timed_call *starts, timed_call *ends,
                               blis_error *error) {
  size_t count = b->w->calls.count;
  size_t ended = 0;
  BLIS_TRY_MEM(pack_sessions(b), error);
  sort_calls(b, starts, ends);
  for (size_t i = 0; i < count; i++) {
    const timed_call *one = &starts[i];
    while (ended < count && ends[ended].time_us <= one->time_us) {
      ended++;
    }
    size_t before = ended;
    while (before > 0 && ends[before - 1].order >= one->order) {
      before--;
    }
    b->waits.count = 0;
    if (before > 0) {
      const timed_call *other = &ends[before - 1];
      BLIS_TRY_MEM(wait_for(b, b->w->agents.items[other->agent].calls.items[other->k]), error);
    }
    const blis__weka_call *call = call_of(b, one->agent, one->k);
    int64_t delay_us = before > 0 ? delay_of(b, call) : call->start_us - b->first_us;
    BLIS_TRY(add_node(b, one->agent, one->k, delay_us, error));
  }
  return BLIS_OK;
}

static blis_status build_by_time(building *b, blis_error *error) {
  size_t count = b->w->calls.count;
  timed_call *calls = blis_alloc_zeroed(&b->w->alloc, 2 * count, sizeof *calls);
  BLIS_TRY_NEW(calls, error);
  blis_status status = build_timed(b, calls, calls + count, error);
  blis_alloc_free(&b->w->alloc, calls, 2 * count * sizeof *calls);
  return status;
}

/* Idle gaps. */

static int compare_times(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a;
  int64_t right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

/* Returns a time after gaps between starts have been shortened to the cap. */
static int64_t moved(const int64_t *starts, const int64_t *new_starts, size_t count, int64_t cap_us,
                     int64_t time_us) {
  size_t low = 0;
  size_t high = count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (starts[middle] <= time_us) {
      low = middle;
    } else {
      high = middle;
    }
  }
  int64_t local_us = time_us - starts[low];
  return new_starts[low] + (local_us < cap_us ? local_us : cap_us);
}

static blis_status cap_gaps(const building *b) {
  blis__weka *w = b->w;
  int64_t cap_us = b->rows->options->idle_gap_cap_us;
  size_t count = w->calls.count;
  int64_t *starts = blis_alloc_zeroed(&w->alloc, 2 * count, sizeof *starts);
  if (starts == NULL) {
    return BLIS_ERR_NOMEM;
  }
  int64_t *new_starts = starts + count;
  for (size_t i = 0; i < count; i++) {
    starts[i] = w->calls.items[i].start_us;
  }
  qsort(starts, count, sizeof *starts, compare_times);
  new_starts[0] = starts[0];
  for (size_t i = 1; i < count; i++) {
    int64_t gap_us = starts[i] - starts[i - 1];
    new_starts[i] = new_starts[i - 1] + (gap_us < cap_us ? gap_us : cap_us);
  }
  for (size_t i = 0; i < count; i++) {
    blis__weka_call *call = &w->calls.items[i];
    int64_t end_us = moved(starts, new_starts, count, cap_us, call->end_us);
    call->start_us = moved(starts, new_starts, count, cap_us, call->start_us);
    call->end_us = end_us;
  }
  blis_alloc_free(&w->alloc, starts, 2 * count * sizeof *starts);
  return BLIS_OK;
}

/* Dialects. */

/* Counts subagents that come before every call of their parent, so that no call starts them. */
static void count_dropped(const building *b) {
  for (size_t i = 1; i < b->w->agent_count; i++) {
    const blis__weka_agent *agent = &b->w->agents.items[i];
    b->rows->known->dropped_agents +=
        b->rows->known->is_first && agent->spawned == 0 && agent->calls.count > 0;
  }
}

static blis_status split_agents(building *b) {
  size_t count = b->w->agent_count;
  for (uint32_t i = 0; i < count; i++) {
    BLIS_TRY(blis__weka_split(b->w, i, b->rows));
  }
  return BLIS_OK;
}

static blis_status build(building *b, blis_error *error) {
  blis__weka *w = b->w;
  if (b->rows->options->idle_gap_cap_us > 0) {
    BLIS_TRY_MEM(cap_gaps(b), error);
  }
  b->first_us = w->calls.items[0].start_us;
  for (size_t i = 1; i < w->calls.count; i++) {
    int64_t start_us = w->calls.items[i].start_us;
    b->first_us = start_us < b->first_us ? start_us : b->first_us;
  }
  b->streams = blis__blocks_streams(&w->blocks, w->block_tokens);
  switch (b->reading) {
  case BLIS_GRAPH_DESIGN:
  case BLIS_GRAPH_AIPERF:
    BLIS_TRY_MEM(split_agents(b), error);
    break;
  case BLIS_GRAPH_GO_BLIS:
    w->agent_count = 1;
    break;
  default:
    break;
  }
  bool is_by_hash = b->reading != BLIS_GRAPH_GO_BLIS;
  if (is_by_hash) {
    (void)blis_graph_builder_streams(&b->rows->builder, b->streams * w->agent_count);
  }
  switch (b->reading) {
  case BLIS_GRAPH_INFERENCE_PERF:
    return build_by_time(b, error);
  case BLIS_GRAPH_LLMD_ROUTER:
    return build_apart(b, error);
  default:
    count_dropped(b);
    return build_tree(b, error);
  }
}

blis_status blis__weka_build(blis__weka *w, blis__graph_rows *rows, blis_graph *graph,
                             bool *is_empty, blis_error *error) {
  *is_empty = w->calls.count == 0;
  if (*is_empty) {
    return BLIS_OK;
  }
  blis_graph_builder_clear(&rows->builder);
  building b = {.w = w, .rows = rows, .reading = rows->options->reading};
  b.nodes = blis_alloc_zeroed(&w->alloc, w->calls.count, sizeof *b.nodes);
  BLIS_TRY_NEW(b.nodes, error);
  blis_status status = build(&b, error);
  blis_alloc_free(&w->alloc, b.nodes, w->calls.count * sizeof *b.nodes);
  blis_array_deinit(&w->alloc, &b.waits);
  blis_array_deinit(&w->alloc, &b.frames);
  if (status != BLIS_OK) {
    return status;
  }
  *is_empty = rows->builder.nodes.count == 0;
  if (!*is_empty) {
    *graph = blis_graph_builder_get(&rows->builder, w->id, -1);
  }
  return BLIS_OK;
}
