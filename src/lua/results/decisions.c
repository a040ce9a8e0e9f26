#include "lua/results/decisions.h"

#include <math.h>

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "results/log/decisions.h"

#define DECISIONS_TYPE "blis.decisions"

/* The list refers to the records (user value 1), which own the trace. */
typedef struct decision_list {
  const bind_records *records;
} decision_list;

static const bind_records *check_list(lua_State *L) {
  const decision_list *list = luaL_checkudata(L, 1, DECISIONS_TYPE);
  return list->records;
}

void push_decisions(lua_State *L, int index) {
  index = lua_absindex(L, index);
  decision_list *list = lua_newuserdatauv(L, sizeof *list, 1);
  list->records = check_records(L, index);
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, DECISIONS_TYPE);
}

static void set_instance(lua_State *L, const bind_records *records, const char *name,
                         int64_t number) {
  push_instance_id(L, number, records->id_digits);
  lua_setfield(L, -2, name);
}

static void set_scorers(lua_State *L, const blis_decisions *decisions,
                        const blis_decision_record *record, size_t candidate) {
  lua_createtable(L, 0, (int)record->scorer_count);
  for (size_t k = 0; k < record->scorer_count; k++) {
    set_field_number(L, blis_decisions_scorer_name(decisions, record->stage, k),
                     blis_decisions_scorer_score(decisions, record, candidate, k));
  }
  set_printable(L);
  lua_setfield(L, -2, "scores");
}

static void set_signal(lua_State *L, const char *name, double value) {
  push_signal(L, value);
  lua_setfield(L, -2, name);
}

