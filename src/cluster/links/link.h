/*
 * link.h - links between instances, and the transfers that share them.
 *
 * A transfer uses several links at the same time, such as the network cards of its source and its
 * destination, and has the same rate on all of them. Rates are max-min fair. Whenever a transfer
 * starts or ends, each link is divided among its transfers, starting with the most congested link.
 * Bandwidth that a transfer cannot use because of another link is divided among the other
 * transfers. Between two such events, rates are constant, so end times are exact real numbers.
 *
 * A link may carry only a part of a transfer, such as one of several network cards of an instance.
 * The transfer then uses only this part of its rate on the link. Fairness applies to the rates of
 * whole transfers.
 *
 * A transfer may begin before all its bytes are available, and gets more bytes as they are
 * computed, one chunk or layer at a time. While it has no bytes to send, it uses no bandwidth.
 *
 * The module is independent of requests and instances. A transfer that has all its bytes and shares
 * no link is called single. It costs O(transfers) from start to end, without intermediate events,
 * not even at its first byte. Otherwise, a change costs O(transfers * busy links). Memory is
 * O(links + transfers).
 */
#ifndef BLIS_CLUSTER_LINKS_LINK_H
#define BLIS_CLUSTER_LINKS_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"

enum { BLIS__TRANSFER_LINKS_MAX = 4 };

/*
 * Bytes that become ready in equal portions at regular intervals. Portion k is ready at from_us +
 * (to_us - from_us) * min(k * portion, 1).
 */
typedef struct blis__feed {
  double bytes; /* >= 0 */
  double from_us;
  double to_us;
  double portion; /* fraction of the bytes, above 0 and at most 1 */
  bool is_last;   /* no further feed follows */
} blis__feed;

/* Embedded in its owner. It must not move during the transfer. */
typedef struct blis__transfer {
  double from_us;    /* time when its first byte is sent */
  double end_us;     /* time when it ended, set at its end */
  double bytes_left; /* ready bytes that are not sent yet */
  double rate;       /* bytes/us; 0 before from_us and without ready bytes */
  blis__feed feed;   /* the last feed */
  double portions;   /* number of ready portions of feed */
  bool is_open;      /* more bytes will follow */
  uint32_t links[BLIS__TRANSFER_LINKS_MAX];
  /* Fraction of the transfer on each link, above 0 and at most 1. */
  double parts[BLIS__TRANSFER_LINKS_MAX];
  uint32_t link_count;
  bool is_on_its_way;
  bool is_alone;   /* it is single: its end is computed and counted in its links */
  bool was_shared; /* it has shared a link at some time */
} blis__transfer;

typedef struct blis__link {
  double bytes_per_us; /* INFINITY = takes no time */
  double left;         /* scratch: remaining rate while rates are computed */
  double wanted;       /* scratch: sum of the parts of its unfixed transfers */
  uint32_t unfixed;    /* scratch: number of its transfers without a fixed rate */
  uint32_t users;      /* number of current transfers on the link */
  uint32_t active;     /* number of these with bytes to send, without single transfers */
  double parts;        /* sum of the parts of the active transfers */
  uint32_t peak;       /* maximum number of concurrent transfers */
  int64_t transfers;   /* completed transfers that moved bytes */
  double bytes;
  double busy_us;     /* time with at least one transfer */
  double transfer_us; /* total duration of its transfers */
} blis__link;

typedef struct blis__links {
  blis_alloc alloc;
  double now_us;
  double bytes;   /* bytes moved so far, without single transfers */
  double next_us; /* time of the next change without external input; INFINITY = never */
  size_t alone;   /* number of active transfers that are single */
  BLIS_ARRAY(blis__link) all;
  BLIS_ARRAY(blis__transfer *) active; /* in order of start; includes transfers that start later */
  BLIS_ARRAY(blis__transfer *) ended;  /* not yet returned; starts at next_ended */
  BLIS_ARRAY(uint32_t) busy;           /* links with bytes to move; capacity for all links */
  size_t next_ended;
} blis__links;

/* Copies *alloc; allocates nothing yet. */
void blis__links_init(blis__links *links, const blis_alloc *alloc);
void blis__links_deinit(blis__links *links);

/* Adds a link, before the first transfer. bytes_per_us must be above 0; INFINITY is allowed. */
BLIS_MUSTUSE blis_status blis__links_add(blis__links *links, double bytes_per_us, uint32_t *link);

/*
 * Starts a transfer of `bytes` bytes (>= 0) over its links at transfer->from_us, which must not be
 * in the past. BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis__links_start(blis__links *links, blis__transfer *transfer,
                                           double bytes);

/* Like blis__links_start, without any bytes yet. The transfer ends after its last feed. */
BLIS_MUSTUSE blis_status blis__links_open(blis__links *links, blis__transfer *transfer);

/*
 * Adds bytes to an open transfer. The feed begins now, which must be after the end of the previous
 * feed.
 */
void blis__links_feed(blis__links *links, blis__transfer *transfer, const blis__feed *feed);

/* Stops the transfer in any state. */
void blis__links_stop(blis__links *links, blis__transfer *transfer);

/* Advances to to_us, which must not be in the past, if there is work. */
void blis__links_go_on(blis__links *links, double to_us);

/* Advances to to_us, which must not be in the past. */
static inline void blis__links_advance(blis__links *links, double to_us) {
  if (links->next_us > to_us && links->busy.count == 0) {
    links->now_us = to_us;
  } else {
    blis__links_go_on(links, to_us);
  }
}

/*
 * Returns the state of a link at now_us, including the bytes that current transfers have moved by
 * then. No change may be due before now_us.
 */
blis__link blis__links_look(const blis__links *links, uint32_t link, double now_us);

/* Returns the bytes that all transfers have moved, regardless of their parts on links. */
double blis__links_moved(const blis__links *links, double now_us);

/*
 * Returns when work is due next: rates change, or an ended transfer waits to be returned; INFINITY
 * = never.
 */
double blis__links_next_us(const blis__links *links);

/*
 * Returns the next transfer that has ended by now, in the order of end times, then of start times;
 * NULL = no more transfers.
 */
blis__transfer *blis__links_take_ended(blis__links *links);

#endif
