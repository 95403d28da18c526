/* Writes the rows of looks that a lane answers. */
#ifndef SHERD_NODE_LANE_LOOK_ROWS_H
#define SHERD_NODE_LANE_LOOK_ROWS_H

#include "actor/entity_view.h"
#include "actor/samples.h"
#include "look/row.h"
#include "look/top.h"
#include "node/machine/look_place.h"

struct lane;

/* A request that is being answered. */
struct look_serving {
    struct look_asked *asked;    /* owned */
    struct look_request request; /* lent from it */
    struct look_place place;     /* of the next row */
    uint64_t until;              /* the asker waits no longer */
    uint64_t ready_at;           /* not before then */
    struct look_rows rows;
    struct top top; /* ordered */
};

void lane_look_free(struct look_serving *serving);

/* A sampled entity. */
struct hot_seen {
    const struct hot_entity *entity;
    uint64_t of; /* all messages of the lane */
    uint64_t window_ms;
};

void lane_look_lane(struct lane *lane, struct look_rows *rows);
void lane_look_type(struct lane *lane, struct look_rows *rows, uint32_t type);
/* Nothing if the shard is absent. */
void lane_look_shard(struct lane *lane, struct look_rows *rows, uint32_t type, int32_t shard);
/* is_whole: with the columns of LOOK_ENTITY_COLUMNS. */
void lane_look_entity(struct lane *lane, struct look_rows *rows, const struct entity_view *view,
                      bool is_whole);
void lane_look_hot(struct lane *lane, struct look_rows *rows, const struct entity_view *view,
                   const struct hot_seen *seen);
void lane_look_undelivered(struct lane *lane, struct look_rows *rows,
                           const struct undelivered_sample *sample);

#endif
