/* Declares what only Sherd nodes exchange: numbers that Akka ignores or never sees.
 *
 * A node announces its capabilities in extra fields of the handshake, which Akka skips. Messages of
 * SERIALIZER_SHERD go only to peers that announced CAPABILITY_SHERD. docs/protocol/extensions.md
 * lists all. */
#ifndef SHERD_ARTERY_EXTENSION_H
#define SHERD_ARTERY_EXTENSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Bits of the handshake's capabilities. 0 = a JVM, or unknown. */
#define CAPABILITY_SHERD (UINT64_C(1) << 0)
#define CAPABILITY_TABLES (UINT64_C(1) << 1) /* uses static compression tables on ordinary links */
/* Reads a sender that starts with "/" as a path on the frame's node. */
#define CAPABILITY_PATHS (UINT64_C(1) << 2)
#define CAPABILITY_GOSSIP_DIGEST (UINT64_C(1) << 3)  /* understands membership's brief messages */
#define CAPABILITY_STORE (UINT64_C(1) << 4) /* takes the identity of the sender's journal */
#define CAPABILITY_LOOK (UINT64_C(1) << 5) /* answers looks: docs/protocol/looks.md */
#define CAPABILITY_OPERATE (UINT64_C(1) << 6) /* decides operations: docs/protocol/operations.md */
/* This node's. */
#define CAPABILITIES                                                           \
    (CAPABILITY_SHERD | CAPABILITY_TABLES | CAPABILITY_PATHS | CAPABILITY_GOSSIP_DIGEST | \
     CAPABILITY_STORE | CAPABILITY_LOOK | CAPABILITY_OPERATE)

/* Serializer of messages between Sherd nodes, and of application messages given by number. */
#define SERIALIZER_SHERD 7300

#define MANIFEST_FLUSH "F"        /* marker of a hand-off, last on its link */
#define MANIFEST_UNDELIVERED "U"  /* to the sender: its message could not be delivered */
#define MANIFEST_STAGE "S"        /* tells the asker's node where the message is */
#define MANIFEST_REGION_QUERY "Q" /* have you a region of this type? */
#define MANIFEST_NO_REGION "N"
#define MANIFEST_REFUSED "R"      /* registration refused, with the reason */
#define MANIFEST_HANDOFF_FAILED "X"
#define MANIFEST_STORE "I"        /* identity of the sender's journal */
#define MANIFEST_LOOK "L"         /* asks for a part of a look */
#define MANIFEST_LOOK_PART "V"
#define MANIFEST_OPERATE "O"      /* asks for an operation */
#define MANIFEST_PROGRESS "P"     /* reports its state */

/* An application's message n has serializer SERIALIZER_SHERD and manifest "m" with n in decimal,
 * unless the options map it to something else. */
#define MESSAGE_MANIFEST_MAX 12 /* "m4294967295" and a zero byte */
struct slice message_manifest_put(char text[MESSAGE_MANIFEST_MAX],
                                  uint32_t message); /* lent from text */
bool message_manifest_read_any(struct slice manifest, uint32_t *message);

/* False in any other form; "m007" is one. */
static inline bool message_manifest_read(struct slice manifest,
                                         uint32_t *message)
{
    if (manifest.size != 2 || manifest.data[0] != 'm')
        return message_manifest_read_any(manifest, message);
    *message = (uint32_t)manifest.data[1] - '0';
    return *message <= 9;
}

#endif
