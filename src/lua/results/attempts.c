#include "lua/results/attempts.h"

#include <math.h>
#include <string.h>

#include "lua/bind/bind.h"
#include "lua/policies/routing/cascade.h"
#include "lua/results/figures.h"

static const char *text_of(const bind_records *records, uint32_t id) {
  return blis_intern_text(records->source.source.strings, id);
}

static const char *verdict_name(const blis_attempt_record *attempt) {
  return blis_cascade_verdict_name((blis_cascade_verdict)attempt->verdict);
}

static void push_attempt(lua_State *L, const bind_records *records,
                         const blis_attempt_record *record) {
  const char *reason = blis_recorder_attempt_reason(records->recorder, record);
  const blis_cascade_attempt attempt = {
      .model = text_of(records, record->model),
      .step = record->step,
      .stage = record->stage,
      .stage_count = record->stage_count,
      .state = (blis_request_state)record->state,
      .reason = reason[0] == '\0' ? NULL : reason,
      .instance = record->instance,
      .start_us = record->start_us,
      .ttft_us = record->ttft_us,
      .end_us = record->end_us,
      .prompt_tokens = record->prompt_tokens,
      .output_tokens = record->output_tokens,
      .mean_logprob = record->mean_logprob,
  };
  lua_createtable(L, 0, 14);
  set_attempt(L, &(bind_alias){0}, &attempt);
  set_field_string(L, "verdict", verdict_name(record));
}

void set_record_attempts(lua_State *L, const bind_records *records, const blis_record *record) {
  size_t count;
  const blis_attempt_record *attempts = blis_attempts_of(
      blis_recorder_attempts(records->recorder), record->arrival_us, record->number, &count);
  if (count == 0) {
    return;
  }
  const blis_attempt_record *last = &attempts[count - 1];
  set_field_integer(L, "steps", (int64_t)count);
  set_field_string(L, "model_used", text_of(records, last->model));
  set_field_string(L, "verdict", verdict_name(last));
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    push_attempt(L, records, &attempts[i]);
    set_printable(L);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_printable(L);
  lua_setfield(L, -2, "attempts");
}

/* Attempts that a script adds. The table of an attempt is on top of the stack. */

static blis_cascade_verdict check_verdict(lua_State *L) {
  const char *name = check_field_string(L, -1, "verdict");
  int verdict = 0;
  while (verdict < BLIS_CASCADE_VERDICT_COUNT &&
         strcmp(blis_cascade_verdict_name((blis_cascade_verdict)verdict), name) != 0) {
    verdict++;
  }
  if (verdict == BLIS_CASCADE_VERDICT_COUNT) {
    luaL_error(L, "unknown verdict '%s' of an attempt", name);
  }
  return (blis_cascade_verdict)verdict;
}

static int64_t check_small(lua_State *L, const char *name, int64_t low, int64_t high) {
  int64_t value = check_field_integer(L, -1, name);
  if (value < low || value > high) {
    luaL_error(L, "an attempt has %s = %I, expected %I to %I", name, (LUAI_UACINT)value,
               (LUAI_UACINT)low, (LUAI_UACINT)high);
  }
  return value;
}

/* Fields that set_record_attempts sets. */
static const char *const known[] = {
    "model",    "step",    "stage",  "stages",        "state",         "reason",       "instance",
    "start_us", "ttft_us", "end_us", "prompt_tokens", "output_tokens", "mean_logprob", "verdict"};

static void check_attempt(lua_State *L, bind_records *records, const blis_record *record,
                          lua_Integer step) {
  check_names(L, lua_gettop(L), "an attempt", known, sizeof known / sizeof *known);
  uint32_t model = 0;
  const char *text = check_field_string(L, -1, "model");
  check_status(L, blis_intern_add(records->strings, text, strlen(text), &model), NULL);
  const int64_t start_us = check_small(L, "start_us", record->arrival_us, INT64_C(1) << 53);
  const blis_cascade_attempt attempt = {
      .model = text,
      .model_id = model,
      .step = (uint32_t)check_small(L, "step", step, step),
      .stage = (uint32_t)check_small(L, "stage", 1, UINT16_MAX) - 1,
      .stage_count = (uint32_t)check_small(L, "stages", 1, UINT16_MAX),
      .state = check_record_state(L, -1),
      .reason = opt_field_string(L, -1, "reason"),
      .instance = check_record_instance(L, records, -1, "instance"),
      .arrival_us = record->arrival_us,
      .start_us = start_us,
      .ttft_us = opt_field_integer(L, -1, "ttft_us", -1),
      .end_us = check_small(L, "end_us", start_us, INT64_C(1) << 53),
      .prompt_tokens = check_small(L, "prompt_tokens", 0, UINT32_MAX),
      .output_tokens = check_small(L, "output_tokens", 0, UINT32_MAX),
      .mean_logprob = opt_field_number(L, -1, "mean_logprob", NAN),
  };
  const blis_request_sink *sink = blis_recorder_sink(records->recorder);
  blis_error error = {0};
  const blis_request request = {.number = record->number, .arrival_us = record->arrival_us};
  check_status(L, sink->attempted(sink->ud, &request, &attempt, check_verdict(L), &error), &error);
}

void check_record_attempts(lua_State *L, int index, bind_records *records,
                           const blis_record *record) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "attempts") != LUA_TNIL) {
    if (!lua_istable(L, -1)) {
      luaL_error(L, "a request has attempts = %s, expected a list", push_what(L, -1));
    }
    lua_Integer count = (lua_Integer)lua_rawlen(L, top + 1);
    for (lua_Integer i = 1; i <= count; i++) {
      lua_rawgeti(L, top + 1, i);
      if (!lua_istable(L, -1)) {
        luaL_error(L, "attempts[%I] is %s, expected a table", (LUAI_UACINT)i, push_what(L, -1));
      }
      check_attempt(L, records, record, i);
      lua_pop(L, 1);
    }
  }
  lua_settop(L, top);
}

/* Sums. */

static void set_sums(lua_State *L, const blis_attempt_sums *sums) {
  const blis_attempt_figures figures = blis_attempts_figures(sums);
  set_figures(L, BLIS_FIGURES_ATTEMPTS, &figures);
}

void push_cascade(lua_State *L, const bind_records *records) {
  const blis_attempts *attempts = blis_recorder_attempts(records->recorder);
  const blis_attempt_sums *models = attempts->models.items;
  size_t count = attempts->models.count;
  blis_percentiles earlier;
  check_status(L, blis_attempts_earlier(attempts, &earlier), NULL);
  lua_createtable(L, 0, 20);
  set_sums(L, &attempts->all);
  const blis_cascade_figures figures = blis_attempts_cascade(attempts);
  set_figures(L, BLIS_FIGURES_CASCADE, &figures);
  lua_createtable(L, (int)attempts->steps.count, 0);
  for (size_t i = 0; i < attempts->steps.count; i++) {
    lua_pushinteger(L, attempts->steps.items[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "steps");
  lua_createtable(L, 0, BLIS_PERCENTILE_COUNT + 4);
  set_figures(L, BLIS_FIGURES_PERCENTILES, &earlier);
  lua_setfield(L, -2, "earlier_ms");
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 14);
    set_field_string(L, "model", text_of(records, models[i].model));
    set_sums(L, &models[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "models");
}
