/*
 * The traces of Azure's LLM inference services: TIMESTAMP, ContextTokens,
 * GeneratedTokens. Published 2023 (Patel et al., Splitwise) with times such as
 * "2023-11-16 18:15:46.6805900", 2024 (Stojkovic et al., DynamoLLM) with
 * "2024-05-10 00:00:00.009930+00:00". That of multimodal models of
 * 2025 (ModServe) has a column NumImages, too, which is passed over.
 *
 * A request arrives at its time minus that of the earliest row, both known to a
 * nanosecond, in whole microseconds.
 */
#include "base/array.h"
#include "base/csv.h"
#include "workload/trace_format.h"

#define NS_PER_S INT64_C(1000000000)

typedef struct azure_row {
  int64_t time_ns; /* since 1970 */
  uint32_t context_tokens;
  uint32_t generated_tokens;
} azure_row;

typedef BLIS_ARRAY(azure_row) row_list;

static bool recognise(blis_slice head) {
  return blis__trace_first_line_has(head, "TIMESTAMP,") &&
         blis__trace_first_line_has(head, "ContextTokens,GeneratedTokens");
}

/* A text of which the front is read bit by bit; bad once something is wrong. */
typedef struct scanner {
  const char *at;
  const char *end;
  bool is_bad;
} scanner;

