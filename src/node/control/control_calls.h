/* Declares the functions of the control machine that node/machine.c and node/node.c call, grouped by
 * the file that defines them. Lanes reach control by mail only. Private to node/. */
#ifndef SHERD_NODE_CONTROL_CALLS_H
#define SHERD_NODE_CONTROL_CALLS_H

#include "node/machine/machine.h"

/* control_new.c */
struct control *control_new(struct machine *machine);
void control_free(struct control *control);
void control_start(struct control *control);

/* control.c */
void control_mail(struct control *control, uint32_t from,
                  struct mail_content *content);
void control_frame(struct control *control, enum stream stream,
                   const struct envelope *envelope, struct inlet *inlet);
/* See associations_place, also for the next one. */
struct association_place control_place(const struct control *control,
                                       uint64_t uid);
void control_expect(struct control *control,
                    const struct association_place *place);
/* Does a step of machine_fetch: 0 itself, 1 its cores, 2 what they point to. */
void control_fetch(const struct control *control, uint32_t step);
void control_stored(struct control *control, struct journal_request *request);
void control_found(struct control *control, const struct seed_list *list);
void control_leased(struct control *control, struct lease_request *request); /* given */
/* As machine_lane_stalled. */
void control_lane_stalled(struct control *control, uint32_t lane, uint64_t since);
void control_lease_forgotten(struct control *control, enum lease_provider_kind provider,
                             enum lease_use use);
bool control_turn(struct control *control);
uint64_t control_deadline(const struct control *control);

/* association_wiring.c: the entry of a peer ends. */
void control_peer_forgotten(struct control *control, const struct peer *peer);

/* data_durable.c */
void control_durable(struct control *control, struct durable_request *request);

/* leases.c: ends what ends with a lost lease. Comes before each input. */
void control_leases_look(struct control *control);

/* status.c */
void control_status(struct control *control, struct sherd_status *status,
                    bool members); /* false: without their list */

/* control_figures.c: types is malloc'ed. */
void control_figures(struct control *control, struct machine_figures *figures);

#endif
