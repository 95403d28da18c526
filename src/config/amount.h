/* Reads whole and decimal numbers and switches from texts, independently of the locale. config.h
 * has durations and sizes. */
#ifndef SHERD_CONFIG_AMOUNT_H
#define SHERD_CONFIG_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Each returns false for any other text and then leaves the result alone. */
bool amount_bool(struct slice text, bool *value); /* on off yes no true false */
bool amount_int(struct slice text, int64_t *value);   /* -12, also 12.0 */
bool amount_number(struct slice text, double *value); /* 0.25, 1e-3, -4 */

#endif
