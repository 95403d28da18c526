/* Declares what the files that write answers of native routes share. */
#ifndef SHERD_MGMT_API_INSIDE_H
#define SHERD_MGMT_API_INSIDE_H

#include "mgmt/api.h"
#include "mgmt/facts.h"

/* ask.c. */
#define API_SHARD_SIZE 16
/* The shard of an id by Akka's hash. False: the number of shards is none. */
bool api_shard_number(const char *id, uint64_t shards, char shard[API_SHARD_SIZE]);
/* The shard of the request's entity, by Akka's hash. False: no member told the number of shards. */
bool api_shard(const struct api_request *request, const struct facts *types, char shard[API_SHARD_SIZE]);

/* Adds a look with all its pages. */
struct api_ask *api_ask_add(const struct api_request *request, enum sherd_look_kind kind, struct api_ask *asks,
                            uint32_t *count);
/* Adds HOMES and SHARDS of the request's type. */
void api_ask_shard(const struct api_request *request, const char *shard, struct api_ask *asks, uint32_t *count);

/* api_status.c. facts: those that api_plan asked for, in its order. */
void api_put_members(const struct facts *facts, struct buf *body);
enum mgmt_error api_put_member(const struct api_request *request, const struct facts *facts, struct buf *body);
void api_put_status(const struct api_request *request, const struct facts *facts, struct buf *body);

/* type_sums.c: sums of a type's rows, one from each member. */
struct type_sums {
    struct slice type, coordinator; /* data is null: nobody knows it */
    uint64_t shards, term, hosted, entities, waiting, wanted;
};

/* Whether the row is the first one of its type; then *sums gets all of the type. */
bool type_first(const struct facts *types, uint32_t row, struct type_sums *sums);
void type_put(struct buf *body, const struct type_sums *sums);
/* The row in a table of one row for each type; facts_count: none. */
uint32_t type_row(const struct facts *facts, uint32_t column, struct slice type);

#endif
