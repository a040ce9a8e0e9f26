#include "workload/spec/keys.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/nearest.h"
#include "workload/spec/workload_spec.h"

void blis__spec_reader_init(blis__spec_reader *reader, const blis_alloc *alloc, blis_arena *arena,
                            bool is_script) {
  *reader = (blis__spec_reader){.alloc = alloc, .arena = arena, .is_script = is_script};
  blis_map_init(&reader->members, alloc);
  blis_map_init(&reader->structs, alloc);
}

void blis__spec_reader_deinit(blis__spec_reader *reader) {
  blis_map_deinit(&reader->members);
  blis_map_deinit(&reader->structs);
}

/* Records a node by address. There are two maps, because a struct has the same address as its
   first member. */
static blis_status remember(blis_map *places, const void *address, const blis_yaml_node *node,
                            blis_error *error) {
  BLIS_TRY_MEM(blis_map_put(places, (uint64_t)(uintptr_t)address, (uint64_t)(uintptr_t)node),
               error);
  return BLIS_OK;
}

static const blis_yaml_node *find(const blis_map *places, const void *address) {
  uint64_t node;
  return blis_map_get(places, (uint64_t)(uintptr_t)address, &node)
             ? (const blis_yaml_node *)(uintptr_t)node
             : NULL;
}

const blis_yaml_node *blis__spec_find(const blis__spec_reader *reader, const void *member) {
  return find(&reader->members, member);
}

const blis_yaml_node *blis__spec_find_struct(const blis__spec_reader *reader, const void *whole) {
  return find(&reader->structs, whole);
}

/* Lookup of keys. */

blis_status blis__spec_fail_key(const blis_yaml_node *key, const char *section,
                                const char *const *known, size_t known_count, blis_error *error) {
  const char *name = blis_yaml_scalar(key).data;
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < known_count; i++) {
    blis_nearest_offer(&nearest, known[i]);
  }
  const char *article = strchr("aeiou", *section) != NULL ? "an" : "a";
  char what[640];
  snprintf(what, sizeof what, "is not a key of %s %s%s", article, section,
           blis_nearest_suggest(&nearest).text);
  return blis_yaml_fail(key, what, error);
}

size_t blis__section_list_keys(const blis__section *section,
                               const blis__key *keys[BLIS__SECTION_MAX_KEYS]) {
  size_t count = 0;
  for (const blis__section *s = section; s != NULL; s = s->base) {
    for (size_t i = 0; i < s->key_count; i++) {
      if (s == section || !s->keys[i].is_for_clients) {
        keys[count++] = &s->keys[i];
      }
    }
  }
  return count;
}

static blis_status find_key(const blis__spec_reader *reader, const blis_yaml_node *name,
                            const blis__section *section, const blis__key **key,
                            blis_error *error) {
  const blis__key *keys[BLIS__SECTION_MAX_KEYS];
  const char *known[BLIS__SECTION_MAX_KEYS];
  size_t count = blis__section_list_keys(section, keys);
  blis_slice wanted = blis_yaml_scalar(name);
  for (size_t i = 0; i < count; i++) {
    known[i] = keys[i]->value.name;
    bool is_alias =
        reader->is_script && keys[i]->alias != NULL && blis_slice_equals(wanted, keys[i]->alias);
    if (is_alias || blis_slice_equals(wanted, known[i])) {
      *key = keys[i];
      return BLIS_OK;
    }
  }
  return blis__spec_fail_key(name, section->name, known, count, error);
}

/* Values. */

blis_status blis__spec_read_text(blis__spec_reader *reader, const blis_yaml_node *node,
                                 const char **text, blis_error *error) {
  blis_slice found;
  BLIS_TRY(blis_yaml_text(node, &found, error));
  if (memchr(found.data, '\0', found.length) != NULL) {
    return blis_yaml_fail(node, "contains a zero byte", error);
  }
  *text = blis_arena_text(reader->arena, found.data, found.length);
  return *text != NULL ? BLIS_OK : blis_fail_nomem(error);
}

static blis_status read_loop(const blis_yaml_node *node, blis_loop *loop, blis_error *error) {
  bool is_closed;
  BLIS_TRY(blis_yaml_bool(node, &is_closed, error));
  *loop = is_closed ? BLIS_LOOP_CLOSED : BLIS_LOOP_OPEN;
  return BLIS_OK;
}

