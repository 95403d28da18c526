/* Known bugs, each brought back at one place of the cores, to show that the simulator sees it.
 *
 * A place says ZOO(name). It is false, a constant, everywhere but in the simulator's own copy of the cores, which is built
 * with SHERD_ZOO: there it asks which one was chosen at run time (sim/zoo.h), and by default none is. The list is the
 * catalogue: its row in the public tracker where the bug was, the rule that it breaks, and the invariant that should see it. */
#ifndef SHERD_BASE_ZOO_H
#define SHERD_BASE_ZOO_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, row, rule, invariant) */
#define ZOO_MUTANTS(X)                                                         \
    X(A2, "net#8146",                                                          \
      "A report that a shard has stopped counts for the hand-off it answers.", \
      "handoff-safety")                                                                   \
    X(A3, "net#7500",                                                          \
      "A hand-off that takes too long is given up.",                           \
      "handoff-completes")                                                                    \
    X(A4, "net#6973",                                                          \
      "A node that was restarted under the same address is another node.",     \
      "single-coordinator")                                                                   \
    X(A5H, "behaviour 14.10",                                                  \
      "A shard of a removed node is given another home after the margin.",     \
      "handoff-safety")                                                                   \
    X(A5S, "behaviour 12.3",                                                   \
      "A coordinator of a removed node starts elsewhere after the margin.",    \
      "single-coordinator")                                                                   \
    X(A6, "akka#27487",                                                        \
      "The next oldest starts when all who were older are gone.",              \
      "single-coordinator")                                                                   \
    X(A7, "akka#25632",                                                        \
      "Of a partition one side goes on at most.",                              \
      "no-split-brain")                                                                   \
    X(A11, "akka#26336",                                                       \
      "A node that sees itself down stops its entities.",                      \
      "downed-node-stops")                                                                   \
    X(A13, "orl#10262",                                                        \
      "An older version of the membership does not replace a newer one.",      \
      "member-lifecycle")                                                                   \
    X(A13C, "orl#10262",                                                       \
      "A concurrent version of the membership is merged, not taken instead.",  \
      "member-lifecycle")                                                                   \
    X(A13M, "behaviour 2.4",                                                   \
      "Nobody has seen what two versions of the membership are merged to.",    \
      "leader-actions")                                                                   \
    X(A13S, "behaviour 2.3",                                                   \
      "Who has seen an older version of the membership has not seen this one.",\
      "leader-actions")                                                                   \
    X(B1, "akka#30957",                                                        \
      "A shard stops when every region's marker has come.",                    \
      "message-order")                                                                    \
    X(B2, "net#8501",                                                          \
      "What comes for a shard that stops waits for the next home.",            \
      "message-accounting")                                                                    \
    X(B3, "net#8572",                                                          \
      "A shard that is fenced off gives the messages in its mailboxes back.",  \
      "message-accounting")                                                                    \
    X(B4, "akka#26957",                                                        \
      "What comes while an entity stops is its next incarnation's.",           \
      "message-accounting")                                                                    \
    X(B7, "akka#30135",                                                        \
      "A marker stays behind the messages that its lane sent before it.",      \
      "message-order")                                                                    \
    X(B9, "akka#24847",                                                        \
      "System messages to another incarnation are numbered afresh.",           \
      "no-stale-sender")                                                                   \
    X(B10, "pekko#3208",                                                       \
      "A frame that was written in part is sent whole on the next connection.",\
      "readable-frames")                                                                 \
    X(B11, "akka#32892",                                                       \
      "A node that was removed owns no shard.",                                \
      "handoff-completes")                                                                    \
    X(B12, "akka#29124",                                                       \
      "What returns from a shard that stopped leaves before what came later.", \
      "message-order")                                                                    \
    X(B13, "behaviour 16.4",                                                   \
      "The shards of a region that leaves are handed off.",                    \
      "shutdown-completes")                                                                    \
    X(B15, "behaviour 15",                                                     \
      "Shards move to who comes later and has fewer.",                         \
      "shard-balance")                                                               \
    X(C2, "akka#18945",                                                        \
      "A shard without entities stops, too.",                                  \
      "handoff-completes")                                                                    \
    X(C6, "akka#32439",                                                        \
      "An entity that ignores its stop is ended.",                             \
      "handoff-completes")                                                                    \
    X(C8, "net#8467",                                                          \
      "A member that was removed does not come back by an old gossip.",        \
      "member-lifecycle")                                                                   \
    X(C9, "akka#13875",                                                        \
      "What a member that is down observes hinders nobody.",                   \
      "member-convergence")                                                                    \
    X(C10, "akka#29131",                                                       \
      "A shard whose home is gone is given another one.",                      \
      "homes-available")                                                                    \
    X(C12, "pekko#3247",                                                       \
      "A node ends in time though a peer does not read.",                      \
      "shutdown-completes")                                                                    \
    X(C12R, "behaviour 6.2",                                                   \
      "A node that does not see itself exiting ends in time.",                 \
      "shutdown-completes")                                                                    \
    X(D4, "akka#32749",                                                        \
      "A timer is for the incarnation that set it.",                           \
      "same-incarnation")                                                                   \
    X(D6, "akka#29383",                                                        \
      "An entity that fails starts again.",                                    \
      "message-accounting")                                                                    \
    X(E1, "akka#30391",                                                        \
      "Of a partition the side that the strategy keeps goes on.",              \
      "healthy-node-stays")                                                                    \
    X(E3, "akka#29540",                                                        \
      "All are downed when nothing was stable for so long, not before.",       \
      "healthy-node-stays")                                                                    \
    X(E5, "akka#23582",                                                        \
      "Up numbers tell who is older.",                                         \
      "single-coordinator")                                                                   \
    X(E6, "akka#25950",                                                        \
      "With a member goes what others observed of it.",                        \
      "member-convergence")                                                                    \
    X(E7, "akka#21906",                                                        \
      "A member that is down is not the leader.",                              \
      "leader-actions")                                                                   \
    X(E12, "akka#31164",                                                       \
      "Who follows the cluster hears that the node is out.",                   \
      "cluster-events")                                                                \
    X(E12M, "behaviour 7",                                                     \
      "Who missed a change of the cluster hears how it is.",                   \
      "cluster-events")                                                                \
    X(E12R, "behaviour 7",                                                     \
      "A member that can be reached again is told so.",                        \
      "cluster-events")                                                                \
    X(G1, "net#4953",                                                          \
      "What an entity sends leaves when its cause is durable.",                \
      "no-lost-ack")                                                                    \
    X(G2, "akka#17598",                                                        \
      "The store refuses a write under an older fence.",                       \
      "fenced-writes")                                                                    \
    X(G3, "akka#22727",                                                        \
      "A commit whose outcome is unknown is read back.",                       \
      "no-lost-ack")                                                                    \
    X(G5, "akka#28629",                                                        \
      "Nothing is written while the outcome of a commit is unknown.",          \
      "unknown-outcome")                                                                   \
    X(H1, "akka#22893",                                                        \
      "What is kept of a shard goes with it.",                                 \
      "no-leak")                                                                   \
    X(Q1, "reliability 6.2",                                                   \
      "A mailbox takes no more messages than it may.",                         \
      "bounded-buffers")                                                                    \
    X(Q2, "reliability 6.2",                                                   \
      "A region keeps no more messages than it may.",                          \
      "bounded-buffers")                                                                    \
    X(Q3, "reliability 6.2",                                                   \
      "No more frames wait for a peer than may.",                              \
      "bounded-buffers")                                                                    \
    X(A1, "akka#30604",                                                        \
      "While an incarnation of an entity lives no other one starts.",          \
      "single-activation")                                                                    \
    X(A18, "pekko#1463",                                                       \
      "A message comes to the entity whose id it names.",                      \
      "right-receiver")                                                                   \
    X(B10T, "reliability 3.2",                                                 \
      "A frame is read once, however its bytes come.",                         \
      "at-most-once")                                                                   \
    X(B10S, "reliability 2",                                                   \
      "Whose sender is known is not closed when the time of strangers is over.",\
      "message-accounting")                                                                    \
    X(D8L, "akka#19282",                                                       \
      "A coordinator goes on with what the one before has stored.",            \
      "homes-available")                                                                    \
    X(E13, "net#3252",                                                         \
      "Who is in a cluster enters no other one.",                              \
      "no-cluster-merge")                                                                   \
    X(F3S, "net#5022",                                                         \
      "A status that says nothing new has no answer.",                         \
      "quiet-cluster-rests")                                                                    \
    X(H5, "akka#28521",                                                        \
      "An answer finds the ask that it is for, however many were before.",     \
      "entities-answer")                                                                    \
    X(R3, "reliability 4.1",                                                   \
      "What a seed does not decide nothing does.",                             \
      "deterministic-run")                                                                \
    X(C8H, "behaviour 3.5",                                                    \
      "An answer to a heartbeat counts of who is monitored, and of nobody else.",\
      "no-stale-sender")                                                                   \
    X(A9S, "akka#22870",                                                       \
      "A home is told when it is stored, not before.",                         \
      "coordinator-state")                                                                   \
    X(A9R, "behaviour 14.2",                                                   \
      "A coordinator's state is read from as many replicas as shall be asked.",\
      "coordinator-state")                                                                   \
    X(A9W, "behaviour 14.3",                                                   \
      "A coordinator's state is stored when as many replicas have it as shall.",\
      "coordinator-state")                                                                   \
    X(A10W, "akka#17200",                                                      \
      "What changes while a state is stored is stored with the next one.",     \
      "coordinator-state")                                                                   \
    X(A16F, "ats#948",                                                         \
      "The fence of a shard outlives its home.",                               \
      "coordinator-state")                                                                   \
    X(D8, "akka#17955",                                                        \
      "A coordinator goes on from the fences that are stored.",                \
      "coordinator-state")                                                                   \
    X(D1, "akka#30217",                                                        \
      "A base has all who are remembered.",                                    \
      "remembered-entities")                                                                    \
    X(D3, "akka#32770",                                                        \
      "A start that comes while another one is written is written, too.",      \
      "remembered-entities")                                                                    \
    X(D3A, "behaviour 17.2",                                                   \
      "An entity starts when its start is stored, not before.",                \
      "remembered-entities")                                                                    \
    X(D3F, "behaviour 17.2",                                                   \
      "Who was passivated is forgotten.",                                      \
      "remembered-entities")                                                                    \
    X(D5, "akka#22868",                                                        \
      "Shards with remembered entities start without a message.",              \
      "remembered-entities")                                                                    \
    X(D5M, "akka#21892",                                                       \
      "Who is remembered starts again where its shard has moved to.",          \
      "remembered-entities")                                                                    \
    X(A8, "akka#22289",                                                        \
      "With another number of shards an entity starts where it belongs.",      \
      "remembered-entities")                                                                    \
    X(D6W, "behaviour 19.3",                                                    \
      "A write is stored when as many replicas as shall have it do.",          \
      "remembered-entities")                                                                    \
    X(D6R, "behaviour 19.3",                                                   \
      "Who is remembered is read from as many replicas as a write needs.",     \
      "remembered-entities")                                                                    \
    X(D6F, "behaviour 19.3",                                                   \
      "Who was passivated is taken out of its key.",                           \
      "remembered-entities")                                                                    \
    X(D6L, "behaviour 19.3",                                                   \
      "Who lives is remembered, also when a former node of the shard takes it out late.", \
      "remembered-entities")                                                                    \
    X(D6T, "behaviour 19.3",                                                   \
      "Who comes to light in a key of a shard that has been read starts.",     \
      "remembered-entities")                                                                    \
    X(A9, "akka#22870",                                                        \
      "A read of several replicas has what each of them has.",                 \
      "no-lost-update")                                                                   \
    X(F1, "akka#21647",                                                        \
      "What is pruned from a member is not taken from others again.",          \
      "pruned-stays-pruned")                                                                   \
    X(F1D, "akka#21647",                                                       \
      "What a delta brings of who is pruned here is taken away again.",        \
      "pruned-stays-pruned")                                                                   \
    X(F2, "akka#22606",                                                        \
      "A delta waits for the one before it.",                                  \
      "no-lost-update")                                                                   \
    X(F2R, "akka#22890",                                                       \
      "A removal takes away what its remover had seen, and no more.",          \
      "no-lost-update")                                                                   \
    X(F2G, "akka#22655",                                                       \
      "Deltas that are too large together are a gap.",                         \
      "no-lost-update")                                                                   \
    X(F3, "net#5022",                                                          \
      "Equal replicas have equal digests.",                                    \
      "replica-convergence")                                                                    \
    X(F4, "akka#22487",                                                        \
      "A key whose hash is negative is in a part of the digests, too.",        \
      "replica-convergence")                                                                   \
    X(F5, "akka#24887",                                                        \
      "What a removed member added stays when it is pruned.",                  \
      "no-lost-update")                                                                   \
    X(F12, "behaviour 13.11",                                                  \
      "What is written to a forgotten key adds to what others have of it.",    \
      "no-lost-update")                                                                   \
    X(F9, "ats#955",                                                           \
      "A member that was restarted counts for itself.",                        \
      "no-lost-update")                                                                   \
    X(F9T, "ats#950",                                                          \
      "Of two writes at one time all keep the same.",                          \
      "value-integrity")                                                                   \
    X(D7, "net#4873",                                                          \
      "What is stored of a durable key is there after a restart.",             \
      "no-lost-update")                                                                   \
    X(D7S, "behaviour 13.10",                                                  \
      "An update of a durable key is acknowledged when it is stored.",         \
      "no-lost-update")                                                                   \
    X(N1, "seed#001",                                                          \
      "A write replaces what its writer had read, and no more.",               \
      "store-quorum-read")                                                                    \
    X(N2, "seed#001",                                                          \
      "A read has what R replicas have.",                                      \
      "store-one-answer")                                                                    \
    X(N3, "seed#001",                                                          \
      "A write is acknowledged when W replicas have it.",                      \
      "store-quorum-read")                                                                    \
    X(N4, "seed#001",                                                          \
      "What moves to another replica goes under its own key.",                 \
      "store-no-foreign-value")                                                                    \
    X(N3K, "seed#001",                                                         \
      "A key stays until its new replicas have it.",                           \
      "store-no-lost-write")                                                                    \
    X(N5, "seed#001",                                                          \
      "A broker that is told of later is asked, too.",                         \
      "store-all-readable")                                                                    \
    X(N6, "seed#001",                                                          \
      "A read is answered when R replicas have what it found.",                \
      "store-monotonic-read")

enum zoo_mutant {
    ZOO_NONE,
#define X(name, row, rule, invariant) ZOO_##name,
    ZOO_MUTANTS(X)
#undef X
        ZOO_COUNT
};

#ifdef SHERD_ZOO
extern enum zoo_mutant zoo_chosen; /* sim/zoo.c's, as the next; cores only read it */
extern uint64_t zoo_met; /* how often the chosen bug's place was passed */

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
