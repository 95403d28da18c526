/* Connects a management module to a node: a library that lets operators look
 * at a node and act on it. libsherd-http is such a module (sherd/http.h). A
 * program registers at most one, before sherd_open.
 *
 * The node calls the module's functions, and the module calls the functions of
 * struct sherd_node_access. Texts are UTF-8 with a zero byte. */
#ifndef SHERD_MANAGE_H
#define SHERD_MANAGE_H

#include <sherd/cluster.h>
#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the node's state ---- */

/* An observer does not reach a subject. Both are indexes into the members of a
 * view. */
struct sherd_observation {
    uint32_t observer;
    uint32_t subject;
};

/* A node's view of the membership. All texts live as long as the view. */
struct sherd_cluster_view {
    struct sherd_cluster_member *members; /* sorted by address */
    uint32_t member_count;                /* entries of members */
    uint32_t leader; /* its index; member_count: there is none */
    struct sherd_observation *observations;
    uint32_t observation_count; /* entries of observations */
    const char *const *types;   /* entity types that this node hosts */
    uint32_t type_count;        /* entries of types */
    void *memory;               /* the library's */
};

/* Reasons why a node is not ready, as bits. */
enum sherd_unready {
    SHERD_UNREADY_ENDED = 1,    /* the system does not run */
    SHERD_UNREADY_MEMBER = 2,   /* the own status is none of the wanted ones */
    SHERD_UNREADY_LEAVING = 4,  /* the node leaves, or the cluster ends */
    SHERD_UNREADY_LANES = 8,    /* a thread has not ended a turn for 5 s */
    SHERD_UNREADY_STORAGE = 16, /* journal, durable keys or leases fail */
    SHERD_UNREADY_TLS = 32,     /* the files of TLS cannot be used */
    SHERD_UNREADY_SHARDING = 64 /* a type that is checked has not registered */
};

/* The health of a node. */
struct sherd_health {
    uint32_t unready; /* bits of enum sherd_unready; 0: it is ready */
    int alive; /* 1: it runs, and no thread is blocked for so long that the node
                  should have ended */
    int started; /* 1: it was ready at least once */
    enum sherd_member_status status; /* of this node; REMOVED: no member */
};

/* The figures of a node for metrics: known to the library's own module only. */
struct sherd_figures;

/* ---- the node's functions ---- */

/* The functions of a node for its module. `node` is their first argument. */
struct sherd_node_access {
    void *node;
    struct sherd_system *system;
    const char *system_name; /* of the cluster */
    const char *protocol;    /* "akka" or "pekko" */
    const char *host;        /* of this node, as others name it */
    uint16_t port;           /* likewise */
    const char *data_center; /* of this node */
    int uses_tls; /* 1: nodes talk by TLS with the next three files */
    const char *certificate, *key, *ca;
    const char *crl; /* revocation lists, or null */
    /* The setting below management., or null if it is not known. */
    const char *(*text)(void *node, const char *key);
    int64_t (*number)(void *node, const char *key); /* INT64_MIN: a word */
    uint64_t (*milliseconds)(void *node, const char *key);
    const char *(*item)(void *node, const char *key, uint32_t index);
    /* Writes a log line: `event key=value`. */
    void (*log)(void *node, enum sherd_log_level level, const char *line);
    /* Reads or sets the level of the log: 0 (off) to SHERD_LOG_DEBUG. */
    int (*level)(void *node);
    void (*set_level)(void *node, int level);
    /* Reads atomic values only. wanted: statuses that count as ready, bits
     * UINT32_C(1) << status. */
    void (*health)(void *node, uint32_t wanted, struct sherd_health *health);
    /* Asks the node's control thread, and waits. Result: 0; SHERD_ETIME;
     * SHERD_EFULL; SHERD_ESTATE. On failure there is nothing to free. */
    int (*view)(void *node, uint32_t timeout_ms,
                struct sherd_cluster_view *view);
    void (*view_free)(struct sherd_cluster_view *view);
    /* Asks the node's threads for their figures, and waits. A late thread's
     * last figures count. figures: to be freed with figures_free.
     * Result: 0; SHERD_ESTATE: the node does not run. */
    int (*figures)(void *node, uint32_t timeout_ms,
                   struct sherd_figures **figures);
    void (*figures_free)(struct sherd_figures *figures);
};

/* A module. The functions are called on the threads of sherd_open, sherd_start
 * and sherd_close. */
struct sherd_manager {
    uint32_t version; /* SHERD_MANAGER_VERSION */
    const char *name; /* for the log */
    /* Checks the settings, and opens what the module needs. access: valid until
     * close. manager: the module's own. Result: 0, or an error of sherd_open,
     * which the module has logged. */
    int (*open)(const struct sherd_node_access *access, void **manager);
    /* Begins to serve, after the node's threads. 0, or an error. */
    int (*start)(void *manager);
    /* Ends all calls to the node. Actors of the module may still run. Called
     * once, also without a start. */
    void (*stop)(void *manager);
    void (*close)(void *manager); /* frees: the node's actors were released */
};

#define SHERD_MANAGER_VERSION 1

/* Registers the module of all systems that this process opens later.
 *
 * manager: must stay valid.
 * Result: 0, also for the same one again. SHERD_EINVAL; SHERD_EEXIST: there is
 * another one.
 * Threads: any. */
SHERD_API SHERD_MUST_USE int
sherd_manager_register(const struct sherd_manager *manager);

#ifdef __cplusplus
}
#endif

#endif
