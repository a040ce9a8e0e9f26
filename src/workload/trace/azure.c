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
#include "base/csv.h"
#include "workload/trace/format.h"

#define NS_PER_S INT64_C(1000000000)

typedef struct reading {
  int64_t limit;
  const struct reading *known; /* the reader of the job, or this one */
  blis_csv *csv;               /* NULL when all rows were read */
  size_t time;
  size_t context;
  size_t generated;
  int64_t count;    /* rows */
  int64_t start_ns; /* of the earliest row, since 1970 */
} reading;

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

static blis_status read_tokens(const reading *r, size_t column,
                               uint32_t *tokens, blis_error *error) {
  int64_t value;
  BLIS_TRY(blis_csv_int64(r->csv, column, 0, BLIS_WORKLOAD_MAX_TOKENS, &value,
                          error));
  *tokens = (uint32_t)value;
  return BLIS_OK;
}

/* Until it is settled, a row has its time in nanoseconds as its arrival. */
static blis_status next(void *reader, blis_request *row, bool *has_row,
                        blis_error *error) {
  reading *r = reader;
  *has_row = false;
  if (r->count == r->limit) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_csv_next(r->csv, has_row, error));
  if (!*has_row) {
    return BLIS_OK;
  }
  *row = (blis_request){.number = r->count++};
  blis_slice text;
  BLIS_TRY(blis_csv_text(r->csv, r->time, &text, error));
  if (!parse_time(text, &row->arrival_us)) {
    return blis_csv_fail(r->csv, r->time,
                         "is not a time such as 2023-11-16 18:15:46.6805900 "
                         "(years 1970 to 2199)",
                         error);
  }
  if (row->arrival_us < r->start_ns) {
    r->start_ns = row->arrival_us;
  }
  BLIS_TRY(read_tokens(r, r->context, &row->prompt_tokens, error));
  BLIS_TRY(read_tokens(r, r->generated, &row->output_tokens, error));
  row->max_output_tokens = row->output_tokens;
  return BLIS_OK;
}

static blis_status finish(void *reader, blis_error *error) {
  (void)error;
  reading *r = reader;
  blis_csv_close(r->csv);
  r->csv = NULL;
  return BLIS_OK;
}

static void settle(const void *reader, blis_request *row,
                   blis_segment *segments) {
  (void)segments;
  const reading *r = reader;
  row->arrival_us = (row->arrival_us - r->known->start_ns) / 1000;
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis_csv_close(r->csv);
}

static blis_status open_csv(blis__trace_job *job, reading *r,
                            blis_error *error) {
  const blis_csv_options options = {.has_header = true, .has_even_rows = true};
  BLIS_TRY(blis_csv_open_input(job->alloc, blis__trace_take_input(job),
                               &options, &r->csv, error));
  BLIS_TRY(blis_csv_need(r->csv, "TIMESTAMP", &r->time, error));
  BLIS_TRY(blis_csv_need(r->csv, "ContextTokens", &r->context, error));
  return blis_csv_need(r->csv, "GeneratedTokens", &r->generated, error);
}

static blis_status open_reading(blis__trace_job *job, void *reader,
                                blis_error *error) {
  reading *r = reader;
  r->limit = job->limit;
  r->known = job->known != NULL ? job->known : r;
  r->start_ns = INT64_MAX;
  return open_csv(job, r, error);
}

const blis__trace_format blis__trace_azure = {
    .name = "azure",
    .text = "CSV with TIMESTAMP, ContextTokens, GeneratedTokens",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .finish = finish,
    .settle = settle,
    .close = close_reading,
};
