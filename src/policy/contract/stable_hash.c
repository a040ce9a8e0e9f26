#include "policy/contract/stable_hash.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"

enum { WORD_SIZE = 8 };

static void put_little_endian(unsigned char *bytes, uint64_t value) {
  for (int i = 0; i < WORD_SIZE; i++) {
    bytes[i] = (unsigned char)(value >> 8 * i);
  }
}

uint64_t blis_stable_hash_start(const char *model) {
  const blis_hash_part name = {model, strlen(model)};
  return blis_xxh64(&name, 1);
}

uint64_t blis_stable_hash_next(uint64_t hash, const void *block, size_t size) {
  unsigned char before[WORD_SIZE];
  put_little_endian(before, hash);
  const blis_hash_part parts[] = {{before, WORD_SIZE}, {block, size}};
  return blis_xxh64(parts, 2);
}

uint64_t blis_stable_hash_weight(const char *instance_id, uint64_t prefix_hash) {
  unsigned char hash[WORD_SIZE];
  put_little_endian(hash, prefix_hash);
  const blis_hash_part parts[] = {{instance_id, strlen(instance_id) + 1}, {hash, WORD_SIZE}};
  return blis_xxh64(parts, 2);
}

/* A stretch of content. The request's own tokens have an offset above all other offsets. */
typedef struct stretch {
  uint64_t stream;
  uint64_t offset_tokens;
  uint64_t length_tokens;
} stretch;

#define OWN_OFFSET UINT64_MAX

/* Position of a walk over the content of a prompt. */
typedef struct walk {
  const blis_routing_request *request;
  uint32_t segment;
  uint32_t used_tokens; /* tokens of the current segment that are already used */
} walk;

/* Returns the rest of the next nonempty segment, or of the request's own tokens. */
static stretch rest_of(walk *w) {
  const blis_routing_request *request = w->request;
  while (w->segment < request->segment_count &&
         request->segments[w->segment].length_tokens == w->used_tokens) {
    w->segment++;
    w->used_tokens = 0;
  }
  if (w->segment == request->segment_count) {
    return (stretch){(uint64_t)request->number, OWN_OFFSET, UINT64_MAX};
  }
  const blis_segment *segment = &request->segments[w->segment];
  return (stretch){segment->stream, (uint64_t)segment->offset_tokens + w->used_tokens,
                   segment->length_tokens - w->used_tokens};
}

/*
 * Returns the next tokens of one origin, at most most_tokens. A segment that continues where the
 * previous segment ended is part of the same stretch.
 */
static stretch next_stretch(walk *w, uint64_t most_tokens) {
  stretch all = rest_of(w);
  if (all.offset_tokens == OWN_OFFSET) {
    all.length_tokens = most_tokens;
    return all;
  }
  stretch more = all;
  all.length_tokens = 0;
  while (all.length_tokens < most_tokens && more.stream == all.stream &&
         more.offset_tokens == all.offset_tokens + all.length_tokens) {
    uint64_t room = most_tokens - all.length_tokens;
    uint64_t taken = more.length_tokens < room ? more.length_tokens : room;
    w->used_tokens += (uint32_t)taken;
    all.length_tokens += taken;
    more = rest_of(w);
  }
  return all;
}

static uint64_t add_stretch(uint64_t hash, const stretch *s) {
  unsigned char bytes[3 * WORD_SIZE];
  put_little_endian(bytes, s->stream);
  put_little_endian(bytes + WORD_SIZE, s->offset_tokens);
  put_little_endian(bytes + 2 * (size_t)WORD_SIZE, s->length_tokens);
  return blis_stable_hash_next(hash, bytes, sizeof bytes);
}

uint64_t blis_stable_hash_of(const blis_routing_request *request, uint32_t block_size_tokens,
                             int64_t window_tokens) {
  const char *model =
      request->strings == NULL ? "" : blis_intern_text(request->strings, request->model);
  uint64_t hash = blis_stable_hash_start(model);
  bool is_cut = window_tokens > 0 && window_tokens < request->prompt_tokens;
  int64_t tokens = is_cut ? window_tokens : request->prompt_tokens;
  walk w = {.request = request};
  for (int64_t blocks = tokens / block_size_tokens; blocks > 0; blocks--) {
    uint64_t left = block_size_tokens;
    while (left > 0) {
      stretch s = next_stretch(&w, left);
      hash = add_stretch(hash, &s);
      left -= s.length_tokens;
    }
  }
  return hash;
}

uint64_t blis_stable_hash_of_text(const blis_routing_request *request, uint32_t text) {
  const blis_hash_part part = {blis_intern_text(request->strings, text),
                               blis_intern_length(request->strings, text)};
  return blis_xxh64(&part, 1);
}

static double best_of(const double *scores, size_t count) {
  double best = scores[0];
  for (size_t i = 1; i < count; i++) {
    best = scores[i] > best ? scores[i] : best;
  }
  return best;
}

size_t blis_stable_hash_pick(const blis_stable_hash *rule, const blis_routing_request *request,
                             const blis_routing_view *view, const double *scores) {
  double best = best_of(scores, view->count);
  size_t tied = 0;
  size_t last = 0;
  for (size_t i = 0; i < view->count; i++) {
    if (best - scores[i] <= rule->epsilon) {
      tied++;
      last = i;
    }
  }
  if (tied == 1) {
    return last;
  }
  uint64_t prefix_hash = blis_stable_hash_of(request, rule->block_size_tokens, rule->window_tokens);
  uint64_t highest = 0;
  size_t winner = view->count;
  for (size_t i = 0; i < view->count; i++) {
    if (best - scores[i] > rule->epsilon) {
      continue;
    }
    uint64_t weight = blis_stable_hash_weight(view->ids[i], prefix_hash);
    bool wins = winner == view->count || weight > highest ||
                (weight == highest && view->id_ranks[i] < view->id_ranks[winner]);
    if (wins) {
      winner = i;
      highest = weight;
    }
  }
  return winner;
}
