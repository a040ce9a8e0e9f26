#include "results/log/decisions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/containers/intern.h"
#include "base/invariant.h"
#include "cluster/watch/decision_sink.h"

typedef struct ranked {
  double score;
  uint32_t id_rank;
  uint32_t place; /* index in the view */
} ranked;

typedef struct kept_fact {
  uint32_t name;
  double value;
} kept_fact;

typedef struct scorer_list {
  BLIS_ARRAY(uint32_t) names;
  BLIS_ARRAY(double) weights;
} scorer_list;

struct blis_decisions {
  blis_alloc alloc;
  int64_t kept_candidates;
  blis_decision_sink sink;
  blis_intern *texts;
  BLIS_ARRAY(blis_decision_record) records;
  BLIS_ARRAY(blis_decision_candidate) candidates;
  scorer_list scorers[2];           /* the second list belongs to the prefill stage */
  BLIS_ARRAY(double) scorer_scores; /* by candidate, then scorer */
  BLIS_ARRAY(kept_fact) facts;
  BLIS_ARRAY(int64_t) per_instance;
  BLIS_ARRAY(ranked) ranking; /* ranking for the current decision */
  blis_decisions_summary summary;
  double regret_sum;
};

static blis_status intern(blis_decisions *self, const char *text, uint32_t *id) {
  return blis_intern_add(self->texts, text, strlen(text), id);
}

static blis_decision_record record_of(const blis_routing_request *request, int64_t now_us,
                                      blis_decision_kind kind) {
  return (blis_decision_record){.time_us = now_us,
                                .number = request->number,
                                .session = request->session,
                                .round_index = request->round_index,
                                .chosen = -1,
                                .prefill = -1,
                                .stage = (uint8_t)request->stage,
                                .kind = (uint8_t)kind};
}

/* Adds a record. Decisions are in order of time. */
static blis_status keep(blis_decisions *self, const blis_decision_record *record) {
  size_t count = self->records.count;
  BLIS_ASSERT(count == 0 || self->records.items[count - 1].time_us <= record->time_us);
  return blis_array_push(&self->alloc, &self->records, *record);
}

/* Admission. */

static blis_status on_admission(void *ud, const blis_admission_event *event, blis_error *error) {
  blis_decisions *self = ud;
  blis_decision_record record = record_of(event->request, event->now_us, BLIS_DECISION_ADMISSION);
  record.verdict = (uint8_t)event->verdict;
  record.first_candidate = self->candidates.count;
  BLIS_TRY_MEM(intern(self, event->reason, &record.reason), error);
  BLIS_TRY_MEM(keep(self, &record), error);
  self->summary.total += event->verdict != BLIS_DELAY;
  self->summary.admitted += event->verdict == BLIS_ADMIT;
  self->summary.rejected += event->verdict == BLIS_REJECT;
  return BLIS_OK;
}

/* Routing. */

static double score_at(const blis_routing_event *event, size_t place) {
  const double *scores = event->decision->scores;
  return scores != NULL ? scores[place] : -event->view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD][place];
}

static int compare_ranked(const void *a, const void *b) {
  const ranked *left = a;
  const ranked *right = b;
  if (left->score != right->score) {
    return left->score > right->score ? -1 : 1;
  }
  return (left->id_rank > right->id_rank) - (left->id_rank < right->id_rank);
}

/* Lists the candidates of a decision, best first if only some are kept. */
static blis_status rank(blis_decisions *self, const blis_routing_event *event) {
  size_t count = event->view->count;
  self->ranking.count = 0;
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->ranking, count));
  for (size_t i = 0; i < count; i++) {
    self->ranking.items[i] = (ranked){
        .score = score_at(event, i), .id_rank = event->view->id_ranks[i], .place = (uint32_t)i};
  }
  self->ranking.count = count;
  if (self->kept_candidates > 0 && count > 1) {
    qsort(self->ranking.items, count, sizeof *self->ranking.items, compare_ranked);
  }
  return BLIS_OK;
}

static double regret_of(const blis_decisions *self, double chosen) {
  double best = -INFINITY;
  for (size_t i = 0; i < self->ranking.count; i++) {
    best = fmax(best, self->ranking.items[i].score);
  }
  return best > chosen ? best - chosen : 0;
}

