/* Compares passivation strategies with a slow model: lists that are searched from end to end. A unit
 * test over seeds and a fuzz target use it. */
#ifndef SHERD_TESTS_PASSIVATION_MODEL_H
#define SHERD_TESTS_PASSIVATION_MODEL_H

#include <stddef.h>
#include <stdint.h>

/* Draws a strategy and its operations from the bytes; aborts at the first difference. */
void model_compare(const uint8_t *bytes, size_t size);

#endif
