#include "cluster/links/link.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"

void blis__links_init(blis__links *links, const blis_alloc *alloc) {
  *links = (blis__links){.alloc = *alloc, .next_us = INFINITY};
}

void blis__links_deinit(blis__links *links) {
  blis_array_deinit(&links->alloc, &links->all);
  blis_array_deinit(&links->alloc, &links->active);
  blis_array_deinit(&links->alloc, &links->ended);
  blis_array_deinit(&links->alloc, &links->busy);
}

blis_status blis__links_add(blis__links *links, double bytes_per_us, uint32_t *link) {
  BLIS_ASSERT(bytes_per_us > 0);
  *link = (uint32_t)links->all.count;
  BLIS_TRY(blis_array_reserve(&links->alloc, &links->busy, links->all.count + 1));
  const blis__link added = {.bytes_per_us = bytes_per_us};
  return blis_array_push(&links->alloc, &links->all, added);
}

static bool has_begun(const blis__links *links, const blis__transfer *t) {
  return t->from_us <= links->now_us;
}

/* Returns the bytes of its last feed that are not ready yet. */
static double to_come(const blis__transfer *t) {
  return t->feed.bytes * fmax(1 - t->portions * t->feed.portion, 0);
}

/* Returns the time at which the next portion is ready; INFINITY = no further portion. */
static double ready_us(const blis__transfer *t) {
  const blis__feed *feed = &t->feed;
  double share = fmin((t->portions + 1) * feed->portion, 1);
  return to_come(t) > 0 ? feed->from_us + (feed->to_us - feed->from_us) * share : (double)INFINITY;
}

/* Adds the bytes that are ready by now to bytes_left. */
static void take_ready(const blis__links *links, blis__transfer *t) {
  while (ready_us(t) <= links->now_us) {
    double before = to_come(t);
    t->portions++;
    t->bytes_left += before - to_come(t);
  }
}

/* Returns whether the transfer has bytes to move, or has moved all bytes but not ended. */
static bool is_flowing(const blis__links *links, const blis__transfer *t) {
  return has_begun(links, t) && (t->bytes_left > 0 || !(t->is_open || to_come(t) > 0));
}

/* Returns the size of its part on a link; 0 = it does not use the link. */
static double part_on(const blis__transfer *t, uint32_t link) {
  for (uint32_t k = 0; k < t->link_count; k++) {
    if (t->links[k] == link) {
      return t->parts[k];
    }
  }
  return 0;
}

static bool is_on(const blis__transfer *t, uint32_t link) {
  return part_on(t, link) > 0;
}

static blis__link *busy_link(const blis__links *links, size_t i) {
  return &links->all.items[links->busy.items[i]];
}

static void count_on_links(blis__links *links, const blis__transfer *t) {
  for (uint32_t k = 0; k < t->link_count; k++) {
    blis__link *link = &links->all.items[t->links[k]];
    if (link->unfixed++ == 0) {
      link->left = link->bytes_per_us;
      link->wanted = 0;
      links->busy.items[links->busy.count++] = t->links[k];
    }
    link->wanted += t->parts[k];
  }
}

/* Clears the allocation of links to transfers. Rates are computed later. */
static void clear_shares(blis__links *links) {
  for (size_t i = 0; i < links->busy.count; i++) {
    busy_link(links, i)->active = 0;
    busy_link(links, i)->parts = 0;
  }
  links->busy.count = 0;
  for (size_t i = 0; i < links->active.count; i++) {
    blis__transfer *t = links->active.items[i];
    if (t->is_alone) {
      continue;
    }
    t->rate = 0;
    if (is_flowing(links, t)) {
      t->rate = -1;
      count_on_links(links, t);
    }
  }
  for (size_t i = 0; i < links->busy.count; i++) {
    blis__link *link = busy_link(links, i);
    link->active = link->unfixed;
    link->parts = link->wanted;
    link->peak = link->active > link->peak ? link->active : link->peak;
  }
}

/* Returns the rate of each of its transfers if this link limits them. */
static double share_of(const blis__link *link) {
  return link->wanted > 0 ? link->left / link->wanted : (double)INFINITY;
}

/* Finds the link with the lowest rate per transfer. Returns false if there are no more links. */
static bool find_tightest(const blis__links *links, uint32_t *tightest, double *share) {
  bool found = false;
  for (size_t i = 0; i < links->busy.count; i++) {
    const blis__link *link = busy_link(links, i);
    if (link->unfixed == 0) {
      continue;
    }
    double its = share_of(link);
    if (!found || its < *share) {
      *tightest = links->busy.items[i];
      *share = its;
      found = true;
    }
  }
  return found;
}

