#include "cluster/link.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"

void blis__links_init(blis__links *links, const blis_alloc *alloc) {
  *links = (blis__links){.alloc = *alloc};
}

void blis__links_deinit(blis__links *links) {
  blis_array_deinit(&links->alloc, &links->all);
  blis_array_deinit(&links->alloc, &links->active);
  blis_array_deinit(&links->alloc, &links->ended);
}

blis_status blis__links_add(blis__links *links, double bytes_per_us,
                            uint32_t *link) {
  BLIS_ASSERT(bytes_per_us > 0);
  *link = (uint32_t)links->all.count;
  const blis__link added = {.bytes_per_us = bytes_per_us};
  return blis_array_push(&links->alloc, &links->all, added);
}

static bool has_begun(const blis__links *links, const blis__transfer *t) {
  return t->from_us <= links->now_us;
}

static bool is_on(const blis__transfer *t, uint32_t link) {
  for (uint32_t k = 0; k < t->link_count; k++) {
    if (t->links[k] == link) {
      return true;
    }
  }
  return false;
}

/* All links as they are without a transfer. */
static void clear_shares(blis__links *links) {
  for (size_t i = 0; i < links->all.count; i++) {
    blis__link *link = &links->all.items[i];
    link->left = link->bytes_per_us;
    link->unfixed = 0;
  }
  for (size_t i = 0; i < links->active.count; i++) {
    blis__transfer *t = links->active.items[i];
    t->rate = has_begun(links, t) ? -1 : 0; /* -1: still to be worked out */
    for (uint32_t k = 0; k < t->link_count && t->rate < 0; k++) {
      links->all.items[t->links[k]].unfixed++;
    }
  }
  for (size_t i = 0; i < links->all.count; i++) {
    blis__link *link = &links->all.items[i];
    link->active = link->unfixed;
    link->peak = link->active > link->peak ? link->active : link->peak;
  }
}

/* The link that has least for each of its transfers; false = none is left. */
static bool find_tightest(const blis__links *links, uint32_t *tightest,
                          double *share) {
  bool found = false;
  for (size_t i = 0; i < links->all.count; i++) {
    const blis__link *link = &links->all.items[i];
    double its = link->left / link->unfixed;
    if (link->unfixed > 0 && (!found || its < *share)) {
      *tightest = (uint32_t)i;
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
    if (isfinite(link->left)) {
      link->left = fmax(link->left - rate, 0);
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

/* When it ends at its rate; INFINITY before it has begun. */
static double end_of(const blis__links *links, const blis__transfer *t) {
  if (t->rate <= 0) {
    return INFINITY;
  }
  return isinf(t->rate) ? links->now_us
                        : links->now_us + t->bytes_left / t->rate;
}

double blis__links_next_us(const blis__links *links) {
  double next_us = INFINITY;
  for (size_t i = 0; i < links->active.count; i++) {
    const blis__transfer *t = links->active.items[i];
    next_us =
        fmin(next_us, has_begun(links, t) ? end_of(links, t) : t->from_us);
  }
  return next_us;
}

/* Bytes flow until then; nothing begins or ends before. */
static void flow(blis__links *links, double to_us) {
  double us = to_us - links->now_us;
  for (size_t i = 0; i < links->active.count && us > 0; i++) {
    blis__transfer *t = links->active.items[i];
    double bytes = isfinite(t->rate) ? fmin(t->rate * us, t->bytes_left) : 0;
    t->bytes_left -= bytes;
    for (uint32_t k = 0; k < t->link_count; k++) {
      links->all.items[t->links[k]].bytes += bytes;
    }
  }
  for (size_t i = 0; i < links->all.count && us > 0; i++) {
    blis__link *link = &links->all.items[i];
    link->busy_us += link->active > 0 ? us : 0;
    link->transfer_us += link->active * us;
  }
  links->now_us = to_us;
}

static void remove_at(blis__links *links, size_t i) {
  blis__transfer **items = links->active.items;
  items[i]->is_on_its_way = false;
  links->active.count--;
  memmove(&items[i], &items[i + 1],
          (links->active.count - i) * sizeof(blis__transfer *));
}

static void end(blis__links *links, size_t i) {
  blis__transfer *t = links->active.items[i];
  for (uint32_t k = 0; k < t->link_count; k++) {
    blis__link *link = &links->all.items[t->links[k]];
    link->bytes += t->bytes_left; /* what rounding has left */
    link->transfers++;
  }
  t->bytes_left = 0;
  remove_at(links, i);
  links->ended.items[links->ended.count++] = t; /* room since its start */
}

void blis__links_advance(blis__links *links, double to_us) {
  BLIS_ASSERT(to_us >= links->now_us);
  for (double next_us = blis__links_next_us(links); next_us <= to_us;
       next_us = blis__links_next_us(links)) {
    for (size_t i = 0; i < links->active.count; i++) {
      blis__transfer *t = links->active.items[i];
      t->end_us = end_of(links, t); /* at its rate, before time goes on */
    }
    flow(links, next_us);
    for (size_t i = 0; i < links->active.count;) {
      if (links->active.items[i]->end_us <= next_us) {
        end(links, i);
      } else {
        i++;
      }
    }
    share_out(links);
  }
  flow(links, to_us);
}

blis_status blis__links_start(blis__links *links, blis__transfer *transfer,
                              double bytes) {
  BLIS_ASSERT(transfer->from_us >= links->now_us && bytes >= 0);
  BLIS_ASSERT(transfer->link_count <= BLIS__TRANSFER_LINKS_MAX &&
              !transfer->is_on_its_way);
  BLIS_TRY(blis_array_reserve(&links->alloc, &links->active,
                              links->active.count + 1));
  BLIS_TRY(blis_array_reserve(&links->alloc, &links->ended,
                              links->ended.count + links->active.count + 1));
  transfer->bytes_left = bytes;
  transfer->rate = 0;
  transfer->was_shared = false;
  transfer->is_on_its_way = true;
  links->active.items[links->active.count++] = transfer;
  share_out(links);
  return BLIS_OK;
}

void blis__links_stop(blis__links *links, blis__transfer *transfer) {
  for (size_t i = 0; i < links->active.count; i++) {
    if (links->active.items[i] == transfer) {
      remove_at(links, i);
      share_out(links);
      return;
    }
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
