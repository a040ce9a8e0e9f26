#include "policy/replicas/mail.h"

#include <stddef.h>

enum { SEQUENCE_BITS = 56 };

static blis__mail *mail_of(blis_heap_node *node) {
  return (blis__mail *)(void *)((char *)node - offsetof(blis__mail, node));
}

static size_t size_of(uint32_t entries) {
  return sizeof(blis__mail) + entries * sizeof(double);
}

void blis__mail_free(const blis_alloc *alloc, blis__mail *mail) {
  blis__note_release(alloc, mail->note);
  blis_alloc_free(alloc, mail, size_of(mail->entries));
}

blis__mail *blis__mailbox_take(blis__mailbox *box, int64_t until_us) {
  blis_heap_node *first = blis_node_heap_first(&box->heap);
  if (first == NULL || first->key > until_us) {
    return NULL;
  }
  blis_node_heap_remove(&box->heap, first);
  return mail_of(first);
}

void blis__mailbox_deinit(blis__mailbox *box, const blis_alloc *alloc) {
  for (blis__mail *mail; (mail = blis__mailbox_take(box, INT64_MAX)) != NULL;) {
    blis__mail_free(alloc, mail);
  }
  blis_node_heap_deinit(&box->heap, alloc);
}

blis__mail *blis__mailbox_add(blis__mailbox *box, const blis_alloc *alloc, int64_t arrival_us,
                              uint32_t sender, uint64_t sequence, uint32_t entries) {
  blis__mail *mail = blis_alloc_new(alloc, size_of(entries));
  if (mail == NULL) {
    return NULL;
  }
  *mail = (blis__mail){
      .node = {.key = arrival_us, .sequence = (uint64_t)sender << SEQUENCE_BITS | sequence},
      .sender = sender,
      .entries = entries};
  if (blis_node_heap_add(&box->heap, alloc, &mail->node) != BLIS_OK) {
    blis__mail_free(alloc, mail);
    return NULL;
  }
  return mail;
}