static void fix(blis__links *links, blis__transfer *t, double rate) {
  t->rate = rate;
  for (uint32_t k = 0; k < t->link_count; k++) {
    blis__link *link = &links->all.items[t->links[k]];
    t->was_shared |= link->active > 1;
    link->unfixed--;
    link->wanted -= t->parts[k];
    if (isfinite(link->left)) {
      link->left = fmax(link->left - rate * t->parts[k], 0);
    }
  }
}

static void share_out(blis__links *links) {
  uint32_t tightest = 0;
  double share = 0;
  clear_shares(links);
  while (find_tightest(links, &tightest, &share)) {
    for (size_t i = 0; i < links->active.count; i++) {
      blis__transfer *t = links->active.items[i];
      if (t->rate < 0 && is_on(t, tightest)) {
        fix(links, t, share);
      }
    }
  }
}

/*
 * Returns when the transfer has moved its ready bytes at its current rate; INFINITY without a rate.
 */
static double end_of(const blis__links *links, const blis__transfer *t) {
  if (t->rate <= 0) {
    return INFINITY;
  }
  return isinf(t->rate) ? links->now_us : links->now_us + t->bytes_left / t->rate;
}

/* Finds the time of the next rate change. */
static void find_next(blis__links *links) {
  double next_us = INFINITY;
  for (size_t i = 0; i < links->active.count; i++) {
    const blis__transfer *t = links->active.items[i];
    if (t->is_alone) {
      next_us = fmin(next_us, t->end_us);
      continue;
    }
    next_us = fmin(next_us, has_begun(links, t) ? end_of(links, t) : t->from_us);
    next_us = fmin(next_us, ready_us(t));
  }
  links->next_us = next_us;
}

double blis__links_next_us(const blis__links *links) {
  return links->next_ended < links->ended.count ? links->now_us : links->next_us;
}

/* Returns the bytes that a transfer with shared links moves in this time at its rate. */
static double moved_in(const blis__transfer *t, double us) {
  return isfinite(t->rate) ? fmin(t->rate * us, t->bytes_left) : 0;
}

static void count_bytes(blis__links *links, const blis__transfer *t, double bytes) {
  links->bytes += bytes;
  for (uint32_t k = 0; k < t->link_count; k++) {
    links->all.items[t->links[k]].bytes += bytes * t->parts[k];
  }
}

/* Moves bytes until to_us. No transfer may begin or end before. */
static void flow(blis__links *links, double to_us) {
  double us = to_us - links->now_us;
  links->now_us = to_us;
  if (us == 0 || links->busy.count == 0) {
    return;
  }
  for (size_t i = 0; i < links->active.count; i++) {
    blis__transfer *t = links->active.items[i];
    if (t->is_alone) {
      continue;
    }
    double bytes = moved_in(t, us);
    t->bytes_left -= bytes;
    count_bytes(links, t, bytes);
  }
  for (size_t i = 0; i < links->busy.count; i++) {
    blis__link *link = busy_link(links, i);
    link->busy_us += us;
    link->transfer_us += link->active * us;
  }
}

/* Single transfers, which share no links. */

/* Returns whether a transfer is single until another transfer starts. */
static bool is_without_others(const blis__links *links, const blis__transfer *t) {
  for (uint32_t k = 0; k < t->link_count; k++) {
    if (links->all.items[t->links[k]].users > 0) {
      return false;
    }
  }
  return true;
}

static void count_user(blis__links *links, const blis__transfer *t, int by) {
  for (uint32_t k = 0; k < t->link_count; k++) {
    links->all.items[t->links[k]].users += (uint32_t)by;
  }
}

static void begin_alone(blis__links *links, blis__transfer *t) {
  double rate = INFINITY;
  for (uint32_t k = 0; k < t->link_count; k++) {
    rate = fmin(rate, links->all.items[t->links[k]].bytes_per_us / t->parts[k]);
  }
  t->is_alone = true;
  links->alone++;
  t->rate = rate;
  t->end_us = t->from_us + (isinf(rate) ? 0 : t->bytes_left / rate);
}

/* Returns the bytes that a single transfer has moved by this time. */
static double moved_alone(const blis__transfer *t, double now_us) {
  if (now_us >= t->end_us) {
    return t->bytes_left;
  }
  return now_us > t->from_us ? t->rate * (now_us - t->from_us) : 0;
}

