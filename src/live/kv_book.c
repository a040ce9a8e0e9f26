#include "live/kv_book.h"

#include <string.h>

#include "base/array.h"
#include "base/containers/map.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "live/text.h"

enum { ROOT_SEED = 0x6b76 };

typedef struct block {
  blis_live_kv_block shown; /* the tokens follow this struct */
  blis_block_id id;
  uint64_t references; /* references from requests and caches */
  size_t salt_size;
  struct block *before;
  struct block *after;
} block;

/* The ids of a request's blocks, for one block size. */
typedef struct name_list {
  struct name_list *next;
  uint32_t block_tokens;
  uint32_t count;
  blis_block_id ids[];
} name_list;

/* An open request. */
typedef struct entry {
  const blis_live_adapter *adapter;
  char *salt; /* NULL = none */
  size_t salt_size;
  uint64_t root; /* hash from which the hashes of the request start */
  uint64_t reply_seed;
  uint32_t reply_tokens;
  int64_t request;
  name_list *names;
  struct entry *before;
  struct entry *after;
  uint32_t count;
  uint32_t tokens[];
} entry;

struct blis_live_kv_book {
  blis_alloc alloc;
  blis_map entries; /* entries by request number */
  blis_map blocks;  /* blocks by id */
  entry *first_entry;
  block *first_block;
  block *left; /* block without references; freed by the next call */
  BLIS_ARRAY(uint32_t) tokens;
};

blis_live_kv_book *blis_live_kv_book_new(const blis_alloc *alloc) {
  blis_live_kv_book *book = blis_alloc_zeroed(alloc, 1, sizeof *book);
  if (book == NULL) {
    return NULL;
  }
  book->alloc = *alloc;
  blis_map_init(&book->entries, alloc);
  blis_map_init(&book->blocks, alloc);
  if (blis_map_reserve(&book->entries, 1) != BLIS_OK ||
      blis_map_reserve(&book->blocks, 1) != BLIS_OK) {
    blis_live_kv_book_free(book);
    return NULL;
  }
  return book;
}

/* Blocks. */

static block *find_block(const blis_live_kv_book *book, blis_block_id id) {
  uint64_t found;
  return blis_map_get(&book->blocks, id, &found) ? (block *)(uintptr_t)found : NULL;
}

static void free_block(const blis_live_kv_book *book, block *b) {
  blis_alloc_free(&book->alloc, (void *)b->shown.salt, b->salt_size);
  blis_alloc_free(&book->alloc, b, sizeof *b + b->shown.size * sizeof(uint32_t));
}

static void free_left(blis_live_kv_book *book) {
  if (book->left != NULL) {
    free_block(book, book->left);
    book->left = NULL;
  }
}

static void link_block(blis_live_kv_book *book, block *b) {
  b->after = book->first_block;
  if (b->after != NULL) {
    b->after->before = b;
  }
  book->first_block = b;
}

/* Releases a reference. A block without references is removed from the book. */
static void drop(blis_live_kv_book *book, block *b) {
  if (--b->references > 0) {
    return;
  }
  *(b->before == NULL ? &book->first_block : &b->before->after) = b->after;
  if (b->after != NULL) {
    b->after->before = b->before;
  }
  blis_map_remove(&book->blocks, b->id);
  free_left(book);
  book->left = b;
}

const blis_live_kv_block *blis_live_kv_book_enter(blis_live_kv_book *book, blis_block_id id) {
  block *b = find_block(book, id);
  if (b == NULL) {
    return NULL;
  }
  b->references++;
  return &b->shown;
}

const blis_live_kv_block *blis_live_kv_book_leave(blis_live_kv_book *book, blis_block_id id) {
  block *b = find_block(book, id);
  if (b == NULL) {
    return NULL;
  }
  drop(book, b);
  return &b->shown;
}

size_t blis_live_kv_book_count(const blis_live_kv_book *book) {
  return blis_map_count(&book->blocks);
}

/* Requests. */

