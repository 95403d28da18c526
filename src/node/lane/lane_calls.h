/* Declares the functions of a lane that node/machine.c and node/node.c call, grouped by the file that
 * defines them. Control reaches lanes by mail only. Private to node/. */
#ifndef SHERD_NODE_LANE_CALLS_H
#define SHERD_NODE_LANE_CALLS_H

#include "node/machine/machine.h"

/* lane.c */
struct lane *lane_new(struct machine *machine);
/* Every message ends; then only lane_free and lane_mail_end may follow. */
void lane_close(struct lane *lane);
/* Ends the mail's messages; the caller frees it. */
void lane_mail_end(struct lane *lane, struct mail_content *content);
void lane_free(struct lane *lane);
void lane_mail(struct lane *lane, uint32_t from, struct mail_content *content);
/* Another incarnation is at a peer's address: forgets homes at the former one. */
void lane_peer_renewed(struct lane *lane, uint32_t peer);
void lane_stored(struct lane *lane, struct journal_request *request);
void lane_job_done(struct lane *lane, struct job *job);
bool lane_turn(struct lane *lane);
uint64_t lane_deadline(const struct lane *lane);
void lane_status(struct lane *lane, struct sherd_status *status);

/* lane_figures.c: types is malloc'ed. */
void lane_figures(struct lane *lane, struct machine_figures *figures);

/* outside.c */
struct sherd_ref lane_reserve(struct lane *lane);

/* shard_leases.c: closes shards whose leases are over. Comes before each input. */
void lane_leases_look(struct lane *lane);

/* receiving.c */
void lane_frame(struct lane *lane, enum stream stream,
                const struct envelope *envelope, struct slice frame,
                struct inlet *inlet);
/* Takes a frame to an entity with the same head as the one before it in the batch. False: it must
 * be read. */
bool lane_frame_again(struct lane *lane, struct slice frame);
void lane_frames_end(struct lane *lane); /* after a batch of frames; they are lent until then */

#endif
