#include "workload/graph/graph.h"

#include "base/invariant.h"
#include "workload/workload.h"

void blis_graph_builder_init(blis_graph_builder *builder, const blis_alloc *alloc) {
  *builder = (blis_graph_builder){.alloc = *alloc};
}

void blis_graph_builder_deinit(blis_graph_builder *builder) {
  const blis_alloc *alloc = &builder->alloc;
  blis_array_deinit(alloc, &builder->nodes);
  blis_array_deinit(alloc, &builder->waits);
  blis_array_deinit(alloc, &builder->segments);
  blis_array_deinit(alloc, &builder->first_segments);
  blis_array_deinit(alloc, &builder->is_extended);
  blis_array_deinit(alloc, &builder->lineages);
}

void blis_graph_builder_clear(blis_graph_builder *builder) {
  builder->nodes.count = 0;
  builder->waits.count = 0;
  builder->segments.count = 0;
  builder->first_segments.count = 0;
  builder->is_extended.count = 0;
  builder->lineages.count = 0;
  builder->searches = 0;
  builder->has_empty = false;
  builder->local_streams = 0;
}

uint64_t blis_graph_builder_streams(blis_graph_builder *builder, uint64_t count) {
  uint64_t first = BLIS_GRAPH_LOCAL + builder->local_streams;
  builder->local_streams += count;
  return first;
}

/* Appends segments, which can be part of the array itself. */
static blis_status push_segments(blis_graph_builder *b, const blis_segment *segments, size_t place,
                                 uint32_t count) {
  if (count == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_reserve(&b->alloc, &b->segments, b->segments.count + count));
  if (segments == NULL) {
    segments = b->segments.items + place;
  }
  for (uint32_t i = 0; i < count; i++) {
    b->segments.items[b->segments.count++] = segments[i];
  }
  return BLIS_OK;
}

/* The first request that extends a node continues its stream, so that the prompt of a
   conversation remains one segment. Further requests start separate streams. */
static blis_status extend(blis_graph_builder *b, blis_request *request, uint32_t extended,
                          blis_error *error) {
  blis_graph_node *known = &b->nodes.items[extended];
  blis_request *before = &known->request;
  uint64_t context = (uint64_t)before->prompt_tokens + before->output_tokens;
  uint32_t own = request->prompt_tokens;
  if (context + own > BLIS_WORKLOAD_MAX_TOKENS) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the prompt with what it extends has %llu tokens; at most "
                     "%d are allowed",
                     (unsigned long long)(context + own), BLIS_WORKLOAD_MAX_TOKENS);
  }
  BLIS_ASSERT(before->segment_count > 0);
  BLIS_TRY_MEM(push_segments(b, NULL, b->first_segments.items[extended], before->segment_count),
               error);
  blis_segment *last = &b->segments.items[b->segments.count - 1];
  last->length_tokens += before->output_tokens;
  request->segment_count = before->segment_count;
  if (!b->is_extended.items[extended]) {
    last->length_tokens += own;
  } else {
    const blis_segment segment = {.stream = blis_graph_builder_streams(b, 1), .length_tokens = own};
    BLIS_TRY_MEM(blis_array_push(&b->alloc, &b->segments, segment), error);
    request->segment_count++;
    b->has_empty = b->has_empty || own == 0;
  }
  b->is_extended.items[extended] = true;
  before->shares_output = true;
  before->shares_last_output = true;
  request->prompt_tokens = (uint32_t)(context + own);
  request->shared_tokens = request->prompt_tokens;
  return BLIS_OK;
}

/* Starts new content after the node's own segments. */
static blis_status begin(blis_graph_builder *b, blis_request *request, blis_error *error) {
  uint64_t tokens = (uint64_t)request->shared_tokens + request->prompt_tokens;
  if (tokens > BLIS_WORKLOAD_MAX_TOKENS) {
    return blis_fail(error, BLIS_ERR_INVALID, "the prompt has %llu tokens; at most %d are allowed",
                     (unsigned long long)tokens, BLIS_WORKLOAD_MAX_TOKENS);
  }
  const blis_segment segment = {.stream = blis_graph_builder_streams(b, 1),
                                .length_tokens = request->prompt_tokens};
  BLIS_TRY_MEM(push_segments(b, request->segments, 0, request->segment_count), error);
  BLIS_TRY_MEM(blis_array_push(&b->alloc, &b->segments, segment), error);
  request->segment_count++;
  b->has_empty = b->has_empty || segment.length_tokens == 0;
  request->prompt_tokens = (uint32_t)tokens;
  request->shared_tokens = request->prompt_tokens;
  return BLIS_OK;
}

static blis_status set_content(blis_graph_builder *b, blis_graph_node *node, bool chains,
                               blis_error *error) {
  blis_request *request = &node->request;
  if (node->extends != BLIS_GRAPH_NO_NODE) {
    BLIS_ASSERT(node->extends < b->nodes.count && chains);
    return extend(b, request, node->extends, error);
  }
  if (chains) {
    return begin(b, request, error);
  }
  BLIS_TRY_MEM(push_segments(b, request->segments, 0, request->segment_count), error);
  return BLIS_OK;
}

blis_status blis_graph_builder_add(blis_graph_builder *b, const blis_graph_node *node, bool chains,
                                   const uint32_t *waits, uint32_t wait_count, blis_error *error) {
  if (b->nodes.count == BLIS_GRAPH_MAX_NODES) {
    return blis_fail(error, BLIS_ERR_INVALID, "a graph has at most %d requests",
                     BLIS_GRAPH_MAX_NODES);
  }
  size_t first_segment = b->segments.count;
  blis_graph_node made = *node;
  made.first_wait = (uint32_t)b->waits.count;
  made.wait_count = wait_count;
  for (uint32_t i = 0; i < wait_count; i++) {
    BLIS_ASSERT(waits[i] < b->nodes.count);
    BLIS_TRY_MEM(blis_array_push(&b->alloc, &b->waits, waits[i]), error);
  }
  BLIS_TRY(set_content(b, &made, chains, error));
  BLIS_TRY_MEM(blis_array_push(&b->alloc, &b->first_segments, first_segment), error);
  BLIS_TRY_MEM(blis_array_push(&b->alloc, &b->is_extended, false), error);
  BLIS_TRY_MEM(blis_array_push(&b->alloc, &b->nodes, made), error);
  return BLIS_OK;
}

/* Removes empty segments, except one that the response continues. */
static void drop_empty(blis_segment *segments, blis_request *request) {
  uint32_t count = 0;
  uint32_t kept = request->shares_output ? request->segment_count - 1 : UINT32_MAX;
  for (uint32_t i = 0; i < request->segment_count; i++) {
    if (segments[i].length_tokens > 0 || i == kept) {
      segments[count++] = segments[i];
    }
  }
  request->segment_count = count;
}

blis_graph blis_graph_builder_get(blis_graph_builder *b, uint32_t name, int64_t start_us) {
  BLIS_ASSERT(b->nodes.count > 0);
  for (size_t i = 0; i < b->nodes.count; i++) {
    blis_request *request = &b->nodes.items[i].request;
    if (request->segment_count == 0) {
      request->segments = NULL;
      continue;
    }
    blis_segment *segments = b->segments.items + b->first_segments.items[i];
    if (b->has_empty) {
      drop_empty(segments, request);
    }
    request->segments = request->segment_count > 0 ? segments : NULL;
  }
  return (blis_graph){.name = name,
                      .start_us = start_us,
                      .nodes = b->nodes.items,
                      .node_count = (uint32_t)b->nodes.count,
                      .waits = b->waits.items,
                      .local_streams = b->local_streams};
}
