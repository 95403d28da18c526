/* The graceful end of a node, phase by phase, and tasks of actors in it.
 *
 * sherd_leave, SIGTERM under sherd_run, and being made to leave by another node run the phases of the reference one after the
 * other. In a phase all its tasks begin at the same time; the next one begins when all are done or the phase's time is over. What
 * was not done in time is named in the log, and the end goes on. On a node that was declared dead others may act in its
 * place already: its entities end at once, the others do not listen to it any more, and tasks of all phases run, unless
 * cluster.run-coordinated-shutdown-when-down = off. sherd_wait and sherd_run tell SHERD_EDOWN.
 *
 * Settings of coordinated-shutdown.phases.TEXT, as in the reference: timeout; enabled = off leaves a phase out, but for those by which
 * others see the node leave; recover = off, of those before shards are handed off: where a task of it is late the end has failed,
 * once and for all, and the node stays what it is until sherd_halt or sherd_close (under sherd_run: a second signal), or until another
 * node makes it leave: then nothing keeps it. Names and order are fixed. The node's own steps have their own time unless theirs is set. */
#ifndef SHERD_SHUTDOWN_H
#define SHERD_SHUTDOWN_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, text as in the keys coordinated-shutdown.phases.TEXT.timeout. Actors may have tasks in each; where the node has something of
 * its own to do, that begins with them and both are awaited, but for the last phase, where actors stop once its tasks are done. */
#define SHERD_PHASES(X)                                                        \
    X(SHERD_BEFORE_SERVICE_UNBIND, "before-service-unbind")                    \
    X(SHERD_SERVICE_UNBIND, "service-unbind") /* accept no new work */         \
    X(SHERD_SERVICE_REQUESTS_DONE, "service-requests-done") /* finish what was accepted */ \
    X(SHERD_SERVICE_STOP, "service-stop")                                      \
    X(SHERD_BEFORE_CLUSTER_SHUTDOWN, "before-cluster-shutdown") /* entities of this node run until here */ \
    X(SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION,                                  \
      "cluster-sharding-shutdown-region") /* shards are handed off */          \
    X(SHERD_CLUSTER_LEAVE, "cluster-leave") /* this node hosts nothing any more; it is a member until the tasks are done */ \
    X(SHERD_CLUSTER_EXITING, "cluster-exiting") /* singletons are handed over */ \
    X(SHERD_CLUSTER_EXITING_DONE, "cluster-exiting-done") /* this node waits to be removed */ \
    X(SHERD_CLUSTER_SHUTDOWN, "cluster-shutdown") /* it is no member any more */ \
    X(SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE, "before-actor-system-terminate")    \
    X(SHERD_ACTOR_SYSTEM_TERMINATE, "actor-system-terminate") /* actors stop */

enum sherd_phase {
#define X(name, text) name,
    SHERD_PHASES(X)
#undef X
        SHERD_PHASE_COUNT
};

struct sherd_system;

/* As sherd_leave, but the end begins with that phase: tasks of those before are not run, and behind
 * SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION shards are not handed off: what entities here have in their mailboxes is lost, and others start
 * them when this node is gone. Nothing where the end has begun. SHERD_EINVAL: no phase, or one behind SHERD_CLUSTER_LEAVE: who goes
 * without leaving calls sherd_halt. */
SHERD_API SHERD_MUST_USE int sherd_leave_from(struct sherd_system *system,
                                              enum sherd_phase from);
SHERD_API const char *sherd_phase_text(enum sherd_phase phase); /* "service-stop"; a literal */

/* Gives the running actor a task in a phase: when the phase begins it gets a message of kind SHERD_SHUTDOWN with the phase as
 * `msg`, and says by sherd_shutdown_done when it is done, in that call or later. An actor that ends is done. One task for each
 * actor and phase; name (1 to 255 bytes, copied) is for the log. Too late once the phase has begun: the task is not run, and the
 * log says so. A node that is in no cluster runs those of all phases, too. SHERD_EINVAL: no such phase, or no name. */
SHERD_API SHERD_MUST_USE int sherd_shutdown_task(struct sherd_ctx *ctx,
                                                 enum sherd_phase phase,
                                                 const char *name);
/* Before the phase begins: takes the task back. */
SHERD_API void sherd_shutdown_done(struct sherd_ctx *ctx,
                                   enum sherd_phase phase);

#ifdef __cplusplus
}
#endif

#endif
