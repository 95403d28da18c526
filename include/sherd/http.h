/* Serves a node's management by HTTP: health, members, shards, events.
 *
 * The functions are in a library of their own, libsherd-http, which needs
 * libevent. Programs without it need neither. Link it with pkg-config's
 * sherd-http or CMake's sherd::http, and call sherd_http_register before
 * sherd_open. Guide: docs/guide/management.md. */
#ifndef SHERD_HTTP_H
#define SHERD_HTTP_H

#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lets every system that this process opens later serve HTTP: on a Unix socket,
 * and on TCP if management.http.port or .hostname is set. Threads of the module
 * begin in sherd_start and end in sherd_close.
 *
 * Result: 0, also when it was called before. SHERD_EEXIST: another module is
 * registered.
 * Threads: any. */
SHERD_API SHERD_MUST_USE int sherd_http_register(void);

/* Counters since the start: name, text. */
#define SHERD_HTTP_COUNTERS(X)                                                 \
    X(SHERD_HTTP_CONNECTIONS, "connections")                                   \
    X(SHERD_HTTP_REQUESTS, "requests")                                         \
    /* Connections closed at once: too many, or of another user. */            \
    X(SHERD_HTTP_CROWDED, "connections too many")                              \
    X(SHERD_HTTP_FOREIGN, "connections of other users")                        \
    /* Requests refused before they were routed: malformed, too large, late. */\
    X(SHERD_HTTP_MALFORMED, "requests malformed")                              \
    X(SHERD_HTTP_TOO_LARGE, "requests too large")                              \
    X(SHERD_HTTP_LATE, "requests too slow")                                    \
    /* Connections closed because their peer did not read an answer. */        \
    X(SHERD_HTTP_UNREAD, "answers unread")                                     \
    /* Requests for another host, or from pages of other sites. */             \
    X(SHERD_HTTP_MISDIRECTED, "requests misdirected")                          \
    X(SHERD_HTTP_CROSS_SITE, "requests cross-site")                            \
    /* Requests without a right: no token, a wrong one, too weak a one. */     \
    X(SHERD_HTTP_UNAUTHORIZED, "requests unauthorized")                        \
    X(SHERD_HTTP_WRONG_TOKENS, "wrong tokens")                                 \
    X(SHERD_HTTP_FORBIDDEN, "requests forbidden")                              \
    /* Addresses with too many wrong tokens. */                                \
    X(SHERD_HTTP_RATED, "requests rate-limited")                               \
    /* Requests and streams for which there was no room. */                    \
    X(SHERD_HTTP_BUSY, "requests busy")                                        \
    X(SHERD_HTTP_STREAMS_REFUSED, "streams refused")                           \
    X(SHERD_HTTP_OVERFLOWED, "streams overflowed")

enum sherd_http_counter {
#define X(name, text) name,
    SHERD_HTTP_COUNTERS(X)
#undef X
        SHERD_HTTP_COUNTER_COUNT
};

/* The addresses and counters of a system. */
struct sherd_http_status {
    char socket[108]; /* the path of the Unix socket; "": there is none */
    char url[160];    /* such as "http://127.0.0.1:8558"; "": no TCP */
    uint64_t counters[SHERD_HTTP_COUNTER_COUNT];
};

/* Fills the status of a system.
 *
 * Result: 0; SHERD_EINVAL; SHERD_ESTATE: it serves no HTTP.
 * Threads: any, from sherd_open until sherd_close. */
SHERD_API SHERD_MUST_USE int
sherd_http_get_status(struct sherd_system *system,
                      struct sherd_http_status *status);

/* Returns a counter's text, such as "requests too slow": a constant.
 * Threads: any. */
SHERD_API const char *
sherd_http_counter_text(enum sherd_http_counter counter);

#ifdef __cplusplus
}
#endif

#endif
