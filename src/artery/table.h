/* Keeps compression tables: short numbers for frequent refs and manifests.
 *
 * The receiver of traffic advertises a table; the sender may then write an index for a literal, on
 * ordinary links only. A node's own table changes only when the node says so (a region started),
 * and is the same for all peers. Control and each lane hold copies, changed by mail in the same
 * order, so versions agree. */
#ifndef SHERD_ARTERY_TABLE_H
#define SHERD_ARTERY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/outbox.h"

enum table_kind { TABLE_REFS, TABLE_MANIFESTS };

/* One list of texts, numbered from 0, at a version. Zero is the empty table, which compresses
 * nothing. */
struct table {
    uint8_t version; /* 1..127, then 0 */
    uint32_t count;
    uint32_t slot_count; /* of the index, a power of two */
    /* the end of each text; the index and the bytes follow in the same memory, because a machine
     * has tables of each peer */
    uint32_t *ends;
};

void table_fini(struct table *table);
/* Replaces the contents, copied. Omits texts beyond the limit; a repeated text keeps its first
 * number. */
void table_set(struct table *table, uint8_t version, const struct slice *texts,
               uint32_t count);
int32_t table_index(const struct table *table, struct slice text); /* -1 when absent */

/* The tables that this node advertised: the newest and up to TABLE_VERSIONS_KEPT - 1 older ones.
 * Zero has none. */
struct own_tables {
    struct table *kept[2][TABLE_VERSIONS_KEPT]; /* by kind; newest first; null = none */
};

void own_tables_fini(struct own_tables *tables);
/* Makes the next version of one kind, copied. Refs are whole literals
 * ("akka://System@host:port/system/sharding/T#1"), and "" for "no actor". Every lane must have it
 * before control advertises it. */
void own_tables_set(struct own_tables *tables, enum table_kind kind,
                    const struct slice *texts, uint32_t count);
const struct table *own_tables_newest(const struct own_tables *tables,
                                      enum table_kind kind); /* null when none was set */
/* Finds the text of an index in a version; lent until the tables change. False when unknown.
 * Allocates nothing. */
bool own_tables_text(const struct own_tables *tables, enum table_kind kind,
                     uint8_t version, uint32_t index, struct slice *text);

/* The tables that one peer advertised: for sending to that incarnation, on ordinary links. Zero has
 * none. */
struct peer_tables {
    uint64_t uid; /* of the incarnation; 0 = none */
    struct table refs;
    struct table manifests;
};

void peer_tables_fini(struct peer_tables *tables); /* also for a new incarnation of the peer */
/* Takes an advertisement (payload of manifest f or h) from `associations`; replaces the older table
 * of its kind. False when malformed. Afterwards prepare heads (envelope.h) again. */
bool peer_tables_receive(struct peer_tables *tables, enum table_kind kind,
                         struct slice payload);

/* Appends the payload that advertises `table` to the peer with UID `origin`. */
void table_advertisement_put(struct buf *buf, const struct identity *self,
                             uint64_t origin, const struct table *table);
/* Reads one: the advertiser, the sender it is meant for, and the table, which is zero before. False
 * when it is malformed, has more than TABLE_ENTRIES_MAX entries, repeated indices or gaps, or is of
 * another protocol or system. */
bool table_advertisement_read(const struct identity *self, struct slice payload,
                              struct node_id *from, uint64_t *origin,
                              struct table *table);

#endif
