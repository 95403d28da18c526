/* Declares how incarnations start, end and follow each other. Included by inside.h. */
#ifndef SHERD_ACTOR_INCARNATION_H
#define SHERD_ACTOR_INCARNATION_H

#include <stdbool.h>
#include <stdint.h>

struct actors;
struct slot;
struct message;

/* Why an incarnation ends; for the log. */
enum end_cause {
    END_BY_SLOT, /* one of the next six, from its slot and its shard */
    END_FAILED,
    END_SHARD_STOPS,
    END_IDLE,
    END_SURPLUS,
    END_REQUESTED,
    END_BY_ITSELF,
    END_STOP_TIMEOUT,
    END_FENCED,
    END_LEASE_LOST,
    END_NOT_STORED,
    END_RECOVERY_FAILED
};

/* --- incarnation.c --- */
void incarnation_start(struct actors *actors, uint32_t index,
                       struct slot *slot); /* a new generation: recovers, or is runnable */
/* Starts a spawned actor, or asks for its name, because its MESSAGE_STARTED, given, may happen. */
void slot_start_now(struct actors *actors, struct message *started);
void incarnation_release(struct actors *actors, uint32_t index,
                         struct slot *slot); /* its last callback; the state is freed */

/* --- incarnation_end.c --- */
/* Ends an incarnation; then restarts it or frees the slot. */
void incarnation_end(struct actors *actors, uint32_t index, struct slot *slot);
/* Ends it now, or when its events are durable. */
void incarnation_request_end(struct actors *actors, uint32_t index, struct slot *slot);
/* Ends it because an event was not stored: after repeated failures it restarts after a back-off. */
void incarnation_end_unstored(struct actors *actors, uint32_t index, struct slot *slot);
/* The first part of the end: the caller then restarts or frees the slot. */
void incarnation_close(struct actors *actors, uint32_t index, struct slot *slot,
                       enum end_cause cause);
/* Restarts (waits: after a back-off) or frees; after incarnation_close. */
void incarnation_next(struct actors *actors, uint32_t index, struct slot *slot,
                      bool waits);
/* Waits before the next start; after incarnation_close. */
void incarnation_back_off(struct actors *actors, uint32_t index,
                          struct slot *slot);
void incarnation_back_off_end(struct actors *actors, uint32_t index, struct slot *slot);

#endif