static entry *find_entry(const blis_live_kv_book *book, int64_t request) {
  uint64_t found;
  return blis_map_get(&book->entries, (uint64_t)request, &found) ? (entry *)(uintptr_t)found : NULL;
}

static void free_names(blis_live_kv_book *book, name_list *names) {
  for (uint32_t k = 0; k < names->count; k++) {
    drop(book, find_block(book, names->ids[k]));
  }
  blis_alloc_free(&book->alloc, names, sizeof *names + names->count * sizeof *names->ids);
}

static void free_entry(blis_live_kv_book *book, entry *e) {
  while (e->names != NULL) {
    name_list *names = e->names;
    e->names = names->next;
    free_names(book, names);
  }
  blis_alloc_free(&book->alloc, e->salt, e->salt_size);
  blis_alloc_free(&book->alloc, e, sizeof *e + e->count * sizeof *e->tokens);
}

static void unlink_entry(blis_live_kv_book *book, entry *e) {
  *(e->before == NULL ? &book->first_entry : &e->before->after) = e->after;
  if (e->after != NULL) {
    e->after->before = e->before;
  }
}

/* Returns a copy with a terminating zero; NULL = out of memory. */
static char *copy_text(const blis_alloc *alloc, blis_slice text) {
  char *copy = blis_alloc_new(alloc, text.length + 1);
  if (copy != NULL) {
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
  }
  return copy;
}

static uint64_t root_of(const blis_live_prompt *prompt, const blis_live_adapter *adapter) {
  uint64_t root = blis_hash64(&prompt->salt, sizeof prompt->salt, ROOT_SEED);
  return adapter == NULL ? root : blis_hash64(adapter->own_name, strlen(adapter->own_name), root);
}

