/* Records this node's decisions, and gives them to looks. */
#ifndef SHERD_NODE_CONTROL_DECISIONS_H
#define SHERD_NODE_CONTROL_DECISIONS_H

#include "look/row.h"
#include "look/wire.h"
#include "member/member.h"

struct control;

/* Texts are literals. */
void decided(struct control *control, const char *event, const struct node_id *member); /* or null */
void decided_member(struct control *control, const struct member_news *news);
void decided_type(struct control *control, uint32_t type, const char *event);
void decided_shard(struct control *control, uint32_t type, int32_t shard, const char *event,
                   const char *text); /* or null */
/* The newest first. */
void decisions_rows(const struct control *control, const struct look_request *request,
                    struct look_rows *rows);
void decisions_fini(struct control *control);

#endif
