#include "instance/parts/wait_queue.h"
#include "base/invariant.h"

void blis__wait_queue_init(blis__wait_queue *queue, const blis_instance_config *config) {
  *queue = (blis__wait_queue){.config = config, .is_ordered = true};
}

/* Returns whether the order of the queue is the order of arrival. */
static bool is_fcfs(const blis__wait_queue *queue) {
  return queue->config->scheduler == BLIS_SCHEDULER_FCFS;
}

void blis__wait_queue_push_back(blis__wait_queue *queue, blis__waiting *node) {
  BLIS_ASSERT((queue->tail == NULL) == (queue->count == 0));
  node->before = queue->tail;
  node->after = NULL;
  if (queue->tail == NULL) {
    queue->head = node;
  } else {
    queue->tail->after = node;
  }
  queue->tail = node;
  queue->count++;
  queue->is_ordered &= is_fcfs(queue);
}

void blis__wait_queue_push_front(blis__wait_queue *queue, blis__waiting *node) {
  BLIS_ASSERT((queue->head == NULL) == (queue->count == 0));
  node->before = NULL;
  node->after = queue->head;
  if (queue->head == NULL) {
    queue->tail = node;
  } else {
    queue->head->before = node;
  }
  queue->head = node;
  queue->count++;
  queue->is_ordered &= is_fcfs(queue);
}

void blis__wait_queue_remove(blis__wait_queue *queue, blis__waiting *node) {
  BLIS_ASSERT(node->before == NULL ? queue->head == node : node->before->after == node);
  BLIS_ASSERT(node->after == NULL ? queue->tail == node : node->after->before == node);
  if (node->before == NULL) {
    queue->head = node->after;
  } else {
    node->before->after = node->after;
  }
  if (node->after == NULL) {
    queue->tail = node->before;
  } else {
    node->after->before = node->before;
  }
  queue->count--;
}

static int compare(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int compare_priorities(double a, double b) {
  return (a > b) - (a < b);
}

static int compare_keys(blis_scheduler_kind scheduler, const blis_live_request *a,
                        const blis_live_request *b) {
  switch (scheduler) {
  case BLIS_SCHEDULER_PRIORITY_FCFS:
    return compare_priorities(b->priority, a->priority);
  case BLIS_SCHEDULER_REVERSE_PRIORITY:
    return compare_priorities(a->priority, b->priority);
  case BLIS_SCHEDULER_SJF:
    return compare(a->prompt_tokens, b->prompt_tokens);
  case BLIS_SCHEDULER_FCFS:
  case BLIS_SCHEDULER_SCRIPTED:
    break;
  }
  return 0;
}

static blis_status goes_before(const blis__wait_queue *queue, const blis__waiting *a,
                               const blis__waiting *b, bool *before, blis_error *error) {
  const blis_instance_config *config = queue->config;
  if (config->scheduler == BLIS_SCHEDULER_SCRIPTED) {
    return config->goes_before(config->goes_before_ud, a->request, b->request, before, error);
  }
  int order = compare_keys(config->scheduler, a->request, b->request);
  if (order == 0) {
    order = compare(a->request->arrival_us, b->request->arrival_us);
  }
  if (order == 0) {
    order = config->defects.orders_ids_as_text
                ? blis_request_compare_ids(a->request, b->request)
                : blis_request_compare_numbers(a->request, b->request);
  }
  *before = order < 0;
  return BLIS_OK;
}

/* Nodes linked by `after`, from head to tail. */
typedef struct run {
  blis__waiting *head;
  blis__waiting *tail;
} run;

static void append(run *r, run added) {
  if (added.head == NULL) {
    return;
  }
  if (r->head == NULL) {
    *r = added;
    return;
  }
  r->tail->after = added.head;
  r->tail = added.tail;
}

static run take_head(run *r) {
  run one = {r->head, r->head};
  r->head = r->head->after;
  one.tail->after = NULL;
  return one;
}

/* Merges left and right; an element of right moves ahead only if it precedes the element of
   left. After a failure in *status, comparisons stop, but no node is lost. */
static run merge(const blis__wait_queue *queue, run left, run right, blis_status *status,
                 blis_error *error) {
  run merged = {NULL, NULL};
  bool right_first = false;
  if (*status == BLIS_OK && left.head != NULL && right.head != NULL) {
    *status = goes_before(queue, right.head, left.tail, &right_first, error);
  }
  bool overlap = right_first;
  while (overlap && left.head != NULL && right.head != NULL) {
    *status = goes_before(queue, right.head, left.head, &right_first, error);
    if (*status != BLIS_OK) {
      break;
    }
    append(&merged, take_head(right_first ? &right : &left));
  }
  append(&merged, left);
  append(&merged, right);
  return merged;
}

/* Merge sort from the bottom up: bins[i] is empty or contains 2^i sorted nodes, all of which
   precede the nodes in lower bins. */
static run sort(const blis__wait_queue *queue, run rest, blis_status *status, blis_error *error) {
  enum { BINS = 63 };
  run bins[BINS] = {{NULL, NULL}};
  run sorted = {NULL, NULL};
  while (rest.head != NULL) {
    run carry = take_head(&rest);
    int i = 0;
    for (; bins[i].head != NULL; i++) {
      carry = merge(queue, bins[i], carry, status, error);
      bins[i] = (run){NULL, NULL};
    }
    bins[i] = carry;
  }
  for (int i = 0; i < BINS; i++) {
    sorted = merge(queue, bins[i], sorted, status, error);
  }
  return sorted;
}

blis_status blis__wait_queue_order(blis__wait_queue *queue, blis_error *error) {
  blis_scheduler_kind scheduler = queue->config->scheduler;
  if (queue->is_ordered && scheduler != BLIS_SCHEDULER_SCRIPTED) {
    return BLIS_OK;
  }
  blis_status status = BLIS_OK;
  run all = sort(queue, (run){queue->head, queue->tail}, &status, error);
  queue->head = all.head;
  queue->tail = all.tail;
  blis__waiting *before = NULL;
  for (blis__waiting *node = all.head; node != NULL; node = node->after) {
    node->before = before;
    before = node;
  }
  BLIS_ASSERT(before == queue->tail);
  queue->is_ordered = status == BLIS_OK;
  return status;
}

bool blis__wait_queue_check(const blis__wait_queue *queue) {
  int64_t count = 0;
  const blis__waiting *before = NULL;
  for (const blis__waiting *node = queue->head; node != NULL; node = node->after) {
    if (node->before != before || count == queue->count) {
      return false;
    }
    before = node;
    count++;
  }
  return before == queue->tail && count == queue->count;
}