static size_t list_of(uint32_t stage) {
  return stage == BLIS_ROLE_PREFILL;
}

/* Stores the scorers of a policy, which are the same in every decision. */
static blis_status keep_scorers(blis_decisions *self, uint32_t stage,
                                const blis_decision *decision) {
  scorer_list *list = &self->scorers[list_of(stage)];
  for (size_t i = list->names.count; i < decision->part_count; i++) {
    uint32_t name;
    BLIS_TRY(intern(self, decision->parts[i].scorer, &name));
    BLIS_TRY(blis_array_push(&self->alloc, &list->names, name));
    BLIS_TRY(blis_array_push(&self->alloc, &list->weights, decision->parts[i].weight));
  }
  BLIS_ASSERT(list->names.count == list->weights.count);
  return BLIS_OK;
}

static blis_status keep_candidate(blis_decisions *self, const blis_routing_event *event,
                                  const ranked *one) {
  const blis_routing_view *view = event->view;
  uint32_t i = one->place;
  const blis_decision_candidate candidate = {
      .instance = view->instances[i],
      .score = one->score,
      .queue_depth = view->columns[BLIS_SIGNAL_QUEUE_DEPTH][i],
      .batch_size = view->columns[BLIS_SIGNAL_BATCH_SIZE][i],
      .in_flight = view->columns[BLIS_SIGNAL_IN_FLIGHT][i],
      .kv_utilization = view->columns[BLIS_SIGNAL_KV_UTILIZATION][i],
      .free_kv_blocks = view->columns[BLIS_SIGNAL_FREE_KV_BLOCKS][i],
  };
  BLIS_TRY(blis_array_push(&self->alloc, &self->candidates, candidate));
  for (size_t k = 0; k < event->decision->part_count; k++) {
    double score = event->decision->parts[k].scores[i];
    BLIS_TRY(blis_array_push(&self->alloc, &self->scorer_scores, score));
  }
  return BLIS_OK;
}

static blis_status keep_candidates(blis_decisions *self, const blis_routing_event *event,
                                   blis_decision_record *record) {
  record->first_candidate = self->candidates.count;
  record->first_score = self->scorer_scores.count;
  if (self->kept_candidates == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(rank(self, event));
  size_t kept = self->ranking.count;
  if (self->kept_candidates > 0 && (size_t)self->kept_candidates < kept) {
    kept = (size_t)self->kept_candidates;
  }
  BLIS_TRY(keep_scorers(self, record->stage, event->decision));
  for (size_t i = 0; i < kept; i++) {
    BLIS_TRY(keep_candidate(self, event, &self->ranking.items[i]));
  }
  BLIS_ASSERT(self->candidates.count == record->first_candidate + kept);
  BLIS_ASSERT(self->scorer_scores.count ==
              record->first_score + kept * event->decision->part_count);
  record->candidate_count = (uint32_t)kept;
  record->scorer_count = (uint32_t)event->decision->part_count;
  return BLIS_OK;
}

static blis_status keep_fact(blis_decisions *self, blis_decision_record *record, const char *name,
                             double value) {
  kept_fact fact = {.value = value};
  BLIS_TRY(intern(self, name, &fact.name));
  BLIS_TRY(blis_array_push(&self->alloc, &self->facts, fact));
  record->fact_count++;
  return BLIS_OK;
}

static blis_status keep_facts(blis_decisions *self, const blis_decision *decision,
                              blis_decision_record *record) {
  record->first_fact = self->facts.count;
  for (size_t i = 0; i < decision->fact_count; i++) {
    BLIS_TRY(keep_fact(self, record, decision->facts[i].name, decision->facts[i].value));
  }
  return BLIS_OK;
}

static blis_status count_target(blis_decisions *self, uint32_t instance) {
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->per_instance, (size_t)instance + 1));
  while (self->per_instance.count <= instance) {
    self->per_instance.items[self->per_instance.count++] = 0;
  }
  int64_t *count = &self->per_instance.items[instance];
  self->summary.unique_targets += *count == 0;
  (*count)++;
  BLIS_ASSERT((size_t)self->summary.unique_targets <= self->per_instance.count);
  return BLIS_OK;
}

