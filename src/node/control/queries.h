/* Answers queries about a type's regions: those of other nodes, which come by message to the region's
 * path, and those of this node's program.
 *
 * A query about this node's region asks every lane for its shards. One about the cluster asks the
 * coordinator, which answers to a path of the query's own. */
#ifndef SHERD_NODE_CONTROL_QUERIES_H
#define SHERD_NODE_CONTROL_QUERIES_H

#include "base/outbox.h"
#include "base/vec.h"
#include "node/mail/mail.h"

struct control;
struct query;

/* Zero has none. */
struct queries {
    VEC(struct query *) open; /* at most QUERIES_MAX */
    uint64_t number; /* of the last one */
    uint64_t refused; /* at that limit */
};

void queries_fini(struct control *control);
/* Takes a message to the path of a type's region; false: it is no query. */
bool queries_receive(struct control *control, uint32_t type, const struct inbound *inbound);
/* Takes a coordinator's answer; false: the message's path is not that of a query. */
bool queries_answered(struct control *control, const struct inbound *inbound);
void queries_mail(struct control *control, struct mail_content *content); /* MAIL_QUERY */
void queries_looked(struct control *control, const struct mail_content *content);
void queries_step(struct control *control);
uint64_t queries_deadline(const struct control *control);

#endif
