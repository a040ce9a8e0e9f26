/*
 * keys.h - reads mappings into structs, as described by tables of keys; for the reader of workload
 * specifications (written_spec.h).
 *
 * A section maps the keys of one mapping to members of a struct. If a key is omitted or null, its
 * member remains zero. Unknown keys are errors. The position of every value is recorded, so that a
 * later check can report the position of an invalid value.
 *
 * The module has several files: keys.c reads sections and their plain values; values.c reads
 * distributions and arrivals, which have sections and several forms.
 */
#ifndef BLIS_WORKLOAD_SPEC_KEYS_H
#define BLIS_WORKLOAD_SPEC_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/containers/map.h"
#include "base/error.h"
#include "base/format/key.h"
#include "base/format/yaml.h"
#include "workload/arrival.h"
#include "workload/distribution.h"
#include "workload/spec/workload_spec.h"

typedef enum blis__key_kind {
  BLIS__KEY_INTEGER,      /* int64_t */
  BLIS__KEY_NUMBER,       /* double */
  BLIS__KEY_TEXT,         /* const char * */
  BLIS__KEY_BOOLEAN,      /* bool */
  BLIS__KEY_LOOP,         /* blis_loop, from a boolean */
  BLIS__KEY_TIMEOUT,      /* int64_t; an explicit 0 sets the flag */
  BLIS__KEY_TOKENS,       /* bool: lazy */
  BLIS__KEY_DISTRIBUTION, /* blis_distribution_spec */
  BLIS__KEY_ARRIVAL,      /* blis_arrival_spec */
  BLIS__KEY_PART,         /* pointer to a new struct of the section */
  BLIS__KEY_INSIDE,       /* a mapping whose keys fill the same struct */
  BLIS__KEY_LIST,         /* pointer to structs, and their count */
  BLIS__KEY_NAMED         /* like BLIS__KEY_LIST, from a mapping whose keys are names */
} blis__key_kind;

#define BLIS__NO_MEMBER SIZE_MAX

typedef struct blis__section blis__section;

typedef struct blis__key {
  blis_key value;    /* name, limits, and meaning */
  const char *alias; /* alternative name in scripts; NULL = none */
  blis__key_kind kind;
  size_t member; /* BLIS__NO_MEMBER = checked but not stored */
  size_t flag;   /* offset of a bool that is set if the key is present, or of the size_t count; 0
                    = none */
  const blis__section *section;
  bool is_for_clients; /* the key is not allowed in cohorts */
  bool needs_members;  /* the list or mapping must not be empty */
  bool is_required;
  bool is_derived;  /* the summary describes the value that is used if the key is omitted */
  bool may_be_free; /* with takes_any_growth, any word is allowed */
} blis__key;

struct blis__section {
  const char *name; /* name in messages: "client" */
  const char *summary;
  const blis__key *keys;
  size_t key_count;
  size_t size;               /* size of the struct */
  const blis__section *base; /* section whose keys are also allowed; NULL = none */
  bool starts_with_id;       /* starts with an id, which messages quote */
};

enum { BLIS__SECTION_MAX_KEYS = 64 };

/* Lists all keys of a section, followed by the keys of its base; returns their number. */
size_t blis__section_list_keys(const blis__section *section,
                               const blis__key *keys[BLIS__SECTION_MAX_KEYS]);

typedef struct blis__spec_reader {
  const blis_alloc *alloc;
  blis_arena *arena; /* storage of everything that is read */
  bool is_script;    /* aliases of keys and short forms of values are allowed */
  /* Nodes from which members and structs were filled, keyed by the address of the member or
     struct. */
  blis_map members;
  blis_map structs;
} blis__spec_reader;

/* Borrows allocator and arena. */
void blis__spec_reader_init(blis__spec_reader *reader, const blis_alloc *alloc, blis_arena *arena,
                            bool is_script);
void blis__spec_reader_deinit(blis__spec_reader *reader);

/* Reads a mapping into a zeroed struct. */
BLIS_MUSTUSE blis_status blis__spec_read(blis__spec_reader *reader, const blis_yaml_node *node,
                                         const blis__section *section, void *into,
                                         blis_error *error);

/* Context of a check for blis__section_check. */
typedef struct blis__section_check {
  const char *where;
  bool takes_any_growth;  /* see blis_workload_rules */
  blis_spec_fault *fault; /* NULL = not wanted */
} blis__section_check;

/*
 * Checks the numbers and words of a struct, and of its parts and lists, regardless of its origin.
 * On BLIS_ERR_INVALID, sets *fault.
 */
BLIS_MUSTUSE blis_status blis__check_section(const blis__section_check *check,
                                             const blis__section *section, const void *from,
                                             blis_error *error);

/* Returns the node from which a member or struct was filled; NULL = none. */
const blis_yaml_node *blis__spec_find(const blis__spec_reader *reader, const void *member);
const blis_yaml_node *blis__spec_find_struct(const blis__spec_reader *reader, const void *whole);

/* values.c: distributions and arrivals, in all their forms. */
BLIS_MUSTUSE blis_status blis__spec_read_distribution(blis__spec_reader *reader,
                                                      const blis_yaml_node *node,
                                                      blis_distribution_spec *distribution,
                                                      blis_error *error);
BLIS_MUSTUSE blis_status blis__spec_read_arrival(blis__spec_reader *reader,
                                                 const blis_yaml_node *node,
                                                 blis_arrival_spec *arrival, blis_error *error);

/* Copies a string node into the arena. */
BLIS_MUSTUSE blis_status blis__spec_read_text(blis__spec_reader *reader, const blis_yaml_node *node,
                                              const char **text, blis_error *error);

/* Fails for an unknown key. The message contains its position, its name, and the nearest key or
   all keys. */
blis_status blis__spec_fail_key(const blis_yaml_node *key, const char *section,
                                const char *const *known, size_t known_count, blis_error *error);

#endif