static blis_status add_choice(blis_decisions *self, const blis_routing_event *event,
                              blis_decision_record *record) {
  size_t place = event->decision->chosen;
  record->chosen = (int32_t)event->view->instances[place];
  record->score = score_at(event, place);
  if (self->kept_candidates != 0) {
    record->regret = regret_of(self, record->score);
  }
  BLIS_ASSERT(record->regret >= 0);
  self->regret_sum += record->regret;
  self->summary.max_regret = fmax(self->summary.max_regret, record->regret);
  return count_target(self, event->view->instances[place]);
}

static blis_status add_routing(blis_decisions *self, const blis_routing_event *event) {
  const blis_decision *decision = event->decision;
  bool is_rejected = decision->rejected != NULL;
  blis_decision_record record = record_of(event->request, event->now_us, BLIS_DECISION_ROUTING);
  record.verdict = is_rejected ? BLIS_REJECT : BLIS_ADMIT;
  record.has_scores = decision->scores != NULL;
  const char *reason = decision->reason != NULL ? decision->reason : event->policy;
  BLIS_TRY(intern(self, is_rejected ? decision->rejected : reason, &record.reason));
  BLIS_TRY(keep_candidates(self, event, &record));
  BLIS_TRY(keep_facts(self, decision, &record));
  if (!is_rejected) {
    BLIS_TRY(add_choice(self, event, &record));
  }
  self->summary.routed++;
  return keep(self, &record);
}

static blis_status on_routing(void *ud, const blis_routing_event *event, blis_error *error) {
  return add_routing(ud, event) == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

/* Records a split into prefill and decode. */

static blis_status on_split(void *ud, const blis_split_event *event, blis_error *error) {
  blis_decisions *self = ud;
  blis_decision_record record = record_of(event->request, event->now_us, BLIS_DECISION_SPLIT);
  record.verdict = event->splits;
  record.chosen = (int32_t)event->decode;
  record.prefill = (int32_t)event->prefill;
  record.first_candidate = self->candidates.count;
  BLIS_TRY_MEM(intern(self, event->policy, &record.reason), error);
  BLIS_TRY_MEM(keep(self, &record), error);
  return BLIS_OK;
}

/* Cascades. */

static blis_status on_cascade(void *ud, const blis_cascade_event *event, blis_error *error) {
  blis_decisions *self = ud;
  const blis_cascade_attempt *attempt = event->attempt;
  blis_decision_record record = record_of(event->request, event->now_us, BLIS_DECISION_CASCADE);
  record.verdict = (uint8_t)event->verdict;
  record.chosen = attempt->instance;
  record.score = attempt->mean_logprob;
  record.step = (uint16_t)attempt->step;
  record.model = attempt->model_id;
  record.first_candidate = self->candidates.count;
  const char *reason = attempt->reason == NULL ? "" : attempt->reason;
  BLIS_TRY_MEM(intern(self, reason, &record.reason), error);
  BLIS_TRY_MEM(keep(self, &record), error);
  self->summary.escalated += event->verdict == BLIS_CASCADE_ESCALATE;
  return BLIS_OK;
}

/* Scaling. */

static blis_status add_scaling(blis_decisions *self, const blis_scaling_event *event) {
  const blis_scale_context *context = event->context;
  blis_decision_record record = {.time_us = context->now_us,
                                 .chosen = -1,
                                 .prefill = -1,
                                 .kind = BLIS_DECISION_SCALING,
                                 .first_candidate = self->candidates.count,
                                 .first_fact = self->facts.count};
  const struct {
    const char *name;
    double value;
  } facts[] = {{"from", context->replicas},           {"to", (double)event->decision->target},
               {"proposed", (double)event->proposed}, {"ready", context->ready},
               {"starting", context->starting},       {"draining", context->draining}};
  BLIS_TRY(intern(self, event->decision->reason, &record.reason));
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    BLIS_TRY(keep_fact(self, &record, facts[i].name, facts[i].value));
  }
  for (int m = 0; m < BLIS_SCALE_METRIC_COUNT; m++) {
    blis_scale_metric metric = (blis_scale_metric)m;
    BLIS_TRY(keep_fact(self, &record, blis_scale_metric_name(metric),
                       blis_scale_value(context, metric)));
  }
  return keep(self, &record);
}

