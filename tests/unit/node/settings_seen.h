/* Checks the settings of settings_test.c in the cores: each in its own file, because private
 * headers share names. */
#ifndef TESTS_NODE_SETTINGS_SEEN_H
#define TESTS_NODE_SETTINGS_SEEN_H

#include <stdint.h>

struct coordinator;
struct member;
struct region;

void settings_expect_member(const struct member *member);
void settings_expect_coordinator(const struct coordinator *coordinator,
                                 uint32_t shards);
void settings_expect_region(const struct region *region);

#endif
