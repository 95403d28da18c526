/* Reads application versions, as every member must, and defines their order (Akka's Version). */
#ifndef SHERD_MEMBER_VERSION_H
#define SHERD_MEMBER_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VERSION_SIZE_MAX 4096 /* bytes of a version's text; a JVM has no limit */

struct version {
    int64_t numbers[4];
    const char *rest; /* lent from the text: what follows the numbers; "": a release */
};

/* Reads up to three numbers with an optional -rest or +rest, or one word. False: a peer could not
 * read it, either. The text is lent while the version is used. */
bool version_parse(struct version *version, const char *text);
/* < 0: left is older. A release is newer than the same numbers with a rest. */
int version_compare(const struct version *left, const struct version *right);

#endif
