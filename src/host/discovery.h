/* Finds out where nodes of the cluster may be, on a thread of its own: in a file, or by DNS. Behaviour 4.3; what is
 * done with the lists is src/member/discovery.c.
 *
 * File: an address a line, "host:port" or whole, # to the end of a line is a comment; the order is kept, as that of
 * seed nodes that are configured. A file that is missing, empty, or has a line that is no address gives no list. DNS:
 * SRV names give hosts and ports, others addresses (A, AAAA) to which a port is added; sorted by host and port, so
 * that all nodes see the same order. A host that SRV names is taken as it is written there, in lower case: it must be
 * what that node calls itself. */
#ifndef SHERD_HOST_DISCOVERY_H
#define SHERD_HOST_DISCOVERY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trace.h"
#include "node/node.h"

/* What to ask DNS for. Texts are lent. */
struct dns_question {
    const char *name;    /* whole, as "_remote._tcp.shop.example" */
    bool is_srv;         /* or addresses */
    uint16_t port;       /* of addresses */
    const char *servers; /* "127.0.0.1:53,..."; null or "": those of the system */
    uint64_t timeout;    /* ns, for all of it */
};

struct discovery_options {
    const char *file; /* null: by DNS. Copied, as all texts */
    const char *protocol, *system; /* that whole addresses in the file must have */
    struct dns_question dns;
    /* Receives the list, given, and why there is none, a line that is not said twice in a row; on the finder's thread. */
    void (*done)(void *context, struct seed_list *list);
    void (*say)(void *context, enum trace_level level, const char *text);
    void *context;
};

struct finder;

/* Starts the thread. Null when it cannot start. */
struct finder *discovery_open(const struct discovery_options *options);
void discovery_look(struct finder *finder); /* any thread; done follows, once for one or more of these */
/* Says, once, that a file has not answered for 5 s. False: there is no file, and no need to be called again. Null is fine. */
bool discovery_watch(struct finder *finder);
/* Ends a look under way, without a list; one at a file that does not answer is left behind after 2 s. Null is fine. */
void discovery_close(struct finder *finder);

#define FINDER_WHY_MAX 512 /* bytes of a reason, with the zero */

/* One look; never null, empty with a reason in why. For finder.c and tests. */
struct seed_list *discovery_read_file(const char *path, const char *protocol,
                                   const char *system,
                                   char why[FINDER_WHY_MAX]);
struct seed_list *discovery_ask_dns(const struct dns_question *question,
                                 const _Atomic bool *stopped,
                                 char why[FINDER_WHY_MAX]);

#endif
