/* Lists the error codes, and the reasons why a message or an ask fails.
 *
 * A function that can fail returns 0 or a negative SHERD_E... code. The log
 * has the details. Every text from this header is a constant: it lives as long
 * as the process. Guide: docs/guide/concepts.md. */
#ifndef SHERD_ERROR_H
#define SHERD_ERROR_H

#include <sherd/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The results of functions: name, value, text. The comments say what to do. */
#define SHERD_ERRORS(X)                                                        \
    /* The caller passed a wrong value. Fix the program. */                    \
    X(SHERD_EINVAL, -1, "an argument or option is not valid; see the log")     \
    /* The log names the key, the file and the line. Fix the file. */          \
    X(SHERD_ECONFIG, -2, "the configuration has an error; see the log")        \
    /* A queue or table is full. The call did nothing: try again later. */     \
    X(SHERD_EFULL, -3, "a queue or table is full; try again later")            \
    /* The call came too early or too late: its contract says when. */         \
    X(SHERD_ESTATE, -4, "the system is not in a state for this call")          \
    /* Two entity types share a name or a path. Rename one. */                 \
    X(SHERD_EEXIST, -5, "another entity type has this name or path")           \
    /* sherd_entity_register was not called for the type. */                   \
    X(SHERD_ENOTYPE, -6, "this node has registered no such entity type")       \
    /* The host is not this machine's, or the port is in use. */               \
    X(SHERD_EADDRESS, -7, "the address is not this machine's, or is in use")   \
    /* The journal, a lease or durable keys. The log names the file. */        \
    X(SHERD_ESTORE, -8, "files on disk cannot be used; see the log")           \
    /* This node's settings or types do not fit the cluster's, or a JVM node   \
     * has the role of a type. */                                              \
    X(SHERD_EJOIN, -9, "the cluster refused this node; see the log")           \
    /* Other nodes may run its entities already. Start a new process. */       \
    X(SHERD_EDOWN, -10, "the cluster downed or removed this node")             \
    /* No thread, no file descriptor or no memory was left. */                 \
    X(SHERD_ESYSTEM, -11, "the operating system refused; see the log")         \
    /* Each function says what it waited for. */                               \
    X(SHERD_ETIME, -12, "a time limit was reached")                            \
    /* The log names the lane. Move the slow work to a job: sherd/job.h. */    \
    X(SHERD_ESTALLED, -13, "a handler blocked a lane for too long")            \
    /* It is not a member with the status up, yet or any more. Try later. */   \
    X(SHERD_ENOTREADY, -14, "the node is not up; try again later")

#define X(name, code, text) name = (code),
enum sherd_error { SHERD_ERRORS(X) };
#undef X

/* Why a message was not delivered, or why an ask has no answer: name, text.
 * Every such message ends under exactly one reason, which the status counts.
 * One exception: messages whose bytes left before a connection broke are lost
 * without a reason. An ask among them ends when its node is removed, or at its
 * time limit. */
