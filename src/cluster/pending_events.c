#include "cluster/pending_events.h"

#include <stdlib.h>

#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/handoff_run.h"

/* Behind all events of the cluster of that time. */
enum { OF_INSTANCE = 100, OF_SCALER };

static const char *kind_of(int32_t event_class) {
  switch (event_class) {
  case BLIS__CLUSTER_ARRIVAL:
    return "arrival";
  case BLIS__CLUSTER_ADMISSION:
    return "admission";
  case BLIS__CLUSTER_ROUTING:
    return "routing";
  case BLIS__CLUSTER_CALL:
    return "call";
  case BLIS__CLUSTER_ENCODED:
  case BLIS__CLUSTER_ENCODE_LATE:
    return "encoder";
  case BLIS__CLUSTER_PREFILL:
  case BLIS__CLUSTER_MOVE:
  case BLIS__CLUSTER_MOVED:
  case BLIS__CLUSTER_TIMEOUT:
    return "hand-off";
  default:
    return "queue";
  }
}

int64_t blis_cluster_next_us(const blis_cluster *cluster) {
  int64_t next_us = blis__cluster_planned_us(cluster);
  const int64_t others_us[] = {blis__cluster_instances_next_us(cluster), cluster->check_us,
                               cluster->has_arrival ? cluster->arrival.arrival_us
                                                    : BLIS_TIME_NEVER_US};
  for (size_t i = 0; i < sizeof others_us / sizeof *others_us; i++) {
    next_us = others_us[i] < next_us ? others_us[i] : next_us;
  }
  return next_us;
}

/* Adds an event to the list, which may be NULL to be counted alone. */
static void add(blis_pending_event *events, size_t *count, const blis_pending_event *event) {
  if (events != NULL) {
    events[*count] = *event;
  }
  ++*count;
}

static blis_pending_event about(const blis_cluster *cluster, const blis_request *request) {
  return (blis_pending_event){.session =
                                  blis_intern_text(cluster->source->strings, request->session),
                              .request = request->number,
                              .round_index = request->round_index,
                              .instance = -1};
}

static blis_pending_event of_cluster(const blis_cluster *cluster, size_t i) {
  uint64_t sequence;
  const blis_event event = blis_event_queue_look(cluster->queue, i, &sequence);
  blis_pending_event shown = {.instance = -1};
  if (event.event_class == BLIS__CLUSTER_ADMISSION || event.event_class == BLIS__CLUSTER_ROUTING) {
    const blis__cluster_request *request = event.object;
    shown = about(cluster, &request->request);
  } else if (event.event_class == BLIS__CLUSTER_ARRIVAL) {
    shown = about(cluster, blis_pool_item(&cluster->follow_ups, (uint32_t)event.number));
  }
  shown.time_us = event.time_us;
  shown.kind = kind_of(event.event_class);
  shown.order = event.event_class;
  shown.sequence = sequence;
  return shown;
}

/* What hand-offs have beside the queue, and before what it has. */
static void add_handoffs(const blis_cluster *cluster, blis_pending_event *events, size_t *count) {
  const blis__handoffs *h = cluster->handoffs;
  blis_pending_event shown = {.kind = "hand-off", .instance = -1};
  if (h == NULL) {
    return;
  }
  if (h->links_due_us != BLIS_TIME_NEVER_US) {
    shown.time_us = h->links_due_us;
    shown.order = BLIS__CLUSTER_MOVED;
    add(events, count, &shown);
  }
  for (const blis__handoff *at = h->first_timeout; at != NULL; at = at->later_timeout) {
    shown.time_us = at->timeout_us;
    shown.order = BLIS__CLUSTER_TIMEOUT;
    shown.sequence++;
    add(events, count, &shown);
  }
}

static size_t collect(const blis_cluster *cluster, blis_pending_event *events) {
  size_t count = 0;
  if (cluster->has_arrival) {
    blis_pending_event arrival = about(cluster, &cluster->arrival);
    arrival.time_us = cluster->arrival.arrival_us;
    arrival.kind = "arrival";
    arrival.order = -1; /* before follow-ups of that time */
    add(events, &count, &arrival);
  }
  add_handoffs(cluster, events, &count);
  size_t before = count;
  for (size_t i = 0; i < blis_event_queue_count(cluster->queue); i++) {
    blis_pending_event event = of_cluster(cluster, i);
    event.sequence += before;
    add(events, &count, &event);
  }
  for (uint32_t i = 0; i < cluster->existing; i++) {
    const blis_pending_event event = {.time_us = blis_instance_next_us(cluster->instances[i]),
                                      .kind = "instance",
                                      .instance = (int32_t)i,
                                      .order = OF_INSTANCE,
                                      .sequence = i};
    if (event.time_us != BLIS_TIME_NEVER_US) {
      add(events, &count, &event);
    }
  }
  if (cluster->check_us != BLIS_TIME_NEVER_US) {
    const blis_pending_event event = {
        .time_us = cluster->check_us, .kind = "scaling", .instance = -1, .order = OF_SCALER};
    add(events, &count, &event);
  }
  return count;
}

static int compare(const void *left, const void *right) {
  const blis_pending_event *a = left;
  const blis_pending_event *b = right;
  if (a->time_us != b->time_us) {
    return a->time_us < b->time_us ? -1 : 1;
  }
  if (a->order != b->order) {
    return a->order < b->order ? -1 : 1;
  }
  return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

size_t blis_cluster_pending_count(const blis_cluster *cluster) {
  return collect(cluster, NULL);
}

void blis_cluster_pending_events(const blis_cluster *cluster, blis_pending_event *events) {
  qsort(events, collect(cluster, events), sizeof *events, compare);
}
