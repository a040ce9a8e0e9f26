#include "policy/replicas/replica.h"

#include <string.h>

void blis__flight_release(blis_pool *flights, uint32_t flight) {
  blis__flight *item = blis_pool_item(flights, flight);
  if (--item->references == 0) {
    blis_pool_give(flights, flight);
  }
}

static bool has_publications(const blis_replica_options *options) {
  return options->shares_in_flight &&
         (options->mode == BLIS_SYNC_PERIODIC || options->mode == BLIS_SYNC_PULL_PUSH);
}

static size_t published_count(const blis__replica_world *world) {
  return (size_t)world->options.count * world->options.instance_count;
}

blis_status blis__replica_init(blis__replica *replica, const blis__replica_world *world,
                               uint32_t number, blis_router *policy) {
  const blis_alloc *alloc = &world->alloc;
  uint32_t instances = world->options.instance_count;
  replica->number = number;
  replica->policy = *policy;
  *policy = (blis_router){0};
  replica->own = blis_alloc_zeroed(alloc, instances, sizeof *replica->own);
  replica->seen = blis_alloc_zeroed(alloc, instances, sizeof *replica->seen);
  if (has_publications(&world->options)) {
    replica->published =
        blis_alloc_zeroed(alloc, published_count(world), sizeof *replica->published);
    if (replica->published == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  return replica->own == NULL || replica->seen == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
}

/* Frees a message that has been taken from the mail. */
static void drop(blis__replica_world *world, blis__mail *mail) {
  if (mail->kind == BLIS__MAIL_BEGAN || mail->kind == BLIS__MAIL_ENDED) {
    blis__flight_release(&world->flights, mail->flight);
  }
  blis__mail_free(&world->alloc, mail);
}

void blis__replica_lose_mail(blis__replica *replica, blis__replica_world *world, int64_t until_us) {
  for (blis__mail *mail; (mail = blis__mailbox_take(&replica->mail, until_us)) != NULL;) {
    replica->report.messages_lost++;
    drop(world, mail);
  }
}

void blis__replica_deinit(blis__replica *replica, blis__replica_world *world) {
  const blis_alloc *alloc = &world->alloc;
  uint32_t instances = world->options.instance_count;
  for (blis__mail *mail; (mail = blis__mailbox_take(&replica->mail, INT64_MAX)) != NULL;) {
    drop(world, mail);
  }
  blis__mailbox_deinit(&replica->mail, alloc);
  blis_router_free(&replica->policy);
  blis_array_deinit(alloc, &replica->expiries);
  blis_alloc_free(alloc, replica->own, instances * sizeof *replica->own);
  blis_alloc_free(alloc, replica->seen, instances * sizeof *replica->seen);
  if (replica->published != NULL) {
    blis_alloc_free(alloc, replica->published, published_count(world) * sizeof *replica->published);
  }
}

void blis__replica_count(blis__replica *replica, const blis__replica_world *world,
                         uint32_t instance, double change) {
  replica->own[instance] += change;
  replica->has_news = true;
  if (!world->options.own_is_published) {
    replica->seen[instance] += change;
  }
}

/* Stops counting a request of another replica. */
static void stop_counting(blis__replica *replica, blis__replica_world *world, uint32_t number) {
  blis__flight *flight = blis_pool_item(&world->flights, number);
  if (flight->known[replica->number] == BLIS__COUNTED) {
    flight->known[replica->number] = BLIS__OVER;
    replica->seen[flight->instance]--;
    blis__flight_release(&world->flights, number);
  }
}

/* Ends counts that have expired. Each expiry holds a reference. */
static void expire(blis__replica *replica, blis__replica_world *world, int64_t now_us) {
  while (replica->expired < replica->expiries.count &&
         replica->expiries.items[replica->expired].at_us <= now_us) {
    uint32_t flight = replica->expiries.items[replica->expired++].flight;
    stop_counting(replica, world, flight);
    blis__flight_release(&world->flights, flight);
  }
  size_t left = replica->expiries.count - replica->expired;
  if (replica->expired > 0 && replica->expired >= left) { /* costs less than the expiries did */
    blis__expiry *items = replica->expiries.items;
    memmove(items, items + replica->expired, left * sizeof *items);
    replica->expired = 0;
    replica->expiries.count = left;
  }
}

static blis_status start_counting(blis__replica *replica, blis__replica_world *world,
                                  const blis__mail *mail) {
  blis__flight *flight = blis_pool_item(&world->flights, mail->flight);
  if (flight->known[replica->number] != BLIS__UNKNOWN) {
    return BLIS_OK;
  }
  if (world->options.ttl_us > 0) {
    const blis__expiry expiry = {mail->node.key + world->options.ttl_us, mail->flight};
    BLIS_TRY(blis_array_push(&world->alloc, &replica->expiries, expiry));
    flight->references++;
  }
  flight->known[replica->number] = BLIS__COUNTED;
  flight->references++;
  replica->seen[flight->instance]++;
  return BLIS_OK;
}

/* Replaces the counts of a sender with its latest counts. */
static void take_counts(blis__replica *replica, const blis__mail *mail) {
  double *last = replica->published + (size_t)mail->sender * mail->entries;
  for (uint32_t i = 0; i < mail->entries; i++) {
    replica->seen[i] += mail->counts[i] - last[i];
    last[i] = mail->counts[i];
  }
}

static blis_status learn(blis__replica *replica, const blis__note *note, const blis_question *q) {
  const blis_router *policy = &replica->policy;
  size_t candidate = blis_routing_view_find(q->view, blis__note_instance(note));
  return candidate == q->view->count
             ? BLIS_OK
             : policy->ops->learn(
                   &(blis_question){policy->state, blis__note_request(note), q->view, q->error},
                   candidate);
}

static blis_status read_mail(blis__replica *replica, blis__replica_world *world,
                             const blis__mail *mail, const blis_question *q) {
  switch (mail->kind) {
  case BLIS__MAIL_DECISION:
    return learn(replica, mail->note, q);
  case BLIS__MAIL_BEGAN:
    BLIS_TRY_MEM(start_counting(replica, world, mail), q->error);
    return BLIS_OK;
  case BLIS__MAIL_ENDED:
    stop_counting(replica, world, mail->flight);
    return BLIS_OK;
  case BLIS__MAIL_COUNTS:
    break;
  }
  take_counts(replica, mail);
  return BLIS_OK;
}

blis_status blis__replica_receive(blis__replica *replica, blis__replica_world *world,
                                  const blis_question *q) {
  int64_t now_us = q->view->now_us;
  for (blis__mail *mail; (mail = blis__mailbox_take(&replica->mail, now_us)) != NULL;) {
    expire(replica, world, mail->node.key);
    replica->report.messages_received++;
    replica->report.delivery_sum_us += now_us - mail->sent_us;
    blis_status status = read_mail(replica, world, mail, q);
    drop(world, mail);
    BLIS_TRY(status);
  }
  expire(replica, world, now_us);
  return BLIS_OK;
}

/* Ends the replica's counts of other replicas' requests, including counts that never expire. */
static void forget_flights(blis__replica *replica, blis__replica_world *world) {
  expire(replica, world, INT64_MAX);
  for (uint32_t i = 0; i < world->flights.links.count; i++) {
    if (blis_pool_is_live(&world->flights, i)) {
      stop_counting(replica, world, i);
    }
  }
}

void blis__replica_crash(blis__replica *replica, blis__replica_world *world, blis_router *policy) {
  blis__replica_lose_mail(replica, world, INT64_MAX);
  forget_flights(replica, world);
  uint32_t instances = world->options.instance_count;
  memset(replica->own, 0, instances * sizeof *replica->own);
  memset(replica->seen, 0, instances * sizeof *replica->seen);
  if (replica->published != NULL) {
    memset(replica->published, 0, published_count(world) * sizeof *replica->published);
  }
  replica->incarnation++;
  replica->connections = 0;
  replica->has_news = true;
  if (policy != NULL) {
    blis_router next = *policy;
    *policy = replica->policy; /* its name may still be in use */
    replica->policy = next;
  }
}