/* Returns a unit of time in microseconds; 0 for other units. */
static double scale_of(const char *unit) {
  static const struct {
    const char *name;
    double us;
  } scales[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
  for (size_t i = 0; unit != NULL && i < sizeof scales / sizeof *scales; i++) {
    if (strcmp(unit, scales[i].name) == 0) {
      return scales[i].us;
    }
  }
  return 0;
}

/* Reads an integer. A key with a unit of time also accepts a duration such as 30s. */
static blis_status read_whole(const blis_yaml_node *node, const char *unit, int64_t *value,
                              blis_error *error) {
  double us;
  double scale = scale_of(unit);
  bool is_scalar = scale > 0 && blis_yaml_type_of(node) == BLIS_YAML_SCALAR;
  blis_duration_fault fault =
      is_scalar ? blis_parse_duration(blis_yaml_scalar(node), &us) : BLIS_DURATION_NO_UNIT;
  if (fault == BLIS_DURATION_UNIT) {
    return blis_yaml_fail(node, "has an unknown unit; expected us, ms, s, m, h, or d", error);
  }
  if (fault != BLIS_DURATION_OK || !(fabs(us / scale) < 9e18)) {
    return blis_yaml_int64(node, INT64_MIN, INT64_MAX, value, error);
  }
  *value = llround(us / scale);
  return BLIS_OK;
}

static blis_status read_timeout(const blis_yaml_node *node, int64_t *timeout_us, bool *is_none,
                                blis_error *error) {
  BLIS_TRY(read_whole(node, "us", timeout_us, error));
  *is_none = *timeout_us == 0;
  return BLIS_OK;
}

static blis_status read_tokens(const blis_yaml_node *node, bool *is_lazy, blis_error *error) {
  blis_slice word;
  BLIS_TRY(blis_yaml_text(node, &word, error));
  *is_lazy = blis_slice_equals(word, "lazy");
  return *is_lazy || blis_slice_equals(word, "drawn")
             ? BLIS_OK
             : blis_yaml_fail(node, "is neither drawn nor lazy", error);
}

/* Creates zeroed structs of a section. */
static blis_status new_structs(blis__spec_reader *reader, const blis__section *section,
                               size_t count, char **structs, blis_error *error) {
  *structs = blis_arena_new(reader->arena, count * section->size);
  BLIS_TRY_NEW(*structs, error);
  memset(*structs, 0, count * section->size);
  return BLIS_OK;
}

static blis_status read_list(blis__spec_reader *reader, const blis_yaml_node *node,
                             const blis__key *key, char **list, size_t *count, blis_error *error) {
  BLIS_TRY(blis_yaml_need_sequence(node, error));
  *count = blis_yaml_count(node);
  if (*count == 0) {
    return key->is_required ? blis_yaml_fail(node, "must have at least one member", error)
                            : BLIS_OK;
  }
  BLIS_TRY(new_structs(reader, key->section, *count, list, error));
  for (size_t i = 0; i < *count; i++) {
    const blis_yaml_node *item = blis_yaml_item(node, i);
    char *into = *list + i * key->section->size;
    BLIS_TRY(remember(&reader->structs, into, item, error));
    BLIS_TRY(blis__spec_read(reader, item, key->section, into, error));
  }
  return BLIS_OK;
}

/* Reads a mapping of names. Each key becomes the first member of its struct. */
static blis_status read_named(blis__spec_reader *reader, const blis_yaml_node *node,
                              const blis__key *key, char **list, size_t *count, blis_error *error) {
  BLIS_TRY(blis_yaml_need_mapping(node, error));
  *count = blis_yaml_count(node);
  if (*count == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(new_structs(reader, key->section, *count, list, error));
  for (size_t i = 0; i < *count; i++) {
    char *into = *list + i * key->section->size;
    BLIS_TRY(
        blis__spec_read_text(reader, blis_yaml_key(node, i), (const char **)(void *)into, error));
    const blis_yaml_node *item = blis_yaml_item(node, i);
    BLIS_TRY(remember(&reader->structs, into, item, error));
    BLIS_TRY(blis__spec_read(reader, item, key->section, into, error));
  }
  return BLIS_OK;
}

static blis_status read_part(blis__spec_reader *reader, const blis_yaml_node *node,
                             const blis__key *key, void **part, blis_error *error) {
  char *into;
  BLIS_TRY(new_structs(reader, key->section, 1, &into, error));
  BLIS_TRY(remember(&reader->structs, into, node, error));
  BLIS_TRY(blis__spec_read(reader, node, key->section, into, error));
  *part = into;
  return BLIS_OK;
}

static blis_status read_plain(blis__spec_reader *reader, const blis_yaml_node *node,
                              const blis__key *key, void *member, bool *flag, blis_error *error) {
  switch (key->kind) {
  case BLIS__KEY_INTEGER:
    return read_whole(node, key->value.unit, member, error);
  case BLIS__KEY_NUMBER: /* values that are not stored are checked only here */
    return blis_yaml_double(node, key->member == BLIS__NO_MEMBER ? 0 : -DBL_MAX, DBL_MAX, member,
                            error);
  case BLIS__KEY_BOOLEAN:
    return blis_yaml_bool(node, member, error);
  case BLIS__KEY_LOOP:
    return read_loop(node, member, error);
  case BLIS__KEY_TIMEOUT:
    return read_timeout(node, member, flag, error);
  case BLIS__KEY_TOKENS:
    return read_tokens(node, member, error);
  case BLIS__KEY_DISTRIBUTION:
    return blis__spec_read_distribution(reader, node, member, error);
  case BLIS__KEY_ARRIVAL:
    return blis__spec_read_arrival(reader, node, member, error);
  default:
    return blis__spec_read_text(reader, node, member, error);
  }
}

static blis_status read_value(blis__spec_reader *reader, const blis_yaml_node *node,
                              const blis__key *key, char *into, blis_error *error) {
  union {
    double number;
    const char *text;
  } dropped;
  void *member = key->member == BLIS__NO_MEMBER ? (void *)&dropped : into + key->member;
  bool has_flag = key->flag != 0;
  switch (key->kind) {
  case BLIS__KEY_LIST:
    return read_list(reader, node, key, member, (size_t *)(void *)(into + key->flag), error);
  case BLIS__KEY_NAMED:
    return read_named(reader, node, key, member, (size_t *)(void *)(into + key->flag), error);
  case BLIS__KEY_PART:
    return read_part(reader, node, key, member, error);
  case BLIS__KEY_INSIDE:
    if (key->needs_members && blis_yaml_count(node) == 0) {
      return blis_yaml_fail(node, "must have at least one member", error);
    }
    if (has_flag) {
      *(bool *)(into + key->flag) = true;
    }
    return blis__spec_read(reader, node, key->section, into, error);
  default:
    break;
  }
  bool *flag = has_flag ? (bool *)(into + key->flag) : NULL;
  if (flag != NULL) {
    *flag = true;
  }
  BLIS_TRY(remember(&reader->members, member, node, error));
  return read_plain(reader, node, key, member, flag, error);
}

/* Rejects duplicates; a key and its alias count as the same key. */
static blis_status check_once(const blis_yaml_node *node, size_t index, const blis__key *key,
                              blis_error *error) {
  for (size_t i = 0; key->alias != NULL && i < index; i++) {
    blis_slice other = blis_yaml_scalar(blis_yaml_key(node, i));
    if (blis_slice_equals(other, key->value.name) || blis_slice_equals(other, key->alias)) {
      return blis_yaml_fail(blis_yaml_key(node, index), "is set twice, under two names", error);
    }
  }
  return BLIS_OK;
}

blis_status blis__spec_read(blis__spec_reader *reader, const blis_yaml_node *node,
                            const blis__section *section, void *into, blis_error *error) {
  BLIS_TRY(blis_yaml_need_mapping(node, error));
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    const blis__key *key;
    BLIS_TRY(find_key(reader, blis_yaml_key(node, i), section, &key, error));
    BLIS_TRY(check_once(node, i, key, error));
    const blis_yaml_node *value = blis_yaml_item(node, i);
    if (!blis_yaml_is_null(value)) {
      BLIS_TRY(read_value(reader, value, key, into, error));
    }
  }
  return BLIS_OK;
}

/* Checking. */

/* Returns whether a key was omitted: its value is 0. */
static bool is_left_out(const blis__key *key, const char *from) {
  return key->flag != 0 && key->kind != BLIS__KEY_TIMEOUT && !*(const bool *)(from + key->flag);
}

static blis_status check_value(const blis__section_check *check, const blis__key *key,
                               const char *from, blis_error *error) {
  const void *member = from + key->member;
  const blis_key *value = &key->value;
  if (key->kind == BLIS__KEY_NUMBER) {
    return blis_key_check_number(value, check->where, *(const double *)member, error);
  }
  if (key->kind != BLIS__KEY_TEXT) {
    return blis_key_check_integer(value, check->where, *(const int64_t *)member, error);
  }
  const char *word = *(const char *const *)member;
  bool is_free = value->choices == NULL || word == NULL || *word == '\0' ||
                 (key->may_be_free && check->takes_any_growth);
  return is_free ? BLIS_OK : blis_key_check_choice(value, check->where, word, error);
}

enum { WHERE_SIZE = 200 };

/* Writes the start of messages about an item of a list or about a part. */
static void name_item(const blis__section_check *check, const blis__key *key, const char *item,
                      size_t index, char where[WHERE_SIZE]) {
  const char *first = *(const char *const *)(const void *)item;
  bool has_id = key->section->starts_with_id && first != NULL && *first != '\0';
  if (key->kind == BLIS__KEY_NAMED) {
    snprintf(where, WHERE_SIZE, "%.120s%s.%.40s: ", check->where, key->value.name, first);
  } else if (key->kind == BLIS__KEY_PART) {
    snprintf(where, WHERE_SIZE, "%.120s%s: ", check->where, key->value.name);
  } else {
    snprintf(where, WHERE_SIZE, "%.80s%s %zu%s%.60s%s: ", check->where, key->section->name,
             index + 1, has_id ? " ('" : "", has_id ? first : "", has_id ? "')" : "");
  }
}

/* Checks the structs of a part or a list. */
static blis_status check_items(const blis__section_check *check, const blis__key *key,
                               const char *from, blis_error *error) {
  const char *items = *(const char *const *)(const void *)(from + key->member);
  size_t count = items != NULL;
  if (key->kind != BLIS__KEY_PART) {
    count = *(const size_t *)(const void *)(from + key->flag);
  }
  for (size_t i = 0; i < count; i++) {
    const char *item = items + i * key->section->size;
    char where[WHERE_SIZE];
    name_item(check, key, item, i, where);
    blis__section_check in_item = *check;
    in_item.where = where;
    BLIS_TRY(blis__check_section(&in_item, key->section, item, error));
  }
  return BLIS_OK;
}

static blis_status check_key(const blis__section_check *check, const blis__key *key,
                             const char *from, blis_error *error) {
  switch (key->kind) {
  case BLIS__KEY_PART:
  case BLIS__KEY_LIST:
  case BLIS__KEY_NAMED:
    return check_items(check, key, from, error);
  case BLIS__KEY_INSIDE:
    return blis__check_section(check, key->section, from, error);
  case BLIS__KEY_INTEGER:
  case BLIS__KEY_NUMBER:
  case BLIS__KEY_TIMEOUT:
  case BLIS__KEY_TEXT:
    break;
  default:
    return BLIS_OK; /* any value is allowed, or separate rules apply */
  }
  if (key->member == BLIS__NO_MEMBER || is_left_out(key, from)) {
    return BLIS_OK;
  }
  blis_status status = check_value(check, key, from, error);
  if (status != BLIS_OK && check->fault != NULL) {
    *check->fault = (blis_spec_fault){.member = from + key->member, .whole = from};
  }
  return status;
}

blis_status blis__check_section(const blis__section_check *check, const blis__section *section,
                                const void *from, blis_error *error) {
  const blis__key *keys[BLIS__SECTION_MAX_KEYS];
  size_t count = blis__section_list_keys(section, keys);
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(check_key(check, keys[i], from, error));
  }
  return BLIS_OK;
}
