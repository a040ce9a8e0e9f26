/* Order of request ids without writing them out; see live_request.h. */
#include "instance/live_request.h"

/* Decimal digits of a number >= 0, the first one first; returns how many. */
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

int blis_request_compare_ids(int64_t a, int64_t b) {
  char a_digits[20];
  char b_digits[20];
  int a_count = digits_of(a, a_digits);
  int b_count = digits_of(b, b_digits);
  for (int i = 0; i < a_count && i < b_count; i++) {
    if (a_digits[i] != b_digits[i]) {
      return a_digits[i] < b_digits[i] ? -1 : 1;
    }
  }
  return (a_count > b_count) - (a_count < b_count);
}
