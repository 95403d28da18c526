/* Names shards by texts in worlds whose types have an extractor. Nodes number such shards in the
 * order in which they see them, so checkers compare the numbers in the texts. */
#ifndef SHERD_SIM_SEED_SHARD_TEXT_H
#define SHERD_SIM_SEED_SHARD_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define SIM_SHARD_MAX 32

/* "shard 17 of a seed"; text lends it. */
struct slice sim_shard_text(int32_t number, char text[SIM_SHARD_MAX]);
/* Reads such a text, or a decimal number. Any other text, of a program's own extractor, has a hash as
 * its number. False: it is empty. */
bool sim_shard_number(struct slice text, int32_t *number);

#endif