/* Updates its links with the bytes moved so far. */
static void leave_alone(blis__links *links, blis__transfer *t) {
  double us = fmin(links->now_us, t->end_us) - t->from_us;
  double bytes = moved_alone(t, links->now_us);
  t->is_alone = false;
  links->alone--;
  t->bytes_left -= bytes;
  if (us < 0) {
    return;
  }
  links->bytes += bytes;
  for (uint32_t k = 0; k < t->link_count; k++) {
    blis__link *link = &links->all.items[t->links[k]];
    link->bytes += bytes * t->parts[k];
    link->busy_us += us;
    link->transfer_us += us;
    link->peak = link->peak == 0 ? 1 : link->peak;
  }
}

/*
 * Handles a new transfer that shares links with single transfers, which are then no longer single.
 */
static bool join_others(blis__links *links, const blis__transfer *newcomer) {
  bool has_joined = false;
  for (size_t i = 0; i < links->active.count; i++) {
    blis__transfer *t = links->active.items[i];
    for (uint32_t k = 0; t->is_alone && k < newcomer->link_count; k++) {
      if (is_on(t, newcomer->links[k])) {
        leave_alone(links, t);
        has_joined = true;
      }
    }
  }
  return has_joined;
}

/* Adds the only transfer of a link to the link's state. */
static void look_at_alone(const blis__transfer *t, double part, double now_us, blis__link *seen) {
  double us = fmin(now_us, t->end_us) - t->from_us;
  seen->bytes += moved_alone(t, now_us) * part;
  seen->busy_us += fmax(us, 0);
  seen->transfer_us += fmax(us, 0);
  seen->active = us >= 0;
  seen->parts = us >= 0 ? part : 0;
  seen->peak = us >= 0 && seen->peak == 0 ? 1 : seen->peak;
}

blis__link blis__links_look(const blis__links *links, uint32_t link, double now_us) {
  blis__link seen = links->all.items[link];
  double since_us = fmax(now_us - links->now_us, 0);
  for (size_t i = 0; seen.users > 0 && i < links->active.count; i++) {
    const blis__transfer *t = links->active.items[i];
    double part = part_on(t, link);
    if (part > 0 && t->is_alone) {
      look_at_alone(t, part, now_us, &seen);
      return seen;
    }
    seen.bytes += part * moved_in(t, since_us);
  }
  seen.busy_us += seen.active > 0 ? since_us : 0;
  seen.transfer_us += since_us * seen.active;
  return seen;
}

double blis__links_moved(const blis__links *links, double now_us) {
  double bytes = links->bytes;
  double since_us = fmax(now_us - links->now_us, 0);
  for (size_t i = 0; i < links->active.count; i++) {
    const blis__transfer *t = links->active.items[i];
    bytes += t->is_alone ? moved_alone(t, now_us) : moved_in(t, since_us);
  }
  return bytes;
}

/* Ends. */

static void remove_at(blis__links *links, size_t i) {
  blis__transfer **items = links->active.items;
  items[i]->is_on_its_way = false;
  count_user(links, items[i], -1);
  links->active.count--;
  if (i < links->active.count) {
    memmove(&items[i], &items[i + 1], (links->active.count - i) * sizeof(blis__transfer *));
  }
}

static void end(blis__links *links, size_t i) {
  blis__transfer *t = links->active.items[i];
  for (uint32_t k = 0; k < t->link_count; k++) {
    links->all.items[t->links[k]].transfers++;
  }
  remove_at(links, i);
  links->ended.items[links->ended.count++] = t; /* capacity was reserved at its start */
}

/* Records that a transfer has moved all ready bytes. */
static void drain(blis__links *links, blis__transfer *t) {
  count_bytes(links, t, t->bytes_left); /* remainder due to rounding */
  t->bytes_left = 0;
}

/* Updates a transfer. Returns true if it has ended. */
static bool settle_one(blis__links *links, blis__transfer *t) {
  bool is_drained = t->end_us <= links->now_us;
  if (t->is_alone) {
    if (is_drained) {
      leave_alone(links, t);
    }
    return is_drained;
  }
  if (is_drained) {
    drain(links, t);
  }
  if (is_drained && !t->is_open && to_come(t) == 0) {
    return true;
  }
  take_ready(links, t);
  return false;
}

/* Updates all transfers and removes those that have ended. */
static void settle(blis__links *links) {
  bool is_shared = false;
  for (size_t i = 0; i < links->active.count;) {
    blis__transfer *t = links->active.items[i];
    is_shared |= !t->is_alone;
    if (settle_one(links, t)) {
      end(links, i);
    } else {
      i++;
    }
  }
  if (is_shared) {
    share_out(links);
  }
  find_next(links);
}

