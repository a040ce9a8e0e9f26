/* KV events of a desk, against a subscriber that rebuilds the caches from them as routers do. */
#include "live/kv_events.h"

#include <string.h>

#include "base/containers/map.h"
#include "base/hash.h"
#include "base/random.h"
#include "live/text.h"
#include "live_scene.h"

enum { INSTANCES = 2, TOKENS_MAX = 4096, HASHES_MAX = 256, SIZE = 16, ROUNDS = 400 };

/* Reading MessagePack. */

typedef struct reader {
  const unsigned char *at;
  const unsigned char *end;
} reader;

static uint64_t read_big(reader *r, int bytes) {
  uint64_t value = 0;
  CHECK(r->end - r->at >= bytes);
  for (int i = 0; i < bytes; i++) {
    value = value << 8 | *r->at++;
  }
  return value;
}

static bool read_nil(reader *r) {
  bool is_nil = *r->at == 0xc0;
  r->at += is_nil;
  return is_nil;
}

static uint64_t read_uint(reader *r) {
  unsigned tag = *r->at++;
  CHECK(tag < 0x80 || (tag >= 0xcc && tag <= 0xcf));
  return tag < 0x80 ? tag : read_big(r, 1 << (tag - 0xcc));
}

static double read_double(reader *r) {
  double value;
  CHECK(*r->at++ == 0xcb);
  uint64_t bits = read_big(r, 8);
  memcpy(&value, &bits, sizeof value);
  return value;
}

static size_t read_count(reader *r, unsigned small, unsigned tag16) {
  unsigned tag = *r->at++;
  CHECK((tag & 0xf0) == small || tag == tag16 || tag == tag16 + 1);
  return (tag & 0xf0) == small ? tag & 15 : (size_t)read_big(r, tag == tag16 ? 2 : 4);
}

static void read_text(reader *r, char *text, size_t size) {
  unsigned tag = *r->at++;
  CHECK((tag & 0xe0) == 0xa0 || tag == 0xd9);
  size_t length = (tag & 0xe0) == 0xa0 ? tag & 31 : (size_t)read_big(r, 1);
  CHECK(length < size && (size_t)(r->end - r->at) >= length);
  memcpy(text, r->at, length);
  text[length] = '\0';
  r->at += length;
}

/* What a subscriber knows about an instance. */
typedef struct follower {
  blis_map present; /* hashes of the engine */
  blis_map keys;    /* own key of each hash: over the tokens of the block and of all before it */
  blis_map held;    /* own keys of what is present */
  uint64_t next;    /* sequence number */
  int64_t stored;
  int64_t removed;
  int64_t cleared;
  double last_s;
} follower;

static follower followers[INSTANCES];
static bool has_maps;
static char last_salt[40];
static char last_adapter[40];

static uint64_t key_after(uint64_t before, const uint32_t *tokens) {
  return blis_hash64(tokens, SIZE * sizeof *tokens, before ^ 0x9e37);
}

static void forget_all(follower *f) {
  blis_map_clear(&f->present);
  blis_map_clear(&f->held);
}

static void expect_field(reader *r, const char *name) {
  char text[40];
  if (has_maps) {
    read_text(r, text, sizeof text);
    CHECK_STR(text, name);
  }
}

static size_t read_hashes(reader *r, uint64_t *hashes) {
  expect_field(r, "block_hashes");
  size_t count = read_count(r, 0x90, 0xdc);
  CHECK(count >= 1 && count <= HASHES_MAX);
  for (size_t i = 0; i < count; i++) {
    hashes[i] = read_uint(r);
  }
  return count;
}

static void read_salt(reader *r, size_t hashes) {
  expect_field(r, "extra_keys");
  CHECK_EQ_I64(read_count(r, 0x90, 0xdc), hashes);
  CHECK_EQ_I64(read_count(r, 0x90, 0xdc), 1);
  read_text(r, last_salt, sizeof last_salt);
  for (size_t i = 1; i < hashes; i++) {
    CHECK(read_nil(r));
  }
}

