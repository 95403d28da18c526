/* Measures how far two texts are apart, for hints in errors. */
#ifndef SHERD_BASE_NEAR_H
#define SHERD_BASE_NEAR_H

#include <stdint.h>

#define NEAR_TEXT_SIZE 160 /* bytes of a text */

/* Edit distance: insertions, deletions, replacements of bytes. Both texts have at most
 * NEAR_TEXT_SIZE bytes. */
uint32_t near_distance(const char *left, const char *right);

#endif
