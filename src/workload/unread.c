#include "workload/unread.h"

#include <stdio.h>
#include <string.h>

void blis__unread_add(blis__unread *unread, const char *name) {
  const blis_shown shown = blis_show(blis_slice_of(name));
  for (size_t i = 0; i < unread->count; i++) {
    if (strcmp(unread->names[i].text, shown.text) == 0) {
      return;
    }
  }
  if (unread->count == BLIS__UNREAD_MAX) {
    unread->has_more = true;
    return;
  }
  unread->names[unread->count++] = shown;
}

static bool is_known(const char *name, const char *const *known) {
  for (size_t i = 0; known[i] != NULL; i++) {
    if (strcmp(name, known[i]) == 0) {
      return true;
    }
  }
  return false;
}

void blis__unread_see_columns(blis__unread *unread, const blis_csv *csv, const char *const *known) {
  for (size_t i = 0; i < blis_csv_column_count(csv); i++) {
    const char *name = blis_csv_column_name(csv, i);
    if (!is_known(name, known)) {
      blis__unread_add(unread, name);
    }
  }
}

void blis__unread_see_members(blis__unread *unread, blis_json_value object,
                              const char *const *known) {
  const char *name = NULL;
  blis_json_value member;
  size_t next = 0; /* most rows have their fields in the same order */
  while (blis_json_next(object, &name, &member)) {
    if (known[next] != NULL && strcmp(name, known[next]) == 0) {
      next++;
    } else if (!is_known(name, known)) {
      blis__unread_add(unread, name);
    }
  }
}

void blis__unread_list(const blis__unread *unread, char text[BLIS__UNREAD_TEXT_SIZE]) {
  size_t length = 0;
  text[0] = '\0';
  for (size_t i = 0; i < unread->count; i++) {
    length += (size_t)snprintf(text + length, BLIS__UNREAD_TEXT_SIZE - length, "%s%s",
                               i > 0 ? ", " : "", unread->names[i].text);
  }
  if (unread->has_more) {
    snprintf(text + length, BLIS__UNREAD_TEXT_SIZE - length, " and others");
  }
}