static void read_stored(reader *r, follower *f, size_t fields) {
  uint64_t hashes[HASHES_MAX];
  static uint32_t tokens[TOKENS_MAX];
  char text[40];
  size_t count = read_hashes(r, hashes);
  uint64_t key = 0;
  expect_field(r, "parent_block_hash");
  if (!read_nil(r)) {
    CHECK(blis_map_get(&f->keys, read_uint(r), &key));
  }
  expect_field(r, "token_ids");
  CHECK_EQ_I64(read_count(r, 0x90, 0xdc), count * SIZE);
  for (size_t i = 0; i < count * SIZE; i++) {
    tokens[i] = (uint32_t)read_uint(r);
  }
  expect_field(r, "block_size");
  CHECK_EQ_I64(read_uint(r), SIZE);
  expect_field(r, "lora_id");
  CHECK(read_nil(r));
  expect_field(r, "medium");
  read_text(r, text, sizeof text);
  CHECK_STR(text, "GPU");
  expect_field(r, "lora_name");
  last_adapter[0] = '\0';
  if (!read_nil(r)) {
    read_text(r, last_adapter, sizeof last_adapter);
  }
  if (fields == 8) {
    read_salt(r, count);
  }
  for (size_t i = 0; i < count; i++) {
    key = key_after(key, tokens + i * SIZE);
    uint64_t known;
    CHECK(!blis_map_get(&f->keys, hashes[i], &known) || known == key);
    CHECK(!blis_map_get(&f->present, hashes[i], &known));
    CHECK(blis_map_put(&f->keys, hashes[i], key) == BLIS_OK);
    CHECK(blis_map_put(&f->present, hashes[i], 1) == BLIS_OK);
    CHECK(blis_map_put(&f->held, key, 1) == BLIS_OK);
    f->stored++;
  }
}

static void read_removed(reader *r, follower *f) {
  uint64_t hashes[HASHES_MAX];
  char text[40];
  size_t count = read_hashes(r, hashes);
  expect_field(r, "medium");
  read_text(r, text, sizeof text);
  for (size_t i = 0; i < count; i++) {
    uint64_t key;
    CHECK(blis_map_remove(&f->present, hashes[i]));
    CHECK(blis_map_get(&f->keys, hashes[i], &key) && blis_map_remove(&f->held, key));
    f->removed++;
  }
}

static void read_event(reader *r, follower *f) {
  char name[40];
  size_t fields = has_maps ? read_count(r, 0x80, 0xde) : read_count(r, 0x90, 0xdc);
  expect_field(r, "type");
  read_text(r, name, sizeof name);
  if (strcmp(name, "BlockStored") == 0) {
    read_stored(r, f, fields - 1);
  } else if (strcmp(name, "BlockRemoved") == 0) {
    CHECK_EQ_I64(fields, 3);
    read_removed(r, f);
  } else {
    CHECK_STR(name, "AllBlocksCleared");
    forget_all(f);
    f->cleared++;
  }
}

static void follow(void *ud, uint32_t instance, uint64_t sequence, blis_slice payload) {
  CHECK(ud == followers && instance < INSTANCES);
  follower *f = &followers[instance];
  reader r = {(const unsigned char *)payload.data,
              (const unsigned char *)payload.data + payload.length};
  CHECK_EQ_I64(sequence, f->next++);
  CHECK_EQ_I64(read_count(&r, 0x90, 0xdc), 3);
  double at_s = read_double(&r);
  CHECK(at_s >= f->last_s && at_s >= 1000);
  f->last_s = at_s;
  for (size_t left = read_count(&r, 0x90, 0xdc); left > 0; left--) {
    read_event(&r, f);
  }
  CHECK_EQ_I64(read_uint(&r), 0);
  CHECK(r.at == r.end);
}

static void open_followed(scene *sc, bool maps, int64_t kv_blocks) {
  blis_alloc heap = blis_alloc_heap();
  has_maps = maps;
  for (size_t i = 0; i < INSTANCES; i++) {
    followers[i] = (follower){.next = 0};
    blis_map *sets[] = {&followers[i].present, &followers[i].keys, &followers[i].held};
    for (size_t k = 0; k < 3; k++) {
      blis_map_init(sets[k], &heap);
      CHECK(blis_map_reserve(sets[k], 1) == BLIS_OK);
    }
  }
  const scene_options options = {
      .instances = INSTANCES,
      .kv_format = maps ? BLIS_LIVE_KV_MAPS : BLIS_LIVE_KV_ARRAYS,
      .publisher = {.ud = followers, .publish = follow, .started_s = 1000},
      .kv_blocks = kv_blocks};
  open_scene_with(sc, &options);
}

