#include "workload/block_namer.h"

#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/containers/map.h"
#include "base/hash.h"
#include "base/invariant.h"

/*
 * The key of a run: tokens [offset, offset + length) of a stream, directly after parent. parent is
 * the previous block, or one of the special parents below.
 *
 * For a run of whole blocks, the length in the key is the block size. The run covers as many blocks
 * as the first chain that used it. A longer chain continues with another run after the last block.
 * Equal tokens always lead to the same runs, because a run never changes.
 *
 * The first run that continues after a block of another run is found through that
 * run, since content usually repeats in its original order. All other runs are in a
 * hash table.
 */
typedef struct run_key {
  uint64_t parent;
  uint64_t stream;
  uint32_t offset_tokens;
  uint32_t length_tokens;
} run_key;

typedef struct run {
  run_key key;
  uint64_t first; /* id of its first block */
  uint32_t count; /* number of blocks */
  /* Indices + 1; 0 = none. */
  uint32_t behind; /* the first run whose parent is a block of this one */
  uint32_t next;   /* the next run whose key has the same hash */
} run;

/*
 * Parents that are not blocks: the root of all chains of a block size, the first tokens of an
 * incomplete block, and the root of the table of whole chains. All block ids are below these
 * values.
 */
#define ROOT ((uint64_t)1 << 62)
#define UNFINISHED ((uint64_t)1 << 61)
#define WHOLE_CHAIN ((uint64_t)1 << 60)

/*
 * Every array of ids is preceded by its class: log2 of its capacity, or NOT_POOLED for a chain that
 * is shared by pointer.
 */
enum { CLASSES = 33, NOT_POOLED = CLASSES };

struct blis_block_namer {
  blis_alloc alloc;
  blis_map heads; /* hash of a key -> index of its newest run, + 1 */
  BLIS_ARRAY(run) runs;
  BLIS_ARRAY(const blis_block_id *) whole_chains;
  blis_arena arena;                    /* all arrays of ids */
  blis_block_id *free_arrays[CLASSES]; /* linked through their items[0] */
  bool parts_adapters;
  uint64_t shared_count;
  uint64_t unfinished_count;
  uint64_t private_count;
};

blis_block_namer *blis_block_namer_new(const blis_alloc *alloc) {
  blis_block_namer *namer = blis_alloc_new(alloc, sizeof *namer);
  if (namer != NULL) {
    *namer = (blis_block_namer){.alloc = *alloc};
    blis_map_init(&namer->heads, alloc);
    blis_arena_init(&namer->arena, alloc);
  }
  return namer;
}

void blis_block_namer_free(blis_block_namer *namer) {
  if (namer == NULL) {
    return;
  }
  blis_alloc alloc = namer->alloc;
  blis_map_deinit(&namer->heads);
  blis_array_deinit(&alloc, &namer->runs);
  blis_array_deinit(&alloc, &namer->whole_chains);
  blis_arena_deinit(&namer->arena);
  blis_alloc_free(&alloc, namer, sizeof *namer);
}

void blis_block_namer_part_adapters(blis_block_namer *namer) {
  BLIS_ASSERT(namer->shared_count == 0 && namer->private_count == 0);
  namer->parts_adapters = true;
}

uint64_t blis_block_namer_shared_count(const blis_block_namer *namer) {
  return namer->shared_count;
}

/* Arrays of ids. */

static blis_block_id *new_array(blis_block_namer *namer, size_t capacity, blis_block_id class) {
  blis_block_id *array = blis_arena_new(&namer->arena, (capacity + 1) * sizeof *array);
  if (array == NULL) {
    return NULL;
  }
  array[0] = class;
  return array + 1;
}

static blis_block_id *take_array(blis_block_namer *namer, uint32_t count) {
  unsigned class = 0;
  while (((uint64_t)1 << class) < count) {
    class ++;
  }
  blis_block_id *array = namer->free_arrays[class];
  if (array == NULL) {
    return new_array(namer, (size_t)1 << class, class);
  }
  memcpy(&namer->free_arrays[class], array, sizeof(blis_block_id *));
  return array;
}

