/* Declares an import into PostgreSQL: one transaction, in which the journal must be empty. */
#ifndef SHERD_CMD_JOURNAL_TARGET_H
#define SHERD_CMD_JOURNAL_TARGET_H

#include "sherd-journal.h"

struct target;

/* Functions that fail return false, and target_error has the reason. */
struct target *target_open(const char *url, const char *schema, uint32_t shards);
bool target_begin(struct target *target, struct slice cluster);
bool target_entity(struct target *target, struct slice id, size_t type_size); /* before its events */
bool target_event(struct target *target, uint64_t seq, struct slice record);
bool target_snapshot(struct target *target, uint64_t seq, struct slice record);
bool target_term(struct target *target, struct slice type, uint64_t term);
bool target_fence(struct target *target, struct slice type, struct slice shard, struct fence fence);
bool target_commit(struct target *target);
const char *target_error(const struct target *target);
bool target_refuses(const struct target *target); /* the error is CMD_REFUSED */
void target_close(struct target *target); /* without a commit nothing is imported; null is allowed */

#endif
