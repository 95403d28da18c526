/* Runs one replicator with one peer, whose messages the test makes and reads. Include after
 * cmocka. */
#ifndef TESTS_DDATA_LONE_H
#define TESTS_DDATA_LONE_H

#include "base/check.h"
#include "cluster.h"
#include "ddata/message.h"

struct lone {
    struct identity identity;
    struct dd_writer writer;
    struct replicator *replicator;
    struct trace *trace; /* information and above */
    struct outbox outbox;
    struct node_id peer;
};

/* durable: keys "dur*" are durable, and still loading. */
struct lone *lone_with(const struct replicator_settings *settings, bool durable);
struct lone *lone_new(const struct replicator_settings *settings);
struct lone *lone_expiring(const struct replicator_expiry *expiries,
                           uint32_t count);
/* Expiring, with durable keys "dur*" that are still loading. */
struct lone *lone_durable_expiring(const struct replicator_expiry *expiries,
                                   uint32_t count);
void lone_free(struct lone *lone);
/* Reports a peer or another node. */
void lone_tell(struct lone *lone, const struct node_id *node,
               enum member_status status, bool is_reachable);
/* Adds to a counter; the update must succeed. */
void lone_put(struct lone *lone, struct slice key);
/* Puts a value, given. */
void lone_update(struct lone *lone, struct slice key, struct dd_value *value,
                 const struct consistency *consistency);
/* Decodes the next sent message; call message_fini. False: none. */
bool lone_next(struct lone *lone, struct message *message);
/* The kind of the next sent message; MESSAGE_UNKNOWN: none. */
enum message_kind lone_next_kind(struct lone *lone);
/* From its peer, to its path or to that of a write or read. */
void lone_receive(struct lone *lone, const struct message *message);
void lone_answer(struct lone *lone, const char *recipient,
                 const struct message *message);
const struct replicator_counters *lone_counters(const struct lone *lone);

#endif