static blis_status on_scaling(void *ud, const blis_scaling_event *event, blis_error *error) {
  return add_scaling(ud, event) == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

/* Construction and queries. */

blis_decisions *blis_decisions_new(const blis_alloc *alloc, int64_t kept_candidates) {
  blis_decisions *self = blis_alloc_new(alloc, sizeof *self);
  if (self == NULL) {
    return NULL;
  }
  *self = (blis_decisions){.alloc = *alloc,
                           .kept_candidates = kept_candidates,
                           .sink = {.admission = on_admission,
                                    .routing = on_routing,
                                    .cascade = on_cascade,
                                    .split = on_split,
                                    .scaling = on_scaling,
                                    .ud = self,
                                    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
                                             BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE) |
                                             BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT) |
                                             BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION) |
                                             BLIS_SIGNAL_BIT(BLIS_SIGNAL_FREE_KV_BLOCKS) |
                                             BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD)},
                           .texts = blis_intern_new(alloc)};
  if (self->texts == NULL) {
    blis_decisions_free(self);
    return NULL;
  }
  return self;
}

void blis_decisions_free(blis_decisions *decisions) {
  if (decisions == NULL) {
    return;
  }
  blis_alloc alloc = decisions->alloc;
  blis_array_deinit(&alloc, &decisions->records);
  blis_array_deinit(&alloc, &decisions->candidates);
  for (int i = 0; i < 2; i++) {
    blis_array_deinit(&alloc, &decisions->scorers[i].names);
    blis_array_deinit(&alloc, &decisions->scorers[i].weights);
  }
  blis_array_deinit(&alloc, &decisions->scorer_scores);
  blis_array_deinit(&alloc, &decisions->facts);
  blis_array_deinit(&alloc, &decisions->per_instance);
  blis_array_deinit(&alloc, &decisions->ranking);
  blis_intern_free(decisions->texts);
  blis_alloc_free(&alloc, decisions, sizeof *decisions);
}

const blis_decision_sink *blis_decisions_sink(blis_decisions *decisions) {
  return &decisions->sink;
}

size_t blis_decisions_count(const blis_decisions *decisions) {
  return decisions->records.count;
}

const blis_decision_record *blis_decisions_at(const blis_decisions *decisions, size_t index) {
  return &decisions->records.items[index];
}

const char *blis_decisions_reason(const blis_decisions *decisions,
                                  const blis_decision_record *record) {
  return blis_intern_text(decisions->texts, record->reason);
}

const blis_decision_candidate *blis_decisions_candidates(const blis_decisions *decisions,
                                                         const blis_decision_record *record) {
  return record->candidate_count == 0 ? NULL
                                      : &decisions->candidates.items[record->first_candidate];
}

size_t blis_decisions_scorer_count(const blis_decisions *decisions, uint32_t stage) {
  return decisions->scorers[list_of(stage)].names.count;
}

const char *blis_decisions_scorer_name(const blis_decisions *decisions, uint32_t stage,
                                       size_t scorer) {
  return blis_intern_text(decisions->texts, decisions->scorers[list_of(stage)].names.items[scorer]);
}

double blis_decisions_scorer_weight(const blis_decisions *decisions, uint32_t stage,
                                    size_t scorer) {
  return decisions->scorers[list_of(stage)].weights.items[scorer];
}

double blis_decisions_scorer_score(const blis_decisions *decisions,
                                   const blis_decision_record *record, size_t candidate,
                                   size_t scorer) {
  return decisions->scorer_scores
      .items[record->first_score + candidate * record->scorer_count + scorer];
}

blis_decision_fact blis_decisions_fact(const blis_decisions *decisions,
                                       const blis_decision_record *record, size_t fact) {
  const kept_fact *kept = &decisions->facts.items[record->first_fact + fact];
  return (blis_decision_fact){.name = blis_intern_text(decisions->texts, kept->name),
                              .value = kept->value};
}

blis_decisions_summary blis_decisions_sum_up(const blis_decisions *decisions) {
  blis_decisions_summary summary = decisions->summary;
  if (summary.routed > 0) {
    summary.mean_regret = decisions->regret_sum / (double)summary.routed;
  }
  return summary;
}

int64_t blis_decisions_of_instance(const blis_decisions *decisions, uint32_t instance) {
  return instance < decisions->per_instance.count ? decisions->per_instance.items[instance] : 0;
}
