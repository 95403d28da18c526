/* Judges the bytes of a request before the HTTP library parses them: whole, not yet, or refused.
 *
 * It is stricter than the library. RFC 9112 without its allowances for old peers: lines end with CR
 * LF, a name is a token and its colon follows, no line continues another one, no NUL, no other
 * control byte. One Content-Length at most, no Transfer-Encoding. */
#ifndef SHERD_MGMT_HEAD_H
#define SHERD_MGMT_HEAD_H

#include "base/bytes.h"

enum head_state {
    HEAD_MORE,   /* the head or the body is not there yet */
    HEAD_WHOLE,  /* the first `size` bytes are a request */
    HEAD_REFUSED /* answer `status`, then close */
};

struct head {
    enum head_state state;
    unsigned status;   /* of HEAD_REFUSED: 400, 413, 414, 417, 431, 501, 505 */
    size_t size;       /* of HEAD_WHOLE */
    bool has_head;     /* the head is whole and good */
};

/* bytes: all that came, from the request's first byte on. */
struct head head_look(struct slice bytes);

#endif
