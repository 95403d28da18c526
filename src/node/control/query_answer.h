/* Collects the regions, shards and entities of an answer to a query, and gives them the form of a
 * message or of a C program. */
#ifndef SHERD_NODE_CONTROL_QUERY_ANSWER_H
#define SHERD_NODE_CONTROL_QUERY_ANSWER_H

#include <sherd/sharding.h>

#include "base/address.h"
#include "base/outbox.h"
#include "base/vec.h"
#include "base/shard_names.h"
#include "shard/wire.h"

struct answer_shard {
    uint32_t region;
    uint32_t count; /* entities; the ids of all of them follow `id` in `texts`, or of none */
    size_t id;      /* offset in `texts` */
    uint32_t id_size;
    bool has_failed;
    bool has_ids;
};

/* Zero is an empty one. */
struct query_answer {
    VEC(struct address) regions;
    VEC(struct answer_shard) shards; /* those of one region are neighbours */
    struct buf texts; /* ids: a shard's, then those of its entities, each with its size before it */
};

void query_answer_fini(struct query_answer *answer);
/* The shards that follow are of this region. */
void query_answer_region(struct query_answer *answer, const struct address *address);
void query_answer_shard(struct query_answer *answer, struct slice shard, uint32_t count);
void query_answer_failed(struct query_answer *answer, struct slice shard);
/* Takes what a lane says of its shards (lane/looking.c). */
void query_answer_lane(struct query_answer *answer, const struct shard_names *names,
                       struct slice records);
/* Takes a coordinator's answer. */
void query_answer_cluster(struct query_answer *answer, const struct shard_message *message);

/* Sends the answer as SHARD_REGION_STATE or SHARD_REGION_STATS. Shards whose ids do not fit into a
 * frame are sent as failed ones. Returns their number. */
uint32_t query_answer_send(const struct query_answer *answer, enum shard_message_kind kind,
                           struct outbox *outbox, const struct node_id *to,
                           struct slice recipient, struct slice sender,
                           const struct identity *self);
/* Fills an answer for a program: one block of memory, to be freed with sherd_regions_free. */
void query_answer_export(const struct query_answer *answer, struct sherd_regions *regions);

#endif
