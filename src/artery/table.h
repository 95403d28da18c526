/* Compression tables: short numbers for refs and manifests that occur often (wire 2.5).
 *
 * The receiver of traffic advertises a table; the sender may then write an index in place of a literal, on ordinary
 * links only. A node's own table is static: it changes only when the node says so (a region started), and is the same
 * for all peers. Control and each lane hold their own copies, changed by mail in the same order, so versions agree. */
#ifndef SHERD_ARTERY_TABLE_H
#define SHERD_ARTERY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/outbox.h"

enum table_kind { TABLE_REFS, TABLE_MANIFESTS };

/* One list of texts, numbered from 0, at a version. Zero is the empty table: it has no text and compresses nothing. */
struct table {
    uint8_t version; /* 1..127, then 0 */
    uint32_t count;  /* at most TABLE_ENTRIES_MAX */
    uint32_t slot_count; /* of the index, a power of two; 0 = no texts */
    uint32_t *ends; /* of each text; behind them, in the same memory, the index and the bytes: a machine has tables of each peer */
};

void table_fini(struct table *table);
/* Replaces the contents, copied. Texts beyond the limit are left out; a repeated text keeps its first number. */
void table_set(struct table *table, uint8_t version, const struct slice *texts,
               uint32_t count);
int32_t table_index(const struct table *table, struct slice text); /* -1 when absent */

/* The tables that this node advertised, the newest and up to TABLE_VERSIONS_KEPT - 1 older ones. Zero has none. */
struct own_tables {
    struct table *kept[2][TABLE_VERSIONS_KEPT]; /* by kind; newest first; null = none */
};

void own_tables_fini(struct own_tables *tables);
/* Makes the next version of one kind, copied. Refs are whole literals ("akka://System@host:port/system/sharding/T#1");
 * "" stands for "no actor" and should be among them. Tell every lane before control advertises it. */
void own_tables_set(struct own_tables *tables, enum table_kind kind,
                    const struct slice *texts, uint32_t count);
const struct table *own_tables_newest(const struct own_tables *tables,
                                      enum table_kind kind); /* null when none was set */
/* The text behind an index of a version; lent until the tables change. False when unknown. Allocates nothing. */
bool own_tables_text(const struct own_tables *tables, enum table_kind kind,
                     uint8_t version, uint32_t index, struct slice *text);

/* The tables that one peer advertised to us: for sending to that incarnation, on ordinary links. Zero has none. */
struct peer_tables {
    uint64_t uid; /* the peer's incarnation; 0 = none */
    struct table refs;
    struct table manifests;
};

void peer_tables_fini(struct peer_tables *tables); /* also when the peer is of a new incarnation */
/* Takes an advertisement (payload of manifest f or h) that `associations` reported; replaces the older table of its kind.
 * False when it is malformed. Prepared heads (envelope.h) are to be made again after it. */
bool peer_tables_receive(struct peer_tables *tables, enum table_kind kind,
                         struct slice payload);

/* Payload of an advertisement of `table` to the peer with uid `origin`, appended to buf. */
void table_advertisement_put(struct buf *buf, const struct identity *self,
                             uint64_t origin, const struct table *table);
/* Reads one: the advertiser, the sender it is meant for, and the table, given an initialised (zero) one. False when it is
 * malformed, has more than TABLE_ENTRIES_MAX entries, indices with gaps or twice, or is of another protocol or system. */
bool table_advertisement_read(const struct identity *self, struct slice payload,
                              struct node_id *from, uint64_t *origin,
                              struct table *table);

#endif
