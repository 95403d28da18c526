/* Writes and reads the names of sharded daemon processes: their entity types and ids, as Pekko's.
 *
 * An id is "NUMBER" before the first change of the count, then "REVISION|COUNT|NUMBER". */
#ifndef SHERD_BASE_DAEMON_ID_H
#define SHERD_BASE_DAEMON_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define DAEMON_TYPE "sharded-daemon-process-" /* in front of a name */
#define DAEMON_ID_MAX 36 /* bytes of an id, with a zero byte */

struct daemon_id {
    uint32_t revision; /* counts changes of the count, from 0 */
    uint32_t count;    /* daemons of that revision; 0: an id of revision 0 does not tell */
    uint32_t number;   /* below count */
};

/* The message by which a daemon is ended (actor/daemon.c), and its answers. */
#define DAEMON_END UINT32_C(0xfffffd01)
#define DAEMON_ENDS UINT32_C(0xfffffd02)  /* it ends: ask again */
#define DAEMON_ENDED UINT32_C(0xfffffd03) /* it does not run */

bool daemon_type_is(const char *type);
/* Writes the id with a zero byte. */
void daemon_id_put(char text[DAEMON_ID_MAX], const struct daemon_id *id);
/* False: it has another form. */
bool daemon_id_parse(struct slice text, struct daemon_id *id);

#endif
