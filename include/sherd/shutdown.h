/* Ends a node gracefully in phases, and runs tasks of actors in them.
 *
 * The phases are those of Akka's coordinated shutdown. sherd_leave, SIGTERM
 * under sherd_run, and another node's sherd_leave_member run them in order. All
 * tasks of a phase begin at the same time. The next phase begins when they are
 * done, or when the time of the phase is over. Then the log names the late
 * tasks, and the shutdown continues. Guide: docs/guide/shutdown.md. */
#ifndef SHERD_SHUTDOWN_H
#define SHERD_SHUTDOWN_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The phases in order: name, text. The text is that of the configuration keys,
 * coordinated-shutdown.phases.TEXT.timeout. The comments say what the node
 * itself does in a phase: it begins together with the tasks, and both are
 * awaited. */
#define SHERD_PHASES(X)                                                        \
    X(SHERD_BEFORE_SERVICE_UNBIND, "before-service-unbind")                    \
    /* For tasks that stop accepting work. */                                  \
    X(SHERD_SERVICE_UNBIND, "service-unbind")                                  \
    /* For tasks that finish what was accepted. */                             \
    X(SHERD_SERVICE_REQUESTS_DONE, "service-requests-done")                    \
    X(SHERD_SERVICE_STOP, "service-stop")                                      \
    /* The last phase in which entities of this node surely run. */            \
    X(SHERD_BEFORE_CLUSTER_SHUTDOWN, "before-cluster-shutdown")                \
    /* The node hands off its shards. */                                       \
    X(SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION,                                  \
      "cluster-sharding-shutdown-region")                                      \
    /* The node hosts nothing. When the tasks are done, it leaves. */          \
    X(SHERD_CLUSTER_LEAVE, "cluster-leave")                                    \
    /* The node hands over its singletons. */                                  \
    X(SHERD_CLUSTER_EXITING, "cluster-exiting")                                \
    /* The node waits to be removed. */                                        \
    X(SHERD_CLUSTER_EXITING_DONE, "cluster-exiting-done")                      \
    /* The node is no member any more. */                                      \
    X(SHERD_CLUSTER_SHUTDOWN, "cluster-shutdown")                              \
    X(SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE, "before-actor-system-terminate")    \
    /* When the tasks are done, the actors stop. */                            \
    X(SHERD_ACTOR_SYSTEM_TERMINATE, "actor-system-terminate")

enum sherd_phase {
#define X(name, text) name,
    SHERD_PHASES(X)
#undef X
        SHERD_PHASE_COUNT
};

/* Gives this actor a task in a phase. When the phase begins, the actor gets a
 * SHERD_SHUTDOWN with the phase as `msg`. It calls sherd_shutdown_done when the
 * task is done, in that call of receive or later. The end of the actor ends
 * its tasks.
 *
 * name: 1 to 255 bytes, copied; for the log.
 * Result: 0; SHERD_EINVAL: no such phase, or no name.
 * Limits: one task for each actor and phase. After the phase has begun it is
 * too late: the task does not run, and the log says so. */
SHERD_API SHERD_MUST_USE int sherd_shutdown_task(struct sherd_ctx *ctx,
                                                 enum sherd_phase phase,
                                                 const char *name);

/* Ends a task: it is done. Before the phase begins, takes the task back. */
SHERD_API void sherd_shutdown_done(struct sherd_ctx *ctx,
                                   enum sherd_phase phase);

struct sherd_system;

/* Starts the graceful shutdown at a later phase; sherd_leave starts it at the
 * first. Tasks of earlier phases do not run. Does nothing if the shutdown has
 * begun.
 *
 * After SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION the node does not hand off its
 * shards. Messages in the mailboxes of its entities are lost. Other nodes start
 * the entities when the members have removed this node.
 *
 * from: at most SHERD_CLUSTER_LEAVE.
 * Result: 0; SHERD_EINVAL: no phase, or a later one. sherd_halt ends the
 * node without leaving.
 * Threads: any; a signal's handler as for sherd_leave. */
SHERD_API SHERD_MUST_USE int sherd_leave_from(struct sherd_system *system,
                                              enum sherd_phase from);

/* Returns the text of a phase, such as "service-stop": a constant.
 * Threads: any. */
SHERD_API const char *sherd_phase_text(enum sherd_phase phase);

/* Special cases.
 *
 * A node that was downed: other nodes may act in its place already. Its
 * entities end at once, and the others do not listen to it any more. The tasks
 * of all phases run, unless cluster.run-coordinated-shutdown-when-down is off.
 * sherd_wait returns SHERD_EDOWN. A node that is in no cluster runs the tasks
 * of all phases, too.
 *
 * Settings of a phase, as in Akka: `timeout`. `enabled = off` leaves the phase
 * out, except where others must see the node leave. `recover = off` has an
 * effect in phases before the hand-off: if a task is late, the shutdown fails
 * and is not retried. The node stays a member until sherd_halt, sherd_close, a
 * second signal under sherd_run, or until another node makes it leave. The
 * names and the order of the phases are fixed. The node's own steps have times
 * of their own unless timeout is set. */

#ifdef __cplusplus
}
#endif

#endif
