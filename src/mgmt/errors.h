/* Lists the errors that management answers with: name, status, code, message. */
#ifndef SHERD_MGMT_ERRORS_H
#define SHERD_MGMT_ERRORS_H

#include "base/bytes.h"

#define MGMT_ERRORS(X) \
    X(ERROR_NONE, 200, "none", "") \
    X(ERROR_BAD_REQUEST, 400, "bad-request", "the request is malformed") \
    X(ERROR_TOKEN_IN_URL, 400, "bad-request", "a token stands in the URL; send it as the header Authorization") \
    X(ERROR_UNAUTHORIZED, 401, "unauthorized", "this needs a token or a client certificate") \
    X(ERROR_FORBIDDEN, 403, "forbidden", "the caller has not this right") \
    X(ERROR_READ_ONLY, 403, "read-only", "management.http.route-providers-read-only is on") \
    X(ERROR_CROSS_SITE, 403, "cross-site", "the request comes from a page of another site") \
    X(ERROR_TIMEOUT, 408, "timeout", "the request took too long") \
    X(ERROR_TOO_LARGE, 413, "too-large", "the body is too large") \
    X(ERROR_URI_TOO_LONG, 414, "too-large", "the request line is too long") \
    X(ERROR_EXPECTATION, 417, "bad-request", "the header Expect is not taken") \
    X(ERROR_MISDIRECTED, 421, "misdirected", "the host is not a name of this server; see management.http.allowed-hosts") \
    X(ERROR_RATE, 429, "rate", "too many wrong tokens from this address") \
    X(ERROR_HEADERS, 431, "too-large", "the headers are too large") \
    X(ERROR_INTERNAL, 500, "internal", "the request failed") \
    X(ERROR_METHOD, 501, "method", "the method or the encoding is not taken") \
    X(ERROR_BUSY, 503, "stalled", "the node does not answer now") \
    X(ERROR_STREAMS, 503, "streams", "too many streams are open") \
    X(ERROR_VERSION, 505, "bad-request", "the version of HTTP is not taken")

enum mgmt_error {
#define X(name, status, code, text) name,
    MGMT_ERRORS(X)
#undef X
    ERROR_COUNT
};

unsigned error_status(enum mgmt_error error);
/* The first error with the status; ERROR_INTERNAL if there is none. */
enum mgmt_error error_of_status(unsigned status);
/* Appends `{"error":{"code":"...","message":"..."}}`. */
void error_put(struct buf *body, enum mgmt_error error);
/* The phrase of a status, such as "Not Found". */
const char *status_phrase(unsigned status);

#endif