static bool has_digit(const scanner *s) {
  return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static int64_t take_digits(scanner *s, int digits, int64_t min, int64_t max) {
  int64_t value = 0;
  for (int i = 0; i < digits; i++) {
    if (!has_digit(s)) {
      s->is_bad = true;
      return min;
    }
    value = value * 10 + (*s->at++ - '0');
  }
  s->is_bad = s->is_bad || value < min || value > max;
  return value;
}

/* One of the characters in allowed, or 0 when the next one is none of them. */
static char take_any(scanner *s, const char *allowed) {
  for (; s->at < s->end && *allowed != '\0'; allowed++) {
    if (*s->at == *allowed) {
      return *s->at++;
    }
  }
  return '\0';
}

static void take(scanner *s, const char *allowed) {
  s->is_bad = take_any(s, allowed) == '\0' || s->is_bad;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
static int64_t days_to(int64_t year, int64_t month, int64_t day) {
  /* Years from March, so that the leap day is the last of its year. */
  int64_t y = month <= 2 ? year - 1 : year;
  int64_t from_march = (month + 9) % 12;
  int64_t day_of_year = (153 * from_march + 2) / 5 + day - 1;
  return 365 * y + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static int64_t days_in_month(int64_t year, int64_t month) {
  int64_t next_year = month == 12 ? year + 1 : year;
  return days_to(next_year, month % 12 + 1, 1) - days_to(year, month, 1);
}

static int64_t take_fraction_ns(scanner *s) {
  int64_t value = 0;
  int64_t unit = NS_PER_S / 10;
  s->is_bad = s->is_bad || !has_digit(s);
  for (; has_digit(s); unit /= 10) {
    value += (*s->at++ - '0') * unit;
  }
  return value;
}

/* "+01:00" and "-01:00", "Z" or nothing, in seconds. */
static int64_t take_zone_s(scanner *s) {
  char sign = take_any(s, "+-Z");
  if (sign == '\0' || sign == 'Z') {
    return 0;
  }
  int64_t hours = take_digits(s, 2, 0, 23);
  take(s, ":");
  int64_t offset_s = hours * 3600 + take_digits(s, 2, 0, 59) * 60;
  return sign == '+' ? offset_s : -offset_s;
}

/* False when the text is no time from 1970 to 2199. */
static bool parse_time(blis_slice text, int64_t *time_ns) {
  scanner s = {text.data, text.data + text.length, false};
  int64_t year = take_digits(&s, 4, 1970, 2199);
  take(&s, "-");
  int64_t month = take_digits(&s, 2, 1, 12);
  take(&s, "-");
  int64_t day = take_digits(&s, 2, 1, 31);
  take(&s, " T");
  int64_t hour = take_digits(&s, 2, 0, 23);
  take(&s, ":");
  int64_t minute = take_digits(&s, 2, 0, 59);
  take(&s, ":");
  int64_t second = take_digits(&s, 2, 0, 59);
  int64_t fraction_ns = take_any(&s, ".") != '\0' ? take_fraction_ns(&s) : 0;
  int64_t zone_s = take_zone_s(&s);
  if (s.is_bad || s.at != s.end || day > days_in_month(year, month)) {
    return false;
  }
  int64_t time_s = days_to(year, month, day) * 86400 + hour * 3600 +
                   minute * 60 + second - zone_s;
  *time_ns = time_s * NS_PER_S + fraction_ns;
  return true;
}

static blis_status read_rows(const blis__trace_job *job, blis_csv *csv,
                             row_list *rows, blis_error *error) {
  size_t time;
  size_t context;
  size_t generated;
  BLIS_TRY(blis_csv_need(csv, "TIMESTAMP", &time, error));
  BLIS_TRY(blis_csv_need(csv, "ContextTokens", &context, error));
  BLIS_TRY(blis_csv_need(csv, "GeneratedTokens", &generated, error));
  while ((int64_t)rows->count < job->limit) {
    bool has_row;
    blis_slice text;
    int64_t context_tokens;
    int64_t generated_tokens;
    azure_row row;
    BLIS_TRY(blis_csv_next(csv, &has_row, error));
    if (!has_row) {
      break;
    }
    BLIS_TRY(blis_csv_text(csv, time, &text, error));
    if (!parse_time(text, &row.time_ns)) {
      return blis_csv_fail(csv, time,
                           "is not a time such as 2023-11-16 18:15:46.6805900 "
                           "(years 1970 to 2199)",
                           error);
    }
    BLIS_TRY(blis_csv_int64(csv, context, 0, BLIS_WORKLOAD_MAX_TOKENS,
                            &context_tokens, error));
    BLIS_TRY(blis_csv_int64(csv, generated, 0, BLIS_WORKLOAD_MAX_TOKENS,
                            &generated_tokens, error));
    row.context_tokens = (uint32_t)context_tokens;
    row.generated_tokens = (uint32_t)generated_tokens;
    if (blis_array_push(job->alloc, rows, row) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  return BLIS_OK;
}

static blis_status add_rows(const blis__trace_job *job, const row_list *rows,
                            blis_error *error) {
  int64_t start_ns = INT64_MAX;
  for (size_t i = 0; i < rows->count; i++) {
    if (rows->items[i].time_ns < start_ns) {
      start_ns = rows->items[i].time_ns;
    }
  }
  for (size_t i = 0; i < rows->count; i++) {
    const azure_row *row = &rows->items[i];
    blis_request request = {.number = (int64_t)i,
                            .arrival_us = (row->time_ns - start_ns) / 1000,
                            .prompt_tokens = row->context_tokens,
                            .output_tokens = row->generated_tokens,
                            .max_output_tokens = row->generated_tokens};
    if (blis_workload_add(job->workload, &request) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  return BLIS_OK;
}

static blis_status read(const blis__trace_job *job, blis_error *error) {
  blis_csv_options options = {.has_header = true, .has_even_rows = true};
  blis_csv *csv;
  BLIS_TRY(blis_csv_open(job->alloc, job->path, &options, &csv, error));
  row_list rows = {0};
  blis_status status = read_rows(job, csv, &rows, error);
  if (status == BLIS_OK) {
    status = add_rows(job, &rows, error);
  }
  blis_array_deinit(job->alloc, &rows);
  blis_csv_close(csv);
  return status;
}

const blis__trace_format blis__trace_azure = {
    .name = "azure",
    .text = "CSV with TIMESTAMP, ContextTokens, GeneratedTokens",
    .recognise = recognise,
    .read = read,
};