blis_status blis_live_kv_book_open(blis_live_kv_book *book, int64_t request,
                                   const blis_live_prompt *prompt, blis_slice salt,
                                   const blis_live_adapter *adapter) {
  entry *e = blis_alloc_new(&book->alloc, sizeof *e + prompt->count * sizeof *e->tokens);
  if (e == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *e = (entry){.adapter = adapter,
               .root = root_of(prompt, adapter),
               .reply_seed = prompt->reply_seed,
               .reply_tokens = prompt->reply_tokens,
               .request = request,
               .count = prompt->count};
  memcpy(e->tokens, prompt->tokens, prompt->count * sizeof *e->tokens);
  if (salt.length > 0) {
    e->salt = copy_text(&book->alloc, salt);
    e->salt_size = e->salt == NULL ? 0 : salt.length + 1;
  }
  if ((salt.length > 0 && e->salt == NULL) ||
      blis_map_put(&book->entries, (uint64_t)request, (uint64_t)(uintptr_t)e) != BLIS_OK) {
    free_entry(book, e);
    return BLIS_ERR_NOMEM;
  }
  e->after = book->first_entry;
  if (e->after != NULL) {
    e->after->before = e;
  }
  book->first_entry = e;
  return BLIS_OK;
}

void blis_live_kv_book_close(blis_live_kv_book *book, int64_t request) {
  entry *e = find_entry(book, request);
  if (e != NULL) {
    blis_map_remove(&book->entries, (uint64_t)request);
    unlink_entry(book, e);
    free_entry(book, e);
  }
}

void blis_live_kv_book_free(blis_live_kv_book *book) {
  if (book == NULL) {
    return;
  }
  blis_alloc alloc = book->alloc;
  while (book->first_entry != NULL) {
    blis_live_kv_book_close(book, book->first_entry->request);
  }
  while (book->first_block != NULL) {
    block *b = book->first_block;
    book->first_block = b->after;
    free_block(book, b);
  }
  free_left(book);
  blis_map_deinit(&book->entries);
  blis_map_deinit(&book->blocks);
  blis_array_deinit(&alloc, &book->tokens);
  blis_alloc_free(&alloc, book, sizeof *book);
}

/* Names. */

/* Returns token i of a request followed by its reply. */
static uint32_t token_at(const entry *e, uint64_t i) {
  return i < e->count ? e->tokens[i]
                      : blis_live_reply_token(e->reply_seed, (uint32_t)(i - e->count));
}

/* Creates a block with the tokens in book->tokens; NULL = out of memory. */
static block *new_block(blis_live_kv_book *book, const entry *e, uint32_t number, uint64_t parent) {
  uint32_t size = (uint32_t)book->tokens.count;
  size_t bytes = size * sizeof *book->tokens.items;
  block *b = blis_alloc_new(&book->alloc, sizeof *b + bytes);
  if (b == NULL) {
    return NULL;
  }
  *b = (block){
      .shown = {.hash = blis_hash64(book->tokens.items, bytes, number == 0 ? e->root : parent),
                .parent = parent,
                .number = number,
                .size = size,
                .tokens = (const uint32_t *)(b + 1),
                .adapter = e->adapter}};
  memcpy(b + 1, book->tokens.items, bytes);
  if (number == 0 && e->salt != NULL) {
    b->shown.salt = copy_text(&book->alloc, (blis_slice){e->salt, e->salt_size - 1});
    b->salt_size = e->salt_size;
    if (b->shown.salt == NULL) {
      b->salt_size = 0;
      free_block(book, b);
      return NULL;
    }
  }
  return b;
}

/* Adds a reference to the block `id` of a request. On entry, *hash is the hash of the previous
   block; on return, that of this block. */
static blis_status name_block(blis_live_kv_book *book, const entry *e, uint32_t number,
                              blis_block_id id, uint64_t *hash) {
  block *b = find_block(book, id);
  if (b == NULL) {
    for (size_t i = 0; i < book->tokens.count; i++) {
      book->tokens.items[i] = token_at(e, (uint64_t)number * book->tokens.count + i);
    }
    b = new_block(book, e, number, *hash);
    if (b == NULL) {
      return BLIS_ERR_NOMEM;
    }
    b->id = id;
    if (blis_map_put(&book->blocks, id, (uint64_t)(uintptr_t)b) != BLIS_OK) {
      free_block(book, b);
      return BLIS_ERR_NOMEM;
    }
    link_block(book, b);
  }
  b->references++;
  *hash = b->shown.hash;
  return BLIS_OK;
}

static bool has_size(const entry *e, uint32_t block_tokens) {
  for (const name_list *names = e->names; names != NULL; names = names->next) {
    if (names->block_tokens == block_tokens) {
      return true;
    }
  }
  return false;
}

blis_status blis_live_kv_book_name(blis_live_kv_book *book, int64_t request,
                                   const blis_block_chain *chain, uint32_t block_tokens) {
  entry *e = find_entry(book, request);
  if (e == NULL || has_size(e, block_tokens)) {
    return BLIS_OK;
  }
  uint64_t whole = ((uint64_t)e->count + e->reply_tokens) / block_tokens;
  uint32_t count = (uint32_t)blis_min_i64((int64_t)whole, chain->shared_count);
  BLIS_TRY(blis_array_reserve(&book->alloc, &book->tokens, block_tokens));
  book->tokens.count = block_tokens;
  name_list *names = blis_alloc_new(&book->alloc, sizeof *names + count * sizeof *names->ids);
  if (names == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *names = (name_list){.next = e->names, .block_tokens = block_tokens, .count = count};
  uint64_t hash = 0;
  for (uint32_t k = 0; k < count; k++) {
    names->ids[k] = chain->shared[k];
    if (name_block(book, e, k, names->ids[k], &hash) != BLIS_OK) {
      for (uint32_t i = 0; i < k; i++) {
        drop(book, find_block(book, names->ids[i]));
      }
      blis_alloc_free(&book->alloc, names, sizeof *names + count * sizeof *names->ids);
      return BLIS_ERR_NOMEM;
    }
  }
  e->names = names;
  return BLIS_OK;
}