#define SHERD_REASONS(X)                                                       \
    /* No failure: the message was delivered, or the ask answered. */          \
    X(SHERD_REASON_NONE, "none")                                               \
    /* The time of the ask ran out. The message may have been handled. */      \
    X(SHERD_REASON_TIMEOUT, "no answer in time")                               \
    /* The ref's incarnation has ended, or the path names no actor. */         \
    X(SHERD_REASON_NO_SUCH_ACTOR, "the actor does not exist or has stopped")   \
    /* The sending or the receiving node has not registered the type. */       \
    X(SHERD_REASON_NO_SUCH_TYPE, "no entity type of that name on the node")    \
    /* An id has 1 to SHERD_ID_MAX bytes. */                                   \
    X(SHERD_REASON_EMPTY_ID, "the entity id is empty or too long")             \
    /* Too many messages wait for homes (cluster.sharding.buffer-size), a      \
     * table of the node is full, or an actor has 65,535 open asks and jobs.   \
     */                                                                        \
    X(SHERD_REASON_BUFFER_FULL, "a buffer or table is full")                   \
    /* The receiver is slower than its senders: see sherd_tell. */             \
    X(SHERD_REASON_MAILBOX_FULL, "the mailbox is full")                        \
    /* The network or the peer is slower than this node's senders. */          \
    X(SHERD_REASON_LINK_FULL, "the link's queue to the node is full")          \
    /* The message may or may not have been handled. */                        \
    X(SHERD_REASON_LINK_LOST, "the connection broke with the message on it")   \
    /* The member was removed, or no node with that address is known. */       \
    X(SHERD_REASON_NODE_GONE, "the node left the cluster or is unknown")       \
    /* See SHERD_BODY_MAX. */                                                  \
    X(SHERD_REASON_TOO_LARGE, "the message is larger than a frame may be")     \
    /* An answer came too late: nobody waits for it any more. */               \
    X(SHERD_REASON_ASKER_GONE, "the asker has ended or its ask is closed")     \
    /* The journal refused the event on which this message depends. */         \
    X(SHERD_REASON_NOT_STORED, "the event could not be stored")                \
    /* Another node owns the shard: this node's writes are refused. */         \
    X(SHERD_REASON_FENCED, "the shard has a newer owner")                      \
    /* The entity's events could not be read. The log says why. */             \
    X(SHERD_REASON_RECOVERY_FAILED, "the entity could not be recovered")       \
    /* receive returned SHERD_FAIL. */                                         \
    X(SHERD_REASON_HANDLER_FAILED, "the handler failed on the message")        \
    /* The message was still in the mailbox, or a job still open. */           \
    X(SHERD_REASON_STOPPED, "the receiver stopped before it read the message") \
    /* It cannot be read, or no part of this node knows it. */                 \
    X(SHERD_REASON_NO_HANDLER, "no serializer or handler knows the message")   \
    /* This node ends. */                                                      \
    X(SHERD_REASON_SHUTTING_DOWN, "the node is shutting down")                 \
    /* Delivery would have broken the order: see sherd_entity_tell. */         \
    X(SHERD_REASON_HANDED_OFF, "the shard moved while the message waited")     \
    /* Only asks that choose it: see sherd_entity_ask_or_fail. */              \
    X(SHERD_REASON_UNREACHABLE, "the node cannot be reached at the moment")    \
    /* A JVM node sent it with a serializer and manifest that                  \
     * sherd_options.formats does not have. */                                 \
    X(SHERD_REASON_NO_FORMAT, "no format for the serializer and manifest")     \
    /* The path or pattern of a JVM's ActorSelection. */                       \
    X(SHERD_REASON_NO_MATCH, "the selection matches no actor")                 \
    /* The entity ended because this node lost its shard's lease               \
     * (cluster.sharding.use-lease). */                                        \
    X(SHERD_REASON_LEASE_LOST, "the shard lost its lease")                     \
    /* The message was sent to a region: see sherd_extractor.entity. */        \
    X(SHERD_REASON_NOT_EXTRACTED, "the extractor does not handle the message") \
    /* The type's extractor gave no valid id, or one too many. */              \
    X(SHERD_REASON_NO_SHARD, "the extractor names no shard for the entity")    \
    /* The time of its ask, or of its delivery, was over. */                   \
    X(SHERD_REASON_EXPIRED, "the message came after its time")

#define X(name, text) name,
enum sherd_reason { SHERD_REASONS(X) SHERD_REASON_COUNT };
#undef X

/* How far the message of an ask was known to have come when the ask ended
 * without an answer: name, text. Another node reports the later stages; as long
 * as it has not, the stage is SHERD_STAGE_SENT. */
#define SHERD_STAGES(X)                                                        \
    /* It has not left the actor, or the stage is unknown. */                  \
    X(SHERD_STAGE_NONE, "not sent")                                            \
    /* No node coordinates the entity type at the moment. */                   \
    X(SHERD_STAGE_NO_COORDINATOR, "no coordinator")                            \
    /* The coordinator has not said yet which node hosts the shard. */         \
    X(SHERD_STAGE_HOME_UNKNOWN, "the home of the shard is unknown")            \
    /* The shard moves to another node, and the message waits for that. */     \
    X(SHERD_STAGE_HANDING_OFF, "the shard is handing off")                     \
    /* The entity reads its events from the journal. Only the asker's own lane \
     * knows when that ends, so for an entity elsewhere the stage is SENT. */  \
    X(SHERD_STAGE_RECOVERING, "the entity is recovering")                      \
    /* The receiver has messages to handle before this one. */                 \
    X(SHERD_STAGE_QUEUED, "queued in the entity's mailbox")                    \
    /* It was sent to another node or lane, which has reported no later        \
     * stage. */                                                               \
    X(SHERD_STAGE_SENT, "sent to the node, no answer")                         \
    /* receive was called with it. */                                          \
    X(SHERD_STAGE_DELIVERED, "delivered, not answered")                        \
    /* The shard's node does not have the lease (cluster.sharding.use-lease):  \
     * another node has it, or the lease provider does not answer. */          \
    X(SHERD_STAGE_LEASING, "the shard waits for its lease")

#define X(name, text) name,
enum sherd_stage { SHERD_STAGES(X) SHERD_STAGE_COUNT };
#undef X

/* Return the text of an error code (0: "success"), a reason or a stage.
 * An unknown value gives "unknown". Never null.
 * Threads: any. */
SHERD_API const char *sherd_strerror(int code);
SHERD_API const char *sherd_reason_text(enum sherd_reason reason);
SHERD_API const char *sherd_stage_text(enum sherd_stage stage);

#ifdef __cplusplus
}
#endif

#endif
