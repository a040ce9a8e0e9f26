/* The KV cache of SGLang: pages in the radix tree, pages of single requests, free pages. */
#include "base/invariant.h"
#include "base/minmax.h"
#include "instance/sglang/sglang.h"

int64_t blis__sglang_free_pages(const blis__stepwise *engine) {
  const blis__sglang *s = blis__sglang_of(engine);
  return engine->config->kv_blocks - blis_radix_tree_pages(s->tree) - s->own_pages;
}

int64_t blis__sglang_pages_of(const blis__sglang *s, int64_t tokens) {
  return (tokens + s->page_tokens - 1) / s->page_tokens;
}

blis_status blis__sglang_make_room(blis__stepwise *engine, int64_t pages) {
  int64_t evicted;
  return blis__sglang_free_pages(engine) < pages
             ? blis_radix_tree_evict(blis__sglang_of(engine)->tree, pages, &evicted)
             : BLIS_OK;
}

void blis__sglang_hold(blis__sglang *s, blis__sequence *sequence, const blis_radix_path *path,
                       int64_t own_pages) {
  blis__tree_kv *kv = &sequence->tree;
  BLIS_ASSERT(own_pages >= 0);
  blis_radix_tree_lock(s->tree, path->node);
  blis_radix_tree_unlock(s->tree, kv->node);
  s->references += path->pages + own_pages - kv->tree_pages - kv->own_pages;
  s->own_pages += own_pages - kv->own_pages;
  kv->node = path->node;
  kv->tree_pages = path->pages;
  kv->own_pages = own_pages;
}

blis_status blis__sglang_publish(blis__stepwise *engine, blis__sequence *sequence) {
  blis__sglang *s = blis__sglang_of(engine);
  const blis_live_request *request = sequence->place.request;
  int64_t pages = request->progress_tokens / s->page_tokens;
  int64_t held = sequence->tree.tree_pages + sequence->tree.own_pages;
  blis_radix_path path;
  int64_t added;
  if (!s->config->has_cache || pages <= sequence->tree.tree_pages) {
    return BLIS_OK;
  }
  BLIS_ASSERT(held == blis__sglang_pages_of(s, request->progress_tokens));
  BLIS_TRY(blis_radix_tree_insert(s->tree, &request->chain, pages, &path, &added));
  blis__sglang_hold(s, sequence, &path, held - pages); /* duplicate pages become free */
  return BLIS_OK;
}

void blis__sglang_drop(blis__sglang *s, blis__sequence *sequence) {
  static const blis_radix_path nothing = {.node = BLIS_RADIX_ROOT};
  blis__sglang_hold(s, sequence, &nothing, 0);
}