static void close_followed(scene *sc) {
  close_all(sc);
  close_scene(sc);
  for (size_t i = 0; i < INSTANCES; i++) {
    blis_map_deinit(&followers[i].present);
    blis_map_deinit(&followers[i].keys);
    blis_map_deinit(&followers[i].held);
  }
}

/* Prompts of token ids: pieces of 1 to 4 of 6 texts, so that prompts share beginnings. */
static size_t make_prompt(blis_random *random, uint32_t *tokens, char *body, size_t size) {
  size_t count = 0;
  for (int64_t pieces = 1 + blis_random_intn(random, 4); pieces > 0; pieces--) {
    uint32_t text = (uint32_t)blis_random_intn(random, 6);
    for (uint32_t i = 0; i < 24 + text; i++) {
      tokens[count++] = text * 1000 + i;
    }
  }
  size_t length = (size_t)snprintf(body, size, "{\"max_tokens\": %d, \"ignore_eos\": true, ",
                                   1 + (int)blis_random_intn(random, 40));
  length += (size_t)snprintf(body + length, size - length, "\"prompt\": [");
  for (size_t i = 0; i < count; i++) {
    length += (size_t)snprintf(body + length, size - length, "%s%u", i == 0 ? "" : ",", tokens[i]);
  }
  snprintf(body + length, size - length, "]}");
  return count;
}

/* Cached tokens of a prompt, as an indexer finds them that never asks the engine. */
static uint32_t expected_hit(const follower *f, const uint32_t *tokens, size_t count) {
  uint64_t key = 0;
  uint64_t found;
  uint32_t hit = 0;
  while ((hit + 1) * SIZE < count) {
    key = key_after(key, tokens + hit * SIZE);
    if (!blis_map_get(&f->held, key, &found)) {
      break;
    }
    hit++;
  }
  return hit * SIZE;
}

/* One prompt when nothing runs, then others beside it. */
static void run_round(scene *sc, blis_random *random, int64_t *now_us) {
  uint32_t tokens[200];
  uint32_t others[200];
  char body[2000];
  int64_t instance = blis_random_intn(random, INSTANCES);
  size_t count = make_prompt(random, tokens, body, sizeof body);
  uint32_t hit = expected_hit(&followers[instance], tokens, count);
  submit(sc, BLIS_LIVE_COMPLETIONS, body, instance);
  /* It is in a batch before the others arrive. */
  *now_us += 2000;
  advance(sc, *now_us);
  for (int64_t more = blis_random_intn(random, 4); more > 0; more--) {
    make_prompt(random, others, body, sizeof body);
    submit(sc, BLIS_LIVE_COMPLETIONS, body, -1);
  }
  while (blis_live_desk_open_choices(sc->desk) > 0) {
    *now_us += 1 + blis_random_intn(random, 20000);
    advance(sc, *now_us);
  }
  *now_us += 100000;
  advance(sc, *now_us);
  CHECK_EQ_I64(sc->choices[0]->cached_tokens, hit);
  close_all(sc);
}

static void check_caches(scene *sc, bool maps) {
  blis_random random;
  blis_random_init(&random, maps ? 5 : 4);
  int64_t now_us = 0;
  open_followed(sc, maps, 60);
  for (int i = 0; i < CASES(ROUNDS); i++) {
    run_round(sc, &random, &now_us);
  }
  for (size_t i = 0; i < INSTANCES; i++) {
    const follower *f = &followers[i];
    CHECK(f->removed > 100 && f->next > 100);
    CHECK_EQ_I64(f->stored - f->removed, blis_map_count(&f->present));
    CHECK_EQ_I64(blis_map_count(&f->held), blis_map_count(&f->present));
    CHECK(blis_map_count(&f->present) <= 60);
  }
}

static void test_a_subscriber_rebuilds_the_caches(void) {
  scene sc;
  check_caches(&sc, false);
  close_followed(&sc);
  check_caches(&sc, true);
  close_followed(&sc);
}

