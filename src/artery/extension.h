/* What only Sherd nodes say to each other: numbers that Akka ignores or never sees.
 *
 * A node announces its capabilities in extra fields of the handshake messages (Akka skips unknown protobuf fields). A
 * message with serializer SERIALIZER_SHERD goes only to a peer that announced CAPABILITY_SHERD. */
#ifndef SHERD_ARTERY_EXTENSION_H
#define SHERD_ARTERY_EXTENSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Bits of the handshake's capabilities. 0 = a JVM, or unknown. */
#define CAPABILITY_SHERD (UINT64_C(1) << 0)  /* understands SERIALIZER_SHERD */
#define CAPABILITY_TABLES (UINT64_C(1) << 1) /* uses static compression tables on ordinary links */
#define CAPABILITY_PATHS (UINT64_C(1) << 2)  /* takes a sender that begins with "/" as a path on the node that wrote the frame */
#define CAPABILITY_BRIEF (UINT64_C(1) << 3)  /* understands membership's brief messages */
/* What this node announces. */
#define CAPABILITIES                                                           \
    (CAPABILITY_SHERD | CAPABILITY_TABLES | CAPABILITY_PATHS | CAPABILITY_BRIEF)

/* Serializer of messages that only Sherd nodes exchange, and of application messages given by number. */
#define SERIALIZER_SHERD 7300

#define MANIFEST_FLUSH "F"        /* marker of a hand-off, last on its link */
#define MANIFEST_UNDELIVERED "U"  /* a message could not be delivered: to its sender */
#define MANIFEST_STAGE "S"        /* where an asked message is: to the asker's node */
#define MANIFEST_REGION_QUERY "Q" /* have you a region of this type? */
#define MANIFEST_NO_REGION "N"    /* no such region here */
#define MANIFEST_REFUSED "R"      /* registration refused, with the reason */
#define MANIFEST_HANDOFF_FAILED "X"

/* An application's message number n travels as serializer SERIALIZER_SHERD, manifest "m" and n in decimal, unless the
 * options map it to something else. */
#define MESSAGE_MANIFEST_MAX 12 /* "m4294967295" and a zero byte */
struct slice message_manifest_put(char text[MESSAGE_MANIFEST_MAX],
                                  uint32_t message); /* lent from text */
bool message_manifest_read_any(struct slice manifest, uint32_t *message);

/* False when it is not of that form; "m007" is not. */
static inline bool message_manifest_read(struct slice manifest,
                                         uint32_t *message)
{
    if (manifest.size != 2 || manifest.data[0] != 'm')
        return message_manifest_read_any(manifest, message);
    *message = (uint32_t)manifest.data[1] - '0';
    return *message <= 9;
}

#endif
