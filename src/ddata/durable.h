/* Encodes the records of durable keys, and carries the requests to their file.
 *
 * The node gives a request to the driver, and the driver to the durable file's thread; it comes
 * back with its result. One owner holds it at a time, and its own buffer holds all its bytes.
 *
 * Each value has a record, which is valid as a whole or not at all:
 *
 *  u32 magic "SHDV" | u8 version (1) | u64 cluster | u64 number | u32 key size | u32 value size |
 *  key | value | u64 checksum, all little endian
 *
 * docs/protocol/durable.md explains the fields. A record states its size and key, so it can be
 * found in a file with a damaged tree. */
#ifndef SHERD_DDATA_DURABLE_H
#define SHERD_DDATA_DURABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

#define DURABLE_OVERHEAD 37    /* bytes that a record adds to key and value */
/* Bytes of a record's key, at most: holds and names add one byte to the key. */
#define DURABLE_NAME_SIZE (DURABLE_KEY_MAX + 1)
#define DURABLE_ERROR_MAX 300  /* with its zero */

struct durable_record {
    uint64_t cluster;
    uint64_t number;
    struct slice key;
    struct slice value;
};

/* True for 1 to DURABLE_KEY_MAX bytes that are not one of the durable file's own keys. */
bool durable_key_is_good(struct slice key);
/* Appends the key of a damaged key's hold, byte fe and the key. It says that the stored value is
 * not the last one written, unless the key has a record with a higher number. False: not a user's
 * key, which is UTF-8 without such a byte. */
bool durable_hold_key(struct slice key, struct buf *hold);
bool durable_is_hold(struct slice key);
/* Appends the key of a name, byte fd and the key. A name says that the key exists, and has the
 * number of its last record. */
void durable_name_key(struct slice key, struct buf *name);
bool durable_is_name(struct slice key);
struct slice durable_key_of(struct slice own); /* the key of a hold or name; lent by it */
struct slice durable_mark_key(void); /* the key of the file's mark: one byte that is not text */
uint64_t durable_cluster(const char *cluster); /* the hash of a cluster's id */
/* Appends the record. Key and value are within DURABLE_NAME_SIZE and DURABLE_VALUE_MAX. */
void durable_encode(struct buf *buf, const struct durable_record *record);
/* Verifies bytes that are one record, which lend key and value. Returns null, or the fault as a
 * literal. */
const char *durable_decode(struct slice bytes, struct durable_record *record);
/* True if a record, perhaps damaged, has this key in its place. */
bool durable_names(struct slice bytes, struct slice key);
/* Finds the first intact record from *at on, and sets *at to its end. False: none. Linear time,
 * unless the file contains many magics. */
bool durable_find(struct slice bytes, size_t *at,
                  struct durable_record *record);

enum durable_verb {
    DURABLE_LOAD = 1, /* all entries; once, first */
    DURABLE_STORE,    /* writes entries over the last ones of their keys */
    DURABLE_ERASE,    /* erases the keys of entries */
};

enum durable_result {
    DURABLE_PENDING, /* not back yet */
    /* loaded; or durable; or, with write-behind, accepted: durable after the interval */
    DURABLE_DONE,
    /* not loaded, or perhaps not written; see error. A later write of the key may succeed */
    DURABLE_FAILED,
};

struct durable_span {
    uint32_t at;
    uint32_t size;
};

struct durable_entry {
    struct durable_span key;
    struct durable_span value; /* none in ERASE, and none for a lost entry */
    bool is_stale; /* LOAD, out: an earlier value, because the last was damaged */
    bool is_lost;  /* LOAD, out: the value was damaged, without an earlier one */
    bool is_held;  /* LOAD, out: a user's key, stale or lost in any load, and not stored since */
};

struct durable_request {
    enum durable_verb verb;
    enum durable_result result; /* out */
    uint64_t tag;               /* of the caller */
    VEC(struct durable_entry) entries; /* LOAD: out, sorted by key */
    struct buf bytes;           /* target of the spans */
    bool was_damaged;           /* LOAD, out: the files were damaged and replaced */
    bool may_lack_keys; /* LOAD, out: names were damaged, so keys may be missing without a trace */
    /* LOAD, out: retries are useless: the files are another cluster's or too large */
    bool is_refused;
    char error[DURABLE_ERROR_MAX]; /* out: one line for people; empty if DONE */
};

struct durable_request *durable_request_new(enum durable_verb verb);
void durable_request_free(struct durable_request *request); /* null is fine */
/* Copies key and value into the request. */
void durable_request_add(struct durable_request *request, struct slice key,
                         struct slice value);
struct slice durable_slice(const struct durable_request *request,
                           struct durable_span span);

#endif
