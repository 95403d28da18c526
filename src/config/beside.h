/* Says which settings have no effect beside others. */
#ifndef SHERD_CONFIG_BESIDE_H
#define SHERD_CONFIG_BESIDE_H

#include "config/config.h"

/* Returns why a set key whose row has an effect has none, as a literal; null: it has one. by_type: an
 * entity type may use it all the same. */
const char *beside_reason(const struct config *config, const char *key, bool *by_type);

#endif
