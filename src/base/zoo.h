/* Lists known bugs, each of which the simulator can bring back to show that its checks find it.
 *
 * A core says ZOO(name) where the bug belongs. In the simulator's copy of the cores, built with
 * SHERD_ZOO, the name that a run chooses is true (sim/zoo.h), by default none. In all other builds
 * ZOO is the constant false.
 *
 * Each row: name; origin, an issue of akka/akka, apache/pekko, akkadotnet/akka.net (net),
 * dotnet/orleans (orl) or pathosDev/actor-ts (ats), or "own"; the rule that the bug breaks; the
 * invariant whose check should find it. */
#ifndef SHERD_BASE_ZOO_H
#define SHERD_BASE_ZOO_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, row, rule, invariant) */
#define ZOO_MUTANTS(X)                                                         \
    X(A2, "net#8146",                                                          \
      "A report that a shard has stopped counts only for its own hand-off attempt.",\
      "handoff-safety")                                                        \
    X(A3, "net#7500",                                                          \
      "A hand-off that takes too long is abandoned.",                          \
      "handoff-completes")                                                     \
    X(A4, "net#6973",                                                          \
      "A node that restarts under the same address is a different node.",      \
      "single-coordinator")                                                    \
    X(A5H, "own",                                                              \
      "A removed node's shard gets another home only after the margin.",       \
      "handoff-safety")                                                        \
    X(A5S, "own",                                                              \
      "A removed node's coordinator starts elsewhere only after the margin.",  \
      "single-coordinator")                                                    \
    X(A6, "akka#27487",                                                        \
      "The next oldest node starts the singleton when all older ones are gone.",\
      "single-coordinator")                                                    \
    X(A7, "akka#25632",                                                        \
      "At most one side of a partition survives.",                             \
      "no-split-brain")                                                        \
    X(A11, "akka#26336",                                                       \
      "A node that sees itself down stops its entities.",                      \
      "downed-node-stops")                                                     \
    X(A13, "orl#10262",                                                        \
      "An older version of the membership does not replace a newer one.",      \
      "member-lifecycle")                                                      \
    X(A13C, "orl#10262",                                                       \
      "Concurrent versions of the membership are merged.",                     \
      "member-lifecycle")                                                      \
    X(A13M, "own",                                                             \
      "The merge of two versions of the membership has an empty seen set.",    \
      "leader-actions")                                                        \
    X(A13S, "own",                                                             \
      "A seen mark for an older version does not count for a newer one.",      \
      "leader-actions")                                                        \
    X(B1, "akka#30957",                                                        \
      "A shard stops only when every region's marker has arrived.",            \
      "message-order")                                                         \
    X(B2, "net#8501",                                                          \
      "Messages for a shard that stops wait for its next home.",               \
      "message-accounting")                                                    \
    X(B3, "net#8572",                                                          \
      "A fenced shard returns the messages in its mailboxes.",                 \
      "message-accounting")                                                    \
    X(B4, "akka#26957",                                                        \
      "Messages that arrive while an entity stops go to its next incarnation.",\
      "message-accounting")                                                    \
    X(B7, "akka#30135",                                                        \
      "A marker stays behind the messages that its lane sent earlier.",        \
      "message-order")                                                         \
    X(B9, "akka#24847",                                                        \
      "System messages to another incarnation start a new numbering.",         \
      "no-stale-sender")                                                       \
    X(B10, "pekko#3208",                                                       \
      "The next connection sends a partly written frame again from its start.",\
      "readable-frames")                                                       \
    X(B11, "akka#32892",                                                       \
      "A removed node owns no shard.",                                         \
      "handoff-completes")                                                     \
    X(B12, "akka#29124",                                                       \
      "Messages that a stopped shard returns leave before later ones.",        \
      "message-order")                                                         \
    X(B13, "own",                                                              \
      "A region that leaves hands its shards off.",                            \
      "shutdown-completes")                                                    \
    X(B15, "own",                                                              \
      "Shards move to a later region that has fewer.",                         \
      "shard-balance")                                                         \
    X(C2, "akka#18945",                                                        \
      "A shard without entities stops, too.",                                  \
      "handoff-completes")                                                     \
    X(C6, "akka#32439",                                                        \
      "An entity that ignores its stop message is ended.",                     \
      "handoff-completes")                                                     \
    X(C8, "net#8467",                                                          \
      "An old gossip does not bring a removed member back.",                   \
      "member-lifecycle")                                                      \
    X(C9, "akka#13875",                                                        \
      "Observations of a member that is down do not prevent convergence.",     \
      "member-convergence")                                                    \
    X(C10, "akka#29131",                                                       \
      "A shard without a home gets a new one.",                                \
      "homes-available")                                                       \
    X(C12, "pekko#3247",                                                       \
      "A node stops in time although a peer does not read.",                   \
      "shutdown-completes")                                                    \
    X(C12R, "own",                                                             \
      "A node that does not see itself exiting stops in time.",                \
      "shutdown-completes")                                                    \
    X(D4, "akka#32749",                                                        \
      "A timer fires only for the incarnation that set it.",                   \
      "same-incarnation")                                                      \
    X(D6, "akka#29383",                                                        \
      "An entity that fails starts again.",                                    \
      "message-accounting")                                                    \
    X(E1, "akka#30391",                                                        \
      "The side of a partition that the strategy keeps survives.",             \
      "healthy-node-stays")                                                    \
    X(E3, "akka#29540",                                                        \
      "All members are downed after the full period of instability, not earlier.",\
      "healthy-node-stays")                                                    \
    X(E5, "akka#23582",                                                        \
      "Up numbers decide which member is older.",                              \
      "single-coordinator")                                                    \
    X(E6, "akka#25950",                                                        \
      "The removal of a member removes all observations of it.",               \
      "member-convergence")                                                    \
    X(E7, "akka#21906",                                                        \
      "A member that is down is not the leader.",                              \
      "leader-actions")                                                        \
    X(E12, "akka#31164",                                                       \
      "Subscribers of cluster events learn that the node is removed.",         \
      "cluster-events")                                                        \
    X(E12M, "own",                                                             \
      "A subscriber that missed an event gets the current state.",             \
      "cluster-events")                                                        \
    X(E12R, "own",                                                             \
      "Subscribers learn that a member is reachable again.",                   \
      "cluster-events")                                                        \
    X(G1, "net#4953",                                                          \
      "An entity's messages leave only when their cause is durable.",          \
      "no-lost-ack")                                                           \
    X(G2, "akka#17598",                                                        \
      "The journal refuses a write under an older fence.",                       \
      "fenced-writes")                                                         \
    X(G3, "akka#22727",                                                        \
      "A commit whose outcome is unknown is read back.",                       \
      "no-lost-ack")                                                           \
    X(G5, "akka#28629",                                                        \
      "Nothing is written while the outcome of a commit is unknown.",          \
      "unknown-outcome")                                                       \
    X(H1, "akka#22893",                                                        \
      "The data of a shard is freed with it.",                                 \
      "no-leak")                                                               \
    X(Q1, "own",                                                               \
      "A mailbox holds at most its limit of messages.",                        \
      "bounded-buffers")                                                       \
    X(Q2, "own",                                                               \
      "A region holds at most its limit of messages.",                         \
      "bounded-buffers")                                                       \
    X(Q3, "own",                                                               \
      "At most the limit of frames waits for a peer.",                         \
      "bounded-buffers")                                                       \
    X(A1, "akka#30604",                                                        \
      "While an entity's incarnation runs, no other one starts.",              \
      "single-activation")                                                     \
    X(A18, "pekko#1463",                                                       \
      "A message reaches the entity whose id it names.",                       \
      "right-receiver")                                                        \
    X(B10T, "own",                                                             \
      "A frame is read once, however its bytes are split.",                    \
      "at-most-once")                                                          \
    X(B10S, "own",                                                             \
      "The timeout of unknown connections ends when the sender is known.",     \
      "message-accounting")                                                    \
    X(D8L, "akka#19282",                                                       \
      "A coordinator continues with the state that the previous one stored.",  \
      "homes-available")                                                       \
    X(E13, "net#3252",                                                         \
      "A member of a cluster joins no other cluster.",                         \
      "no-cluster-merge")                                                      \
    X(F3S, "net#5022",                                                         \
      "A status without news gets no answer.",                                 \
      "quiet-cluster-rests")                                                   \
    X(H5, "akka#28521",                                                        \
      "A reply finds its ask, however many asks came before.",                 \
      "entities-answer")                                                       \
    X(R3, "own",                                                               \
      "The seed decides everything in a run.",                                 \
      "deterministic-run")                                                     \
    X(C8H, "own",                                                              \
      "A heartbeat's answer counts only from a monitored node.",               \
      "no-stale-sender")                                                       \
    X(A9S, "akka#22870",                                                       \
      "A coordinator announces a home only after storing it.",                 \
      "coordinator-state")                                                     \
    X(A9R, "own",                                                              \
      "A coordinator reads its state from as many replicas as required.",      \
      "coordinator-state")                                                     \
    X(A9W, "own",                                                              \
      "A coordinator's state is stored when the required replicas have it.",   \
      "coordinator-state")                                                     \
    X(A10W, "akka#17200",                                                      \
      "The next write includes changes made during the current one.",          \
      "coordinator-state")                                                     \
    X(A16F, "ats#948",                                                         \
      "A shard's fence outlives its home.",                                    \
      "coordinator-state")                                                     \
    X(D8, "akka#17955",                                                        \
      "A coordinator continues from the stored fences.",                       \
      "coordinator-state")                                                     \
    X(D1, "akka#30217",                                                        \
      "A base record holds all remembered entities.",                          \
      "remembered-entities")                                                   \
    X(D3, "akka#32770",                                                        \
      "A start during the write of another start is written, too.",            \
      "remembered-entities")                                                   \
    X(D3A, "own",                                                              \
      "An entity starts only when its start is stored.",                       \
      "remembered-entities")                                                   \
    X(D3F, "own",                                                              \
      "A passivated entity is forgotten.",                                     \
      "remembered-entities")                                                   \
    X(D5, "akka#22868",                                                        \
      "Shards with remembered entities start without a message.",              \
      "remembered-entities")                                                   \
    X(D5M, "akka#21892",                                                       \
      "A remembered entity starts again at the new home of its shard.",        \
      "remembered-entities")                                                   \
    X(A8, "akka#22289",                                                        \
      "After a change of the number of shards an entity starts in the right one.",\
      "remembered-entities")                                                   \
    X(D6W, "own",                                                              \
      "A write is stored when the required replicas have it.",                 \
      "remembered-entities")                                                   \
    X(D6R, "own",                                                              \
      "Remembered entities are read from as many replicas as a write needs.",  \
      "remembered-entities")                                                   \
    X(D6F, "own",                                                              \
      "A passivated entity is removed from its key.",                          \
      "remembered-entities")                                                   \
    X(D6L, "own",                                                              \
      "A late removal by a former node of the shard leaves a live entity remembered.",\
      "remembered-entities")                                                   \
    X(D6T, "own",                                                              \
      "An entity that appears later in a key of a loaded shard starts.",       \
      "remembered-entities")                                                   \
    X(A9, "akka#22870",                                                        \
      "A read of several replicas merges the values of all.",                  \
      "no-lost-update")                                                        \
    X(F1, "akka#21647",                                                        \
      "A removed member's pruned part is not merged back from others.",        \
      "pruned-stays-pruned")                                                   \
    X(F1D, "akka#21647",                                                       \
      "A delta's part of a member pruned here is removed again.",              \
      "pruned-stays-pruned")                                                   \
    X(F2, "akka#22606",                                                        \
      "A delta waits for the previous one.",                                   \
      "no-lost-update")                                                        \
    X(F2R, "akka#22890",                                                       \
      "A removal covers only what its author had seen.",                       \
      "no-lost-update")                                                        \
    X(F2G, "akka#22655",                                                       \
      "Deltas that are too large together count as a gap.",                    \
      "no-lost-update")                                                        \
    X(F3, "net#5022",                                                          \
      "Equal replicas have equal digests.",                                    \
      "replica-convergence")                                                   \
    X(F4, "akka#22487",                                                        \
      "A key with a negative hash is in a part of the digests, too.",          \
      "replica-convergence")                                                   \
    X(F5, "akka#24887",                                                        \
      "Pruning keeps what a removed member added.",                            \
      "no-lost-update")                                                        \
    X(F12, "own",                                                              \
      "A write to a forgotten key merges with the values of others.",          \
      "no-lost-update")                                                        \
    X(F9, "ats#955",                                                           \
      "A restarted member counts as its own replica.",                         \
      "no-lost-update")                                                        \
    X(F9T, "ats#950",                                                          \
      "All replicas keep the same one of two simultaneous writes.",            \
      "value-integrity")                                                       \
    X(D7, "net#4873",                                                          \
      "A stored durable key survives a restart.",                              \
      "no-lost-update")                                                        \
    X(D7S, "own",                                                              \
      "An update of a durable key is acknowledged only when it is stored.",    \
      "no-lost-update")                                                        \
    X(N1, "own",                                                               \
      "A write replaces only the versions that its author had read.",          \
      "store-quorum-read")                                                     \
    X(N2, "own",                                                               \
      "A read includes the values of R replicas.",                             \
      "store-one-answer")                                                      \
    X(N3, "own",                                                               \
      "A write is acknowledged when W replicas have it.",                      \
      "store-quorum-read")                                                     \
    X(N4, "own",                                                               \
      "A value moves to another replica under its own key.",                   \
      "store-no-foreign-value")                                                \
    X(N3K, "own",                                                              \
      "A key stays until its new replicas have it.",                           \
      "store-no-lost-write")                                                   \
    X(N5, "own",                                                               \
      "A broker that appears later is asked, too.",                            \
      "store-all-readable")                                                    \
    X(N6, "own",                                                               \
      "A read is answered when R replicas have its result.",                   \
      "store-monotonic-read")

enum zoo_mutant {
    ZOO_NONE,
#define X(name, row, rule, invariant) ZOO_##name,
    ZOO_MUTANTS(X)
#undef X
        ZOO_COUNT
};

#ifdef SHERD_ZOO
extern enum zoo_mutant zoo_chosen; /* in sim/zoo.c; cores only read it */
extern uint64_t zoo_met; /* in sim/zoo.c: passes of the chosen place */

static inline bool zoo_is(enum zoo_mutant mutant)
{
    if (__builtin_expect(zoo_chosen != mutant, 1))
        return false;
    zoo_met++;
    return true;
}

#define ZOO(name) zoo_is(ZOO_##name)
#define ZOO_MET zoo_met
#else
#define ZOO(name) (ZOO_##name == ZOO_NONE)
#define ZOO_MET UINT64_C(0)
#endif

#endif