/* Advances to to_us while all transfers are single, so that only ends occur. */
static void end_alone(blis__links *links, double to_us) {
  while (links->next_us <= to_us) {
    double now_us = links->next_us;
    links->now_us = now_us;
    links->next_us = INFINITY;
    for (size_t i = 0; i < links->active.count;) {
      blis__transfer *t = links->active.items[i];
      if (t->end_us <= now_us) {
        leave_alone(links, t);
        end(links, i);
      } else {
        links->next_us = fmin(links->next_us, t->end_us);
        i++;
      }
    }
  }
  links->now_us = to_us;
}

void blis__links_go_on(blis__links *links, double to_us) {
  BLIS_ASSERT(to_us >= links->now_us);
  if (links->alone == links->active.count && links->busy.count == 0) {
    end_alone(links, to_us);
    return;
  }
  while (links->next_us <= to_us) {
    for (size_t i = 0; i < links->active.count; i++) {
      blis__transfer *t = links->active.items[i];
      if (!t->is_alone) {
        t->end_us = end_of(links, t); /* at its rate, before the time advances */
      }
    }
    flow(links, links->next_us);
    settle(links);
  }
  bool is_flowing_on = links->busy.count > 0 && to_us > links->now_us;
  flow(links, to_us);
  if (is_flowing_on) {
    find_next(links); /* computed from this time, so that results are bit-exact */
  }
}

static void add(blis__links *links, blis__transfer *transfer) {
  count_user(links, transfer, 1);
  links->active.items[links->active.count++] = transfer;
}

static blis_status start(blis__links *links, blis__transfer *transfer, double bytes, bool is_open) {
  BLIS_ASSERT(transfer->from_us >= links->now_us && bytes >= 0);
  BLIS_ASSERT(transfer->link_count <= BLIS__TRANSFER_LINKS_MAX && !transfer->is_on_its_way);
  BLIS_TRY(blis_array_reserve(&links->alloc, &links->active, links->active.count + 1));
  BLIS_TRY(blis_array_reserve(&links->alloc, &links->ended,
                              links->ended.count + links->active.count + 1));
  transfer->bytes_left = bytes;
  transfer->rate = 0;
  transfer->feed = (blis__feed){.portion = 1};
  transfer->portions = 0;
  transfer->is_open = is_open;
  transfer->was_shared = false;
  transfer->is_on_its_way = true;
  transfer->is_alone = false;
  if (!is_open && is_without_others(links, transfer)) {
    begin_alone(links, transfer);
    add(links, transfer);
    links->next_us = fmin(links->next_us, transfer->end_us);
    return BLIS_OK;
  }
  bool changes_rates = join_others(links, transfer) || has_begun(links, transfer);
  add(links, transfer);
  if (changes_rates) {
    share_out(links);
  }
  find_next(links);
  return BLIS_OK;
}

blis_status blis__links_start(blis__links *links, blis__transfer *transfer, double bytes) {
  return start(links, transfer, bytes, false);
}

blis_status blis__links_open(blis__links *links, blis__transfer *transfer) {
  return start(links, transfer, 0, true);
}

void blis__links_feed(blis__links *links, blis__transfer *transfer, const blis__feed *feed) {
  BLIS_ASSERT(transfer->is_on_its_way && transfer->is_open);
  BLIS_ASSERT(to_come(transfer) == 0 && feed->bytes >= 0);
  BLIS_ASSERT(feed->portion > 0 && feed->portion <= 1);
  transfer->feed = *feed;
  transfer->portions = 0;
  transfer->is_open = !feed->is_last;
  take_ready(links, transfer);
  share_out(links);
  find_next(links);
}

void blis__links_stop(blis__links *links, blis__transfer *transfer) {
  for (size_t i = 0; i < links->active.count; i++) {
    if (links->active.items[i] != transfer) {
      continue;
    }
    bool was_alone = transfer->is_alone;
    if (was_alone) {
      leave_alone(links, transfer);
    }
    remove_at(links, i);
    if (!was_alone) {
      share_out(links);
    }
    find_next(links);
    return;
  }
  for (size_t i = links->next_ended; i < links->ended.count; i++) {
    if (links->ended.items[i] == transfer) {
      links->ended.items[i] = NULL;
    }
  }
}

blis__transfer *blis__links_take_ended(blis__links *links) {
  while (links->next_ended < links->ended.count) {
    blis__transfer *t = links->ended.items[links->next_ended++];
    if (t != NULL) {
      return t;
    }
  }
  links->next_ended = 0;
  links->ended.count = 0;
  return NULL;
}