static void give_back_array(blis_block_namer *namer, blis_block_id *array) {
  blis_block_id class = array[-1];
  BLIS_ASSERT(class <= NOT_POOLED);
  if (class != NOT_POOLED) {
    memcpy(array, &namer->free_arrays[class], sizeof(blis_block_id *));
    namer->free_arrays[class] = array;
  }
}

/* Runs. */

/* Identifies a root: its block size and the adapter of its request. */
static uint64_t root_of(const blis_block_namer *namer, const blis_request *request,
                        uint32_t block_size) {
  uint64_t adapter = namer->parts_adapters ? request->adapter : 0;
  BLIS_ASSERT(adapter < (UINT64_C(1) << 28));
  return adapter << 32 | block_size;
}

static bool is_same_key(const run_key *a, const run_key *b) {
  return a->parent == b->parent && a->stream == b->stream && a->offset_tokens == b->offset_tokens &&
         a->length_tokens == b->length_tokens;
}

/* Adds a run without blocks; the array has capacity for it. */
static run *add_run(blis_block_namer *namer, const run_key *key) {
  run *added = &namer->runs.items[namer->runs.count++];
  *added = (run){.key = *key};
  return added;
}

/* Returns the run of a key in the hash table; adds the run if it is missing. */
static run *hashed_run(blis_block_namer *namer, const run_key *key) {
  uint64_t *head;
  if (blis_map_add(&namer->heads, blis_hash64(key, sizeof *key, 0), 0, &head, NULL) != BLIS_OK) {
    return NULL;
  }
  for (uint64_t i = *head; i != 0; i = namer->runs.items[i - 1].next) {
    if (is_same_key(&namer->runs.items[i - 1].key, key)) {
      return &namer->runs.items[i - 1];
    }
  }
  run *added = add_run(namer, key);
  added->next = (uint32_t)*head;
  *head = namer->runs.count;
  return added;
}

/* Like hashed_run, for a key that did not match the next run; before is as in intern_run. */
static run *new_run(blis_block_namer *namer, const run_key *key, uint32_t before) {
  BLIS_ASSERT(namer->runs.count < UINT32_MAX);
  if (blis_array_reserve(&namer->alloc, &namer->runs, namer->runs.count + 1) != BLIS_OK) {
    return NULL;
  }
  if (before == 0 || namer->runs.items[before - 1].behind != 0) {
    return hashed_run(namer, key);
  }
  run *added = add_run(namer, key);
  namer->runs.items[before - 1].behind = (uint32_t)namer->runs.count;
  return added;
}

/*
 * Returns the run of a key; adds a run without blocks if it is missing. The result
 * is valid until the next call. NULL = out of memory. before is 1 + the number of
 * the run that contains the key's parent; 0 = the parent is a root.
 */
static inline run *intern_run(blis_block_namer *namer, const run_key *key, uint32_t before) {
  uint32_t behind = before == 0 ? 0 : namer->runs.items[before - 1].behind;
  return behind != 0 && is_same_key(&namer->runs.items[behind - 1].key, key)
             ? &namer->runs.items[behind - 1]
             : new_run(namer, key, before);
}

/* Position of a walk over the content of a prompt. */
typedef struct walker {
  uint64_t parent;
  uint32_t block_size;
  uint32_t filled_tokens; /* tokens of the unfinished block */
  blis_block_id *shared;
  uint32_t named; /* number of named blocks */
  uint32_t wanted;
  uint32_t written;   /* number of ids already written to shared */
  blis_block_id open; /* first id after those written; the following ids are consecutive */
  uint32_t before;    /* the run that contains parent, + 1; 0 = none */
} walker;

/* Records that the walk passed this number of blocks of a run. */
static void note_run(const blis_block_namer *namer, walker *walk, const run *come_by,
                     uint32_t blocks) {
  walk->parent = come_by->first + blocks - 1;
  walk->before = (uint32_t)(come_by - namer->runs.items) + 1;
}

static void count_up(blis_block_id *restrict ids, uint32_t count, blis_block_id first) {
  for (uint32_t i = 0; i < count; i++) {
    ids[i] = first + i;
  }
}

static void write_names(walker *walk) {
  count_up(walk->shared + walk->written, walk->named - walk->written, walk->open);
  walk->written = walk->named;
}

