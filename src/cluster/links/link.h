/*
 * link.h - links between instances, and the transfers that share them.
 *
 * A transfer uses a few links at once, such as the network cards of its source and
 * its destination, and has one rate on all of them. Rates are max-min fair.
 * Whenever a transfer starts or ends, each link is shared among its transfers, the
 * tightest link first. Bandwidth that a transfer cannot use because of another link
 * is shared among the rest. Between two such moments bytes flow evenly, so ends are
 * exact real numbers.
 *
 * A link may carry only a part of a transfer, such as one of several network cards
 * of an instance. The transfer uses only that part of its rate there. Fair rates
 * are rates of whole transfers.
 *
 * A transfer may begin before all its bytes are available, and receives them as
 * they are computed, a chunk or a layer at a time. While it lacks bytes, it uses no
 * bandwidth.
 *
 * The module is independent of requests and instances. A transfer with all its
 * bytes and no other transfer on its links is alone: it costs O(transfers) from
 * start to end, without events in between, even at its first byte. Otherwise a
 * change costs O(transfers * links that have something to move). Memory is O(links
 * + transfers).
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
 * Bytes that become ready in equal portions, evenly spaced: the k-th one at
 * from_us + (to_us - from_us) * min(k * portion, 1).
 */
typedef struct blis__feed {
  double bytes; /* >= 0 */
  double from_us;
  double to_us;
  double portion; /* of the bytes, above 0 and at most 1 */
  bool is_last;   /* nothing follows */
} blis__feed;

/* Embedded by its owner, which must not move it during the transfer. */
typedef struct blis__transfer {
  double from_us;    /* when its first byte is sent */
  double end_us;     /* once it has ended */
  double bytes_left; /* of the bytes that are ready */
  double rate;       /* bytes/us; 0 before from_us, and without bytes */
  blis__feed feed;   /* the last one: */
  double portions;   /* of it that are ready */
  bool is_open;      /* more bytes will follow */
  uint32_t links[BLIS__TRANSFER_LINKS_MAX];
  double parts[BLIS__TRANSFER_LINKS_MAX]; /* on each, above 0 and at most 1 */
  uint32_t link_count;
  bool is_on_its_way;
  bool is_alone;   /* its end is computed and counted in its links */
  bool was_shared; /* it has not had a link for itself all the time */
} blis__transfer;

typedef struct blis__link {
  double bytes_per_us; /* INFINITY = takes no time */
  double left;         /* scratch: of its rate, while rates are worked out */
  double wanted;       /* scratch: parts of its unfixed transfers, added up */
  uint32_t unfixed;    /* scratch: of its transfers */
  uint32_t users;      /* current transfers over it */
  uint32_t active;     /* number of these with bytes to move, without single transfers */
  double parts;        /* of those, added up */
  uint32_t peak;       /* at most */
  int64_t transfers;   /* that ended, with bytes that were moved */
  double bytes;
  double busy_us;     /* with at least one transfer */
  double transfer_us; /* added up over its transfers */
} blis__link;

typedef struct blis__links {
  blis_alloc alloc;
  double now_us;
  double bytes;   /* moved so far, without single transfers */
  double next_us; /* when something changes by itself; INFINITY = never */
  size_t alone;   /* how many of the active ones are */
  BLIS_ARRAY(blis__link) all;
  BLIS_ARRAY(blis__transfer *) active; /* also those to come; by start */
  BLIS_ARRAY(blis__transfer *) ended;  /* not yet taken; starts at next_ended */
  BLIS_ARRAY(uint32_t) busy;           /* links with something to move, capacity for all */
  size_t next_ended;
} blis__links;

/* Copies *alloc; allocates nothing yet. */
void blis__links_init(blis__links *links, const blis_alloc *alloc);
void blis__links_deinit(blis__links *links);

/* Before the first transfer. Capacity is above 0; INFINITY is allowed. */
BLIS_MUSTUSE blis_status blis__links_add(blis__links *links, double bytes_per_us, uint32_t *link);

/*
 * Starts a transfer of this number of bytes (>= 0) over its links at
 * transfer->from_us, which is not before now. BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis__links_start(blis__links *links, blis__transfer *transfer,
                                           double bytes);

/* The same, without bytes so far: it ends after its last feed. */
BLIS_MUSTUSE blis_status blis__links_open(blis__links *links, blis__transfer *transfer);

/*
 * Adds bytes to an open transfer. A feed begins now, after the end of the previous
 * feed.
 */
void blis__links_feed(blis__links *links, blis__transfer *transfer, const blis__feed *feed);

/* Stops the transfer in any state. */
void blis__links_stop(blis__links *links, blis__transfer *transfer);

/* Advances to to_us, which is not before now, if there is work. */
void blis__links_go_on(blis__links *links, double to_us);

/* Advances to to_us, which is not before now. */
static inline void blis__links_advance(blis__links *links, double to_us) {
  if (links->next_us > to_us && links->busy.count == 0) {
    links->now_us = to_us;
  } else {
    blis__links_go_on(links, to_us);
  }
}

/*
 * State of a link at now_us, up to which nothing changes by itself; bytes of
 * current transfers are counted so far.
 */
blis__link blis__links_look(const blis__links *links, uint32_t link, double now_us);

/* What all transfers have moved, whatever their parts on links. */
double blis__links_moved(const blis__links *links, double now_us);

/*
 * When there is something to do next: rates change by themselves, or a transfer
 * that has ended waits to be taken; INFINITY = never.
 */
double blis__links_next_us(const blis__links *links);

/*
 * Returns a transfer that has ended by now, in order of ends, and of starts for
 * equal ends; NULL = none is left.
 */
blis__transfer *blis__links_take_ended(blis__links *links);

#endif
