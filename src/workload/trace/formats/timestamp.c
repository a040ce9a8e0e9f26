#include "workload/trace/formats/timestamp.h"

#define NS_PER_S INT64_C(1000000000)

/* A string that is read from the front; bad is set after an error. */
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

/* Takes a character if it is in allowed; otherwise returns 0. */
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

/* Returns the days from 1970-01-01 to a date in the Gregorian calendar. */
static int64_t days_to(int64_t year, int64_t month, int64_t day) {
  /* Years start in March, so that the leap day is the last day of its year. */
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

/* Parses "+01:00", "-01:00", "Z", or nothing; returns seconds. */
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

bool blis__trace_parse_timestamp(blis_slice text, int64_t *time_ns) {
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
  int64_t time_s = days_to(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - zone_s;
  *time_ns = time_s * NS_PER_S + fraction_ns;
  return true;
}