/* Adds the ids of the next blocks. Blocks that first appeared together have consecutive ids. */
static void add_names(walker *walk, blis_block_id first, uint32_t count) {
  if (first != walk->open + (walk->named - walk->written)) {
    write_names(walk);
    walk->open = first;
  }
  walk->named += count;
}

/* Assigns ids to the whole blocks at the start of a piece, which has at least one. */
static blis_status name_whole_blocks(blis_block_namer *namer, walker *walk, const run_key *key,
                                     uint64_t blocks, uint32_t *taken) {
  run *found = intern_run(namer, key, walk->before);
  if (found == NULL) {
    return BLIS_ERR_NOMEM;
  }
  if (blocks > walk->wanted - walk->named) {
    blocks = walk->wanted - walk->named;
  }
  if (found->count == 0) {
    found->first = namer->shared_count + 1;
    found->count = (uint32_t)blocks;
    namer->shared_count += blocks;
  }
  BLIS_ASSERT(found->count > 0 && found->first + found->count - 1 <= namer->shared_count);
  uint32_t count = found->count < blocks ? found->count : (uint32_t)blocks;
  add_names(walk, found->first, count);
  note_run(namer, walk, found, count);
  *taken = count * walk->block_size;
  return BLIS_OK;
}

/* Adds a piece that does not fill a block by itself to the unfinished block. */
static blis_status fill_block(blis_block_namer *namer, walker *walk, const run_key *key) {
  run *found = intern_run(namer, key, walk->before);
  if (found == NULL) {
    return BLIS_ERR_NOMEM;
  }
  walk->filled_tokens += key->length_tokens;
  bool is_full = walk->filled_tokens == walk->block_size;
  if (found->count == 0) {
    found->count = 1;
    found->first = is_full ? ++namer->shared_count : UNFINISHED | ++namer->unfinished_count;
  }
  BLIS_ASSERT(found->count == 1 && is_full == ((found->first & UNFINISHED) == 0));
  note_run(namer, walk, found, 1);
  if (is_full) {
    walk->filled_tokens = 0;
    add_names(walk, found->first, 1);
  }
  return BLIS_OK;
}

static blis_status walk_piece(blis_block_namer *namer, walker *walk, uint64_t stream,
                              uint32_t offset_tokens, uint64_t length_tokens) {
  while (length_tokens > 0 && walk->named < walk->wanted) {
    BLIS_ASSERT(((walk->parent & UNFINISHED) != 0) == (walk->filled_tokens > 0));
    run_key key = {walk->parent, stream, offset_tokens, walk->block_size};
    uint32_t taken;
    if (walk->filled_tokens == 0 && length_tokens >= walk->block_size) {
      BLIS_TRY(name_whole_blocks(namer, walk, &key, length_tokens / walk->block_size, &taken));
    } else {
      uint32_t room = walk->block_size - walk->filled_tokens;
      taken = length_tokens < room ? (uint32_t)length_tokens : room;
      key.length_tokens = taken;
      BLIS_TRY(fill_block(namer, walk, &key));
    }
    offset_tokens += taken;
    length_tokens -= taken;
  }
  return BLIS_OK;
}

/*
 * Returns the number of output tokens with known content. The last output token is not included,
 * because the prompt of a follow-up has a different token in its position.
 */
static uint32_t shared_output(const blis_request *request) {
  if (!request->shares_output || request->output_tokens == 0) {
    return 0;
  }
  return request->output_tokens - (request->shares_last_output ? 0 : 1);
}

/*
 * Segments that continue where the previous segment ended are combined into one piece, so that
 * equal tokens are always split into equal pieces.
 */
