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
    X(ERROR_VERSION, 505, "bad-request", "the version of HTTP is not taken") \
    X(ERROR_BAD_PARAMETER, 400, "bad-request", "a parameter is unknown here, or its value is wrong") \
    X(ERROR_BAD_BODY, 400, "bad-request", "the body is no JSON object with the fields of this route") \
    X(ERROR_CURSOR, 400, "bad-cursor", "the cursor is none of this list") \
    X(ERROR_NOT_FOUND, 404, "not-found", "there is nothing at this path; see " \
      "/api/v1/openapi.json") \
    X(ERROR_NO_TYPE, 404, "no-type", "no member has this entity type") \
    X(ERROR_NO_MEMBER, 404, "no-member", "there is no such member") \
    X(ERROR_NO_HOME, 404, "no-home", "the shard has no home: no message has used it") \
    X(ERROR_NOT_RUNNING, 404, "not-found", "the entity does not run; the next message starts it") \
    X(ERROR_NOT_ALLOWED, 405, "method", "the path has other methods; see the header Allow") \
    X(ERROR_CONTENT_TYPE, 415, "content-type", "the body must be application/json") \
    X(ERROR_NO_OPERATION, 404, "no-operation", "this node knows no operation of the id") \
    X(ERROR_SAME_ID, 409, "same-id", "another operation has the id") \
    X(ERROR_OPERATIONS, 409, "too-many", "too many operations are open") \
    X(ERROR_LATE, 504, "timeout", "the node did not answer in time")

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
/* The same with `"hint"`: what to do. */
void error_put_hint(struct buf *body, enum mgmt_error error, const char *hint);
/* The phrase of a status, such as "Not Found". */
const char *status_phrase(unsigned status);

#endif
