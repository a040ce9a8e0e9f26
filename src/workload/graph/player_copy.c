/* Memory layout of played graphs; see player_state.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "workload/graph/player_state.h"

#define NO_NODE BLIS_GRAPH_NO_NODE

typedef blis__node node;
typedef blis__live live;

static size_t count_segments(const blis_graph *graph) {
  size_t count = 0;
  for (uint32_t i = 0; i < graph->node_count; i++) {
    count += graph->nodes[i].request.segment_count;
  }
  return count;
}

static size_t count_waits(const blis_graph *graph) {
  const blis_graph_node *last = &graph->nodes[graph->node_count - 1];
  return (size_t)last->first_wait + last->wait_count;
}

/* Replaces local segments of the graph with segments that are unique to this play. */
static void own_segments(const blis_graph_player *p, blis_segment *segments, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if ((segments[i].stream & BLIS_GRAPH_LOCAL) != 0) {
      segments[i].stream += p->streams;
    }
  }
}

/* Memory is ordered by alignment: members with pointers first. */
live *blis__player_new_live(blis_graph_player *p, const blis_graph *graph) {
  size_t count = graph->node_count;
  size_t waits = count_waits(graph);
  size_t segments = count_segments(graph);
  size_t size = sizeof(live) + count * sizeof(node) + count * sizeof(blis_graph_node) +
                segments * sizeof(blis_segment) + 2 * waits * sizeof(uint32_t);
  char *memory = blis_alloc_zeroed(&p->alloc, 1, size);
  if (memory == NULL) {
    return NULL;
  }
  live *made = (live *)(void *)memory;
  made->size = size;
  made->graph = *graph;
  made->nodes = (node *)(void *)(memory + sizeof(live));
  blis_graph_node *nodes = (blis_graph_node *)(void *)(made->nodes + count);
  memcpy(nodes, graph->nodes, count * sizeof *nodes);
  blis_segment *segment = (blis_segment *)(void *)(nodes + count);
  for (size_t i = 0; i < count; i++) {
    blis_request *request = &nodes[i].request;
    if (request->segment_count > 0) {
      memcpy(segment, request->segments, request->segment_count * sizeof *segment);
      own_segments(p, segment, request->segment_count);
    }
    request->segments = request->segment_count > 0 ? segment : NULL;
    segment += request->segment_count;
  }
  uint32_t *wait = (uint32_t *)(void *)segment;
  if (waits > 0) {
    memcpy(wait, graph->waits, waits * sizeof *wait);
  }
  made->graph.nodes = nodes;
  made->graph.waits = wait;
  made->dependants = wait + waits;
  p->streams += graph->local_streams;
  return made;
}

/* Renames a string of a repeated graph: play 2 of "a" is "a#2". */
static blis_status again(const blis_graph_player *p, uint32_t *text) {
  char name[BLIS_REQUEST_ID_SIZE];
  int length = snprintf(name, sizeof name, "%.200s#%" PRIu32,
                        blis_intern_text(p->feed.strings, *text), p->play_number + 1);
  return blis_intern_add(p->feed.strings, name, (size_t)length, text);
}

/* Assigns session names that differ from those of the previous play. */
blis_status blis__player_rename_sessions(const blis_graph_player *p, live *l) {
  blis_graph_node *nodes = (blis_graph_node *)(void *)(l->nodes + l->graph.node_count);
  if (p->play_number == 0) {
    return BLIS_OK;
  }
  for (uint32_t i = 0; i < l->graph.node_count; i++) {
    uint32_t *const texts[] = {&nodes[i].request.session, &nodes[i].parent_session};
    for (size_t t = 0; t < 2; t++) {
      if (*texts[t] != 0) {
        BLIS_TRY(again(p, texts[t]));
      }
    }
  }
  return BLIS_OK;
}

/* Lists the dependents of each node, in order of the nodes. */
static void list_dependants(live *l) {
  const blis_graph *graph = &l->graph;
  size_t waits = count_waits(graph);
  for (size_t i = 0; i < waits; i++) {
    l->nodes[graph->waits[i]].dependant_count++;
  }
  uint32_t place = 0;
  for (uint32_t i = 0; i < graph->node_count; i++) {
    l->nodes[i].first_dependant = place;
    place += l->nodes[i].dependant_count;
    l->nodes[i].dependant_count = 0;
  }
  for (uint32_t i = 0; i < graph->node_count; i++) {
    const blis_graph_node *n = &graph->nodes[i];
    for (uint32_t w = 0; w < n->wait_count; w++) {
      node *other = &l->nodes[graph->waits[n->first_wait + w]];
      l->dependants[other->first_dependant + other->dependant_count++] = i;
    }
  }
}

/* Computes when the context of each node is used again, for programs that report this. */
static void list_reuse(const blis_graph_player *p, live *l) {
  for (uint32_t i = 0; i < l->graph.node_count; i++) {
    l->nodes[i].call.reused_after_us = -1;
  }
  for (uint32_t i = 0; p->play.tells_future && i < l->graph.node_count; i++) {
    const blis_graph_node *n = &l->graph.nodes[i];
    if (n->extends != NO_NODE) {
      int64_t *after_us = &l->nodes[n->extends].call.reused_after_us;
      int64_t delay_us = blis__player_scaled(p, n->delay_us);
      *after_us = *after_us < 0 || delay_us < *after_us ? delay_us : *after_us;
    }
  }
}

void blis__player_fill_live(const blis_graph_player *p, live *l) {
  const blis_graph *graph = &l->graph;
  for (uint32_t i = 0; i < graph->node_count; i++) {
    const blis_graph_node *given = &graph->nodes[i];
    l->nodes[i].live = l;
    l->nodes[i].waits_left = given->wait_count;
    l->nodes[i].waited_for = NO_NODE;
    l->nodes[i].call.program = &l->program;
    l->nodes[i].call.parent_session = given->parent_session;
    l->foreground += !given->is_background;
  }
  l->has_foreground = l->foreground > 0;
  l->open = graph->node_count;
  l->play = p->play_number;
  l->program =
      (blis_program){.name = graph->name,
                     .root_session = graph->nodes[0].request.session,
                     .started_us = l->start_us,
                     .requests_left = p->play.tells_future ? (int64_t)graph->node_count : -1};
  list_dependants(l);
  list_reuse(p, l);
}