static void set_candidates(lua_State *L, const bind_records *records,
                           const blis_decision_record *record) {
  const blis_decisions *decisions = records->decisions;
  const blis_decision_candidate *candidates = blis_decisions_candidates(decisions, record);
  lua_createtable(L, (int)record->candidate_count, 0);
  for (size_t i = 0; i < record->candidate_count; i++) {
    const blis_decision_candidate *one = &candidates[i];
    lua_createtable(L, 0, 8);
    set_instance(L, records, "instance", one->instance);
    set_field_number(L, "score", one->score);
    set_signal(L, "queue_depth", one->queue_depth);
    set_signal(L, "batch_size", one->batch_size);
    set_signal(L, "in_flight", one->in_flight);
    set_field_number(L, "kv_utilization", one->kv_utilization);
    set_signal(L, "free_kv_blocks", one->free_kv_blocks);
    if (record->scorer_count > 0) {
      set_scorers(L, decisions, record, i);
    }
    set_printable(L);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_printable(L);
  lua_setfield(L, -2, "candidates");
}

static void set_facts(lua_State *L, const blis_decisions *decisions,
                      const blis_decision_record *record) {
  lua_createtable(L, 0, (int)record->fact_count);
  for (size_t i = 0; i < record->fact_count; i++) {
    blis_decision_fact fact = blis_decisions_fact(decisions, record, i);
    set_signal(L, fact.name, fact.value);
  }
  set_printable(L);
  lua_setfield(L, -2, "facts");
}

/* Sets the verdict on an attempt of a cascade. */
static void set_verdict(lua_State *L, const bind_records *records,
                        const blis_decision_record *record) {
  set_field_string(L, "verdict", blis_cascade_verdict_name((blis_cascade_verdict)record->verdict));
  set_field_string(L, "model", blis_intern_text(records->source.source.strings, record->model));
  set_field_integer(L, "step", record->step);
  if (record->chosen >= 0) {
    set_instance(L, records, "instance", record->chosen);
  }
  if (!isnan(record->score)) {
    set_field_number(L, "mean_logprob", record->score);
  }
}

/* Sets whether the request is disaggregated. */
static void set_split(lua_State *L, const bind_records *records,
                      const blis_decision_record *record) {
  set_field_string(L, "verdict", record->verdict != 0 ? "split" : "local");
  set_instance(L, records, "instance", record->chosen);
  if (record->prefill >= 0) {
    set_instance(L, records, "prefill", record->prefill);
  }
}

/* Pushes the target number of instances, and the metrics that the autoscaler read. */
static void push_scaling(lua_State *L, const blis_decisions *decisions,
                         const blis_decision_record *record) {
  lua_createtable(L, 0, 5);
  set_field_string(L, "kind", "scaling");
  set_field_integer(L, "time_us", record->time_us);
  set_field_string(L, "reason", blis_decisions_reason(decisions, record));
  int64_t from = (int64_t)blis_decisions_fact(decisions, record, 0).value;
  int64_t to = (int64_t)blis_decisions_fact(decisions, record, 1).value;
  set_field_string(L, "verdict", to > from ? "up" : to < from ? "down" : "none");
  set_facts(L, decisions, record);
}

static void push_decision(lua_State *L, const bind_records *records,
                          const blis_decision_record *record) {
  static const char *const kinds[] = {[BLIS_DECISION_ADMISSION] = "admission",
                                      [BLIS_DECISION_ROUTING] = "routing",
                                      [BLIS_DECISION_CASCADE] = "cascade",
                                      [BLIS_DECISION_SPLIT] = "disaggregation"};
  static const char *const verdicts[] = {
      [BLIS_ADMIT] = "admit", [BLIS_REJECT] = "reject", [BLIS_DELAY] = "delay"};
  const blis_decisions *decisions = records->decisions;
  if (record->kind == BLIS_DECISION_SCALING) {
    push_scaling(L, decisions, record);
    return;
  }
  const blis_request named = {
      .number = record->number, .session = record->session, .round_index = record->round_index};
  char id[BLIS_REQUEST_ID_SIZE];
  lua_createtable(L, 0, 10);
  set_field_string(L, "kind", kinds[record->kind]);
  set_field_string(L, "request", blis_request_id(&named, records->source.source.strings, id));
  set_field_integer(L, "number", record->number);
  set_field_integer(L, "time_us", record->time_us);
  set_field_string(L, "reason", blis_decisions_reason(decisions, record));
  if (record->kind == BLIS_DECISION_CASCADE) {
    set_verdict(L, records, record);
    return;
  }
  if (record->kind == BLIS_DECISION_SPLIT) {
    set_split(L, records, record);
    return;
  }
  set_field_string(L, "verdict", verdicts[record->verdict]);
  if (record->chosen >= 0) {
    set_instance(L, records, "chosen", record->chosen);
    set_field_number(L, "score", record->score);
    set_field_number(L, "regret", record->regret);
  }
  if (record->kind == BLIS_DECISION_ROUTING && record->stage != 0) {
    set_field_string(L, "stage", record->stage == BLIS_ROLE_PREFILL ? "prefill" : "decode");
  }
  if (record->kind == BLIS_DECISION_ROUTING) {
    set_candidates(L, records, record);
  }
  if (record->fact_count > 0) {
    set_facts(L, decisions, record);
  }
}

static int decisions_len(lua_State *L) {
  const bind_records *records = check_list(L);
  lua_pushinteger(L, (lua_Integer)blis_decisions_count(records->decisions));
  return 1;
}

static int decisions_index(lua_State *L) {
  const bind_records *records = check_list(L);
  const blis_decisions *decisions = records->decisions;
  size_t count = blis_decisions_count(decisions);
  int64_t place = check_list_item(L, "a list of decisions", count);
  if (place >= 0) {
    push_decision(L, records, blis_decisions_at(decisions, (size_t)place));
    set_printable(L);
  }
  return 1;
}

/* summary(): returns counts, targets, and regrets. */
static int decisions_summary(lua_State *L) {
  const blis_decisions *decisions = check_list(L)->decisions;
  const blis_decisions_summary s = blis_decisions_sum_up(decisions);
  lua_createtable(L, 0, 9);
  set_field_integer(L, "total", s.total);
  set_field_integer(L, "admitted", s.admitted);
  set_field_integer(L, "rejected", s.rejected);
  set_field_integer(L, "routed", s.routed);
  set_field_integer(L, "escalated", s.escalated);
  set_field_integer(L, "unique_targets", s.unique_targets);
  set_field_number(L, "mean_regret", s.mean_regret);
  set_field_number(L, "max_regret", s.max_regret);
  lua_newtable(L);
  uint32_t seen = 0;
  for (uint32_t i = 0; seen < s.unique_targets; i++) {
    int64_t count = blis_decisions_of_instance(decisions, i);
    if (count > 0) {
      seen++;
      lua_pushfstring(L, "instance_%I", (LUAI_UACINT)i);
      lua_pushinteger(L, count);
      lua_rawset(L, -3);
    }
  }
  set_printable(L);
  lua_setfield(L, -2, "targets");
  set_printable(L);
  return 1;
}

/* scorers([stage]): returns { { name =, weight = }, ... }; the weights sum to 1. */
static int decisions_scorers(lua_State *L) {
  static const char *const names[] = {"decode", "prefill", NULL};
  const blis_decisions *decisions = check_list(L)->decisions;
  uint32_t stage = check_word(L, 2, "decode", names) == 0 ? BLIS_ROLE_DECODE : BLIS_ROLE_PREFILL;
  size_t count = blis_decisions_scorer_count(decisions, stage);
  lua_createtable(L, (int)count, 0);
  for (size_t k = 0; k < count; k++) {
    lua_createtable(L, 0, 2);
    set_field_string(L, "name", blis_decisions_scorer_name(decisions, stage, k));
    set_field_number(L, "weight", blis_decisions_scorer_weight(decisions, stage, k));
    set_printable(L);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
  set_printable(L);
  return 1;
}

/* choices(): returns the indices of routing decisions with more than one candidate. */
static int decisions_choices(lua_State *L) {
  const blis_decisions *decisions = check_list(L)->decisions;
  lua_newtable(L);
  lua_Integer choices = 0;
  size_t count = blis_decisions_count(decisions);
  for (size_t i = 0; i < count; i++) {
    const blis_decision_record *record = blis_decisions_at(decisions, i);
    if (record->kind == BLIS_DECISION_ROUTING && record->candidate_count > 1) {
      lua_pushinteger(L, (lua_Integer)i + 1);
      lua_rawseti(L, -2, ++choices);
    }
  }
  return 1;
}

void bind_open_decisions(lua_State *L) {
  static const luaL_Reg meta[] = {{"__len", decisions_len}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"choices", decisions_choices},
                                     {"scorers", decisions_scorers},
                                     {"summary", decisions_summary},
                                     {NULL, NULL}};
  push_new_type(L, DECISIONS_TYPE, meta, NULL);
  luaL_newlib(L, methods);
  lua_pushcclosure(L, decisions_index, 1);
  lua_setfield(L, -2, "__index");
  set_list_pairs(L);
  lua_pop(L, 1);
}