static void test_an_emptied_cache_is_cleared(void) {
  scene sc;
  blis_error error;
  open_followed(&sc, false, 0);
  const char *body =
      "{\"prompt\": \"one two three four five six seven eight nine ten eleven twelve "
      "thirteen fourteen fifteen\", \"max_tokens\": 30, \"ignore_eos\": true}";
  submit(&sc, BLIS_LIVE_COMPLETIONS, body, 0);
  submit(&sc, BLIS_LIVE_COMPLETIONS, body, 1);
  advance(&sc, 5000000);
  CHECK(blis_map_count(&followers[0].present) == 3);
  CHECK_OK(blis_cluster_instance_lose_cache(sc.s.cluster, 0, &error), &error);
  advance(&sc, 5000001);
  CHECK_EQ_I64(followers[0].cleared, 1);
  CHECK_EQ_I64(followers[1].cleared, 0);
  CHECK_EQ_I64(blis_map_count(&followers[0].present), 0);
  /* Equal prompts have equal hashes at each instance, and when they return. */
  submit(&sc, BLIS_LIVE_COMPLETIONS, body, 0);
  advance(&sc, 9000000);
  CHECK_EQ_I64(blis_map_count(&followers[0].present), 3);
  CHECK_EQ_I64(blis_map_count(&followers[0].keys), 3);
  CHECK_OK(blis_live_desk_sleep(sc.desk, 1, 1, &error), &error);
  advance(&sc, 9000001);
  CHECK_EQ_I64(followers[1].cleared, 1);
  CHECK_EQ_I64(blis_map_count(&followers[1].present), 0);
  close_followed(&sc);
}

static void test_salts_are_announced(void) {
  scene sc;
  open_followed(&sc, true, 0);
  const char *plain = "{\"prompt\": \"one two three four five six seven eight nine ten eleven "
                      "twelve thirteen fourteen\", \"max_tokens\": 1}";
  const char *salted = "{\"prompt\": \"one two three four five six seven eight nine ten eleven "
                       "twelve thirteen fourteen\", \"max_tokens\": 1, \"cache_salt\": \"pepper\"}";
  submit(&sc, BLIS_LIVE_COMPLETIONS, plain, 0);
  advance(&sc, 1000000);
  CHECK_STR(last_salt, "");
  CHECK_EQ_I64(blis_map_count(&followers[0].present), 1);
  submit(&sc, BLIS_LIVE_COMPLETIONS, salted, 0);
  advance(&sc, 2000000);
  CHECK_STR(last_salt, "pepper");
  CHECK_EQ_I64(blis_map_count(&followers[0].present), 2);
  close_followed(&sc);
}

/* The content of blocks is dropped with their last request and their last cache. */
static void test_the_book_is_bounded(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_live_kv_book *book = blis_live_kv_book_new(&heap);
  uint32_t tokens[64];
  for (uint32_t i = 0; i < 64; i++) {
    tokens[i] = i;
  }
  const blis_live_prompt prompt = {.tokens = tokens, .count = 60, .reply_tokens = 20};
  const blis_block_id ids[] = {11, 12, 13, 14, 15};
  const blis_block_chain chain = {.shared = ids, .shared_count = 5, .prompt_blocks = 3};
  CHECK(blis_live_kv_book_enter(book, 11) == NULL);
  for (int64_t request = 1; request <= 2; request++) {
    CHECK(blis_live_kv_book_open(book, request, &prompt, (blis_slice){0}, NULL) == BLIS_OK);
    CHECK(blis_live_kv_book_name(book, request, &chain, SIZE) == BLIS_OK);
    CHECK(blis_live_kv_book_name(book, request, &chain, SIZE) == BLIS_OK);
  }
  CHECK(blis_live_kv_book_name(book, 3, &chain, SIZE) == BLIS_OK);
  CHECK_EQ_I64(blis_live_kv_book_count(book), 5);
  const blis_live_kv_block *last = blis_live_kv_book_enter(book, 15);
  CHECK_EQ_I64(last->number, 4);
  CHECK_EQ_I64(last->tokens[0], blis_live_reply_token(0, 4));
  blis_live_kv_book_close(book, 1);
  CHECK_EQ_I64(blis_live_kv_book_count(book), 5);
  blis_live_kv_book_close(book, 2);
  blis_live_kv_book_close(book, 2);
  CHECK_EQ_I64(blis_live_kv_book_count(book), 1);
  CHECK_EQ_I64(blis_live_kv_book_leave(book, 15)->number, 4);
  CHECK_EQ_I64(blis_live_kv_book_count(book), 0);
  CHECK(blis_live_kv_book_leave(book, 15) == NULL);
  blis_live_kv_book_free(book);
}

int main(void) {
  RUN(test_a_subscriber_rebuilds_the_caches);
  RUN(test_an_emptied_cache_is_cleared);
  RUN(test_salts_are_announced);
  RUN(test_the_book_is_bounded);
  return check_done();
}
