/* Compares request IDs without formatting them; see live_request.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "instance/request/live_request.h"

/*
 * Writes the decimal digits of a number >= 0, most significant digit first. Returns their number.
 */
static int digits_of(int64_t number, char digits[20]) {
  int count = 0;
  for (int64_t rest = number; rest > 0 || count == 0; rest /= 10) {
    count++;
  }
  for (int i = count; i-- > 0; number /= 10) {
    digits[i] = (char)(number % 10);
  }
  return count;
}

/* Compares the numbers as strings. If one is a prefix of the other, the following text decides: a
   part's suffix, which sorts after digits, or the end of the ID. */
static int compare_numbers(const blis_live_request *a, const blis_live_request *b) {
  char a_digits[20];
  char b_digits[20];
  int a_count = digits_of(a->number, a_digits);
  int b_count = digits_of(b->number, b_digits);
  for (int i = 0; i < a_count && i < b_count; i++) {
    if (a_digits[i] != b_digits[i]) {
      return a_digits[i] < b_digits[i] ? -1 : 1;
    }
  }
  if (a_count != b_count) {
    const blis_live_request *shorter = a_count < b_count ? a : b;
    return (shorter == a) == (shorter->part == 0) ? -1 : 1;
  }
  return (a->part > b->part) - (a->part < b->part);
}

static const char *name_of_part(const blis_live_request *request) {
  return request->part == BLIS_PART_WHOLE     ? ""
         : request->part == BLIS_PART_PREFILL ? "_prefill"
                                              : "_decode";
}

/* The part of an ID that remains to be compared: the session, then its suffix. */
typedef struct rest {
  const char *text;
  bool is_session;
  char end[56];
} rest;

static rest start(const blis_live_request *request) {
  rest r = {.text = request->session, .is_session = true};
  snprintf(r.end, sizeof r.end, "_round_%" PRId32 "_%" PRId64 "%s", request->round_index,
           -request->number, name_of_part(request));
  return r;
}

/* Returns the next byte, or 0 at the end. */
static unsigned char take(rest *r) {
  if (*r->text == '\0' && r->is_session) {
    r->text = r->end;
    r->is_session = false;
  }
  return *r->text == '\0' ? 0 : (unsigned char)*r->text++;
}

static int compare_follow_ups(const blis_live_request *a, const blis_live_request *b) {
  rest left = start(a);
  rest right = start(b);
  for (;;) {
    unsigned char x = take(&left);
    unsigned char y = take(&right);
    if (x != y) {
      return x < y ? -1 : 1;
    }
    if (x == 0) {
      return 0;
    }
  }
}

int blis_request_compare_numbers(const blis_live_request *a, const blis_live_request *b) {
  const bool a_follows = a->number < 0;
  const bool b_follows = b->number < 0;
  if (a_follows != b_follows) {
    return a_follows ? 1 : -1;
  }
  if (a->number != b->number) {
    return (a->number < b->number) == a_follows ? 1 : -1;
  }
  return (a->part > b->part) - (a->part < b->part);
}

int blis_request_compare_ids(const blis_live_request *a, const blis_live_request *b) {
  bool a_follows = a->number < 0;
  bool b_follows = b->number < 0;
  if (a_follows != b_follows) {
    return a_follows ? 1 : -1; /* "session" sorts after "request" */
  }
  return a_follows ? compare_follow_ups(a, b) : compare_numbers(a, b);
}
