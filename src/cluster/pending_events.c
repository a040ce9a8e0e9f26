#include "cluster/pending_events.h"

#include <stdlib.h>

#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/feature.h"

/* Sort keys after all cluster events of the same time. */
enum { OF_INSTANCE = 100, LAST_TURN };

int64_t blis_cluster_next_us(const blis_cluster *cluster) {
  int64_t next_us = blis__cluster_planned_us(cluster);
  const int64_t others_us[] = {
      blis__cluster_instances_next_us(cluster), cluster->hooks.last_turn_us,
      cluster->has_arrival ? cluster->arrival.arrival_us : BLIS_TIME_NEVER_US};
  for (size_t i = 0; i < sizeof others_us / sizeof *others_us; i++) {
    next_us = others_us[i] < next_us ? others_us[i] : next_us;
  }
  return next_us;
}

/* If events is NULL, events are only counted. */
struct blis__pending_list {
  blis_pending_event *events;
  size_t count;
};

void blis__pending_list_add(blis__pending_list *list, const blis_pending_event *event) {
  if (list->events != NULL) {
    list->events[list->count] = *event;
  }
  list->count++;
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
  shown.kind = blis__event_class_of(event.event_class)->kind;
  shown.order = event.event_class;
  shown.sequence = sequence;
  return shown;
}

/*
 * Adds the events of the cluster. Due times of features outside the queue precede the events in the
 * queue.
 */
static void collect_of_cluster(const blis_cluster *cluster, blis__pending_list *list) {
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    if (feature->list_pending != NULL) {
      feature->list_pending(cluster, list);
    }
  }
  size_t before = list->count;
  for (size_t i = 0; i < blis_event_queue_count(cluster->queue); i++) {
    blis_pending_event event = of_cluster(cluster, i);
    event.sequence += before;
    blis__pending_list_add(list, &event);
  }
}

static size_t collect(const blis_cluster *cluster, blis_pending_event *events) {
  blis__pending_list list = {.events = events};
  if (cluster->has_arrival) {
    blis_pending_event arrival = about(cluster, &cluster->arrival);
    arrival.time_us = cluster->arrival.arrival_us;
    arrival.kind = "arrival";
    arrival.order = -1; /* before follow-ups of the same time */
    blis__pending_list_add(&list, &arrival);
  }
  collect_of_cluster(cluster, &list);
  for (uint32_t i = 0; i < cluster->existing; i++) {
    const blis_pending_event event = {.time_us = blis_instance_next_us(cluster->instances[i]),
                                      .kind = "instance",
                                      .instance = (int32_t)i,
                                      .order = OF_INSTANCE,
                                      .sequence = i};
    if (event.time_us != BLIS_TIME_NEVER_US) {
      blis__pending_list_add(&list, &event);
    }
  }
  if (cluster->hooks.last_turn_us != BLIS_TIME_NEVER_US) {
    const blis_pending_event event = {.time_us = cluster->hooks.last_turn_us,
                                      .kind = cluster->hooks.last_turn_kind,
                                      .instance = -1,
                                      .order = LAST_TURN};
    blis__pending_list_add(&list, &event);
  }
  return list.count;
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
