/* Gives shards numbers in memory and texts elsewhere: a number's decimal text, or any text that an
 * extractor chose, which gets the next free number of the node. */
#ifndef SHERD_BASE_SHARD_NAMES_H
#define SHERD_BASE_SHARD_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define SHARD_TEXT_MAX 12 /* "-2147483648" and a zero byte */
#define SHARD_NONE INT32_MIN /* the number of no shard */

/* Writes the number's decimal text into `text`, which lends the result. */
struct slice shard_text(int32_t shard, char text[SHARD_TEXT_MAX]);
/* Reads a text in the form of shard_text. Returns false for any other. */
bool shard_parse(struct slice text, int32_t *shard);

/* The texts of a type's shards, with numbers from 0. Grows only; any thread may use it. Numbers
 * mean nothing to other nodes. */
struct shard_names;

struct shard_names *shard_names_new(uint32_t max); /* texts, 1..SHARDS_MAX */
void shard_names_free(struct shard_names *names); /* null is fine */
/* Returns the text's number, a new one if needed; SHARD_NONE if the text is empty, too long or not
 * UTF-8, or if there are too many. */
int32_t shard_names_put(struct shard_names *names, struct slice text);
uint32_t shard_names_count(const struct shard_names *names);

/* Returns the id of a shard of a type: its text, lent for the life of `names`, or its decimal text in
 * `text` if names is null. */
struct slice shard_name(const struct shard_names *names, int32_t shard,
                        char text[SHARD_TEXT_MAX]);
/* The same for a log line: with a zero byte. */
static inline const char *shard_label(const struct shard_names *names, int32_t shard,
                                      char text[SHARD_TEXT_MAX])
{
    return (const char *)shard_name(names, shard, text).data;
}
/* Finds the number of an id. Returns false if it is none of the type. */
bool shard_number(struct shard_names *names, struct slice id, int32_t *shard);

#endif