static blis_status name_shared(blis_block_namer *namer, const blis_request *request,
                               uint32_t block_size, blis_block_id *shared, uint32_t wanted) {
  walker walk = {.parent = ROOT | root_of(namer, request, block_size),
                 .block_size = block_size,
                 .wanted = wanted};
  walk.shared = shared;
  uint64_t stream = 0;
  uint32_t offset_tokens = 0;
  uint64_t length_tokens = 0;
  for (uint32_t i = 0; i < request->segment_count; i++) {
    const blis_segment *segment = &request->segments[i];
    uint64_t added = segment->length_tokens;
    if (i + 1 == request->segment_count) {
      added += shared_output(request);
    }
    if (added == 0) {
      continue;
    }
    if (segment->stream != stream || segment->offset_tokens != offset_tokens + length_tokens) {
      BLIS_TRY(walk_piece(namer, &walk, stream, offset_tokens, length_tokens));
      stream = segment->stream;
      offset_tokens = segment->offset_tokens;
      length_tokens = 0;
    }
    length_tokens += added;
  }
  BLIS_TRY(walk_piece(namer, &walk, stream, offset_tokens, length_tokens));
  BLIS_ASSERT(walk.named == wanted);
  write_names(&walk);
  return BLIS_OK;
}

/* Chains. */

/* Returns whether the shared part consists only of the prefix of a group. */
static bool is_group_prefix(const blis_request *request) {
  return request->prefix_group != 0 && request->segment_count == 1 &&
         request->segments[0].offset_tokens == 0 && !request->shares_output;
}

/* Returns the chain that all requests with this prefix share. */
static const blis_block_id *group_chain(blis_block_namer *namer, const blis_request *request,
                                        uint32_t block_size, uint32_t wanted) {
  run_key key = {WHOLE_CHAIN | root_of(namer, request, block_size), request->segments[0].stream, 0,
                 request->segments[0].length_tokens};
  const run *known = intern_run(namer, &key, 0);
  if (known == NULL) {
    return NULL;
  }
  if (known->count != 0) {
    BLIS_ASSERT(known->first < namer->whole_chains.count);
    return namer->whole_chains.items[known->first];
  }
  size_t entry = (size_t)(known - namer->runs.items);
  size_t index = namer->whole_chains.count;
  blis_block_id *shared = new_array(namer, wanted, NOT_POOLED);
  if (shared == NULL || name_shared(namer, request, block_size, shared, wanted) != BLIS_OK ||
      blis_array_push(&namer->alloc, &namer->whole_chains, shared) != BLIS_OK) {
    return NULL;
  }
  namer->runs.items[entry].first = index;
  namer->runs.items[entry].count = 1;
  return shared;
}

static const blis_block_id *own_chain(blis_block_namer *namer, const blis_request *request,
                                      uint32_t block_size, uint32_t wanted) {
  blis_block_id *shared = take_array(namer, wanted);
  if (shared != NULL && name_shared(namer, request, block_size, shared, wanted) != BLIS_OK) {
    give_back_array(namer, shared);
    return NULL;
  }
  return shared;
}

blis_status blis_block_namer_chain(blis_block_namer *namer, const blis_request *request,
                                   uint32_t block_size, blis_block_chain *chain,
                                   blis_error *error) {
  BLIS_ASSERT(block_size > 0);
  BLIS_ASSERT(request->shared_tokens <= request->prompt_tokens);
  BLIS_ASSERT(!request->shares_output || request->shared_tokens == request->prompt_tokens);
  const blis_block_id *shared = NULL;
  uint64_t named_tokens = (uint64_t)request->shared_tokens + shared_output(request);
  uint32_t shared_count = (uint32_t)(named_tokens / block_size);
  if (shared_count > 0) {
    shared = is_group_prefix(request) ? group_chain(namer, request, block_size, shared_count)
                                      : own_chain(namer, request, block_size, shared_count);
    BLIS_TRY_NEW(shared, error);
  }
  uint64_t tokens = (uint64_t)request->prompt_tokens + request->output_tokens;
  chain->shared = shared;
  chain->shared_count = shared_count;
  chain->prompt_blocks = request->prompt_tokens / block_size;
  chain->private_base = BLIS_BLOCK_PRIVATE | namer->private_count;
  namer->private_count += tokens / block_size + 2;
  return BLIS_OK;
}

void blis_block_namer_release(blis_block_namer *namer, blis_block_chain *chain) {
  if (chain->shared != NULL) {
    /* Every array that a chain borrows is allocated in this namer's arena. */
    give_back_array(namer, (blis_block_id *)chain->shared);
  }
  *chain = (blis_block_chain){0};
}
