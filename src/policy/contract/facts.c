#include "policy/contract/facts.h"

#include <string.h>

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool blis__is_same_model(const char *a, const char *b) {
  while (*a != '\0' && lower(*a) == lower(*b)) {
    a++;
    b++;
  }
  return lower(*a) == lower(*b);
}

/* Returns whether the names differ only by an owner that one of them omits. */
static bool differ_by_owner(const char *a, const char *b) {
  const char *a_owned = strrchr(a, '/');
  const char *b_owned = strrchr(b, '/');
  return (a_owned == NULL) != (b_owned == NULL) &&
         blis__is_same_model(a_owned != NULL ? a_owned + 1 : a, b_owned != NULL ? b_owned + 1 : b);
}

void blis__model_search_offer(blis__model_search *search, const char *name, uint32_t number) {
  blis__model_search *s = search;
  if (s->is_exact || (s->found != NULL && blis__is_same_model(s->found, name))) {
    return;
  }
  s->is_exact = blis__is_same_model(s->wanted, name);
  if (s->is_exact || (s->found == NULL && differ_by_owner(s->wanted, name))) {
    s->found = name;
    s->number = number;
    s->other = NULL;
  } else if (s->other == NULL && differ_by_owner(s->wanted, name)) {
    s->other = name;
  }
}

blis_status blis__model_search_fail(const blis__model_search *search, const char *where,
                                    blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID, "%s: '%s' may be %s or %s; name its owner", where,
                   search->wanted, search->found, search->other);
}
