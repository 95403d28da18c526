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
      "I11")                                                                   \
    X(A3, "net#7500",                                                          \
      "A hand-off that takes too long is given up.",                           \
      "L3")                                                                    \
    X(A4, "net#6973",                                                          \
      "A node that was restarted under the same address is another node.",     \
      "I32")                                                                   \
    X(A5H, "behaviour 14.10",                                                  \
      "A shard of a removed node is given another home after the margin.",     \
      "I11")                                                                   \
    X(A5S, "behaviour 12.3",                                                   \
      "A coordinator of a removed node starts elsewhere after the margin.",    \
      "I32")                                                                   \
    X(A6, "akka#27487",                                                        \
      "The next oldest starts when all who were older are gone.",              \
      "I32")                                                                   \
    X(A7, "akka#25632",                                                        \
      "Of a partition one side goes on at most.",                              \
      "I21")                                                                   \
    X(A11, "akka#26336",                                                       \
      "A node that sees itself down stops its entities.",                      \
      "I22")                                                                   \
    X(A13, "orl#10262",                                                        \
      "An older version of the membership does not replace a newer one.",      \
      "I18")                                                                   \
    X(A13C, "orl#10262",                                                       \
      "A concurrent version of the membership is merged, not taken instead.",  \
      "I18")                                                                   \
    X(A13M, "behaviour 2.4",                                                   \
      "Nobody has seen what two versions of the membership are merged to.",    \
      "I20")                                                                   \
    X(A13S, "behaviour 2.3",                                                   \
      "Who has seen an older version of the membership has not seen this one.",\
      "I20")                                                                   \
    X(B1, "akka#30957",                                                        \
      "A shard stops when every region's marker has come.",                    \
      "I2")                                                                    \
    X(B2, "net#8501",                                                          \
      "What comes for a shard that stops waits for the next home.",            \
      "I3")                                                                    \
    X(B3, "net#8572",                                                          \
      "A shard that is fenced off gives the messages in its mailboxes back.",  \
      "I3")                                                                    \
    X(B4, "akka#26957",                                                        \
      "What comes while an entity stops is its next incarnation's.",           \
      "I3")                                                                    \
    X(B7, "akka#30135",                                                        \
      "A marker stays behind the messages that its lane sent before it.",      \
      "I2")                                                                    \
    X(B9, "akka#24847",                                                        \
      "System messages to another incarnation are numbered afresh.",           \
      "I12")                                                                   \
    X(B10, "pekko#3208",                                                       \
      "A frame that was written in part is sent whole on the next connection.",\
      "frame")                                                                 \
    X(B11, "akka#32892",                                                       \
      "A node that was removed owns no shard.",                                \
      "L3")                                                                    \
    X(B12, "akka#29124",                                                       \
      "What returns from a shard that stopped leaves before what came later.", \
      "I2")                                                                    \
    X(B13, "behaviour 16.4",                                                   \
      "The shards of a region that leaves are handed off.",                    \
      "L5")                                                                    \
    X(B15, "behaviour 15",                                                     \
      "Shards move to who comes later and has fewer.",                         \
      "balance")                                                               \
    X(C2, "akka#18945",                                                        \
      "A shard without entities stops, too.",                                  \
      "L3")                                                                    \
    X(C6, "akka#32439",                                                        \
      "An entity that ignores its stop is ended.",                             \
      "L3")                                                                    \
    X(C8, "net#8467",                                                          \
      "A member that was removed does not come back by an old gossip.",        \
      "I18")                                                                   \
    X(C9, "akka#13875",                                                        \
      "What a member that is down observes hinders nobody.",                   \
      "L1")                                                                    \
    X(C10, "akka#29131",                                                       \
      "A shard whose home is gone is given another one.",                      \
      "L2")                                                                    \
    X(C12, "pekko#3247",                                                       \
      "A node ends in time though a peer does not read.",                      \
      "L5")                                                                    \
    X(C12R, "behaviour 6.2",                                                   \
      "A node that does not see itself exiting ends in time.",                 \
      "L5")                                                                    \
    X(D4, "akka#32749",                                                        \
      "A timer is for the incarnation that set it.",                           \
      "I27")                                                                   \
    X(D6, "akka#29383",                                                        \
      "An entity that fails starts again.",                                    \
      "I3")                                                                    \
    X(E1, "akka#30391",                                                        \
      "Of a partition the side that the strategy keeps goes on.",              \
      "L6")                                                                    \
    X(E3, "akka#29540",                                                        \
      "All are downed when nothing was stable for so long, not before.",       \
      "L6")                                                                    \
    X(E5, "akka#23582",                                                        \
      "Up numbers tell who is older.",                                         \
      "I32")                                                                   \
    X(E6, "akka#25950",                                                        \
      "With a member goes what others observed of it.",                        \
      "L1")                                                                    \
    X(E7, "akka#21906",                                                        \
      "A member that is down is not the leader.",                              \
      "I20")                                                                   \
    X(E12, "akka#31164",                                                       \
      "Who follows the cluster hears that the node is out.",                   \
      "follow")                                                                \
    X(E12M, "behaviour 7",                                                     \
      "Who missed a change of the cluster hears how it is.",                   \
      "follow")                                                                \
    X(E12R, "behaviour 7",                                                     \
      "A member that can be reached again is told so.",                        \
      "follow")                                                                \
    X(G1, "net#4953",                                                          \
      "What an entity sends leaves when its cause is durable.",                \
      "I4")                                                                    \
    X(G2, "akka#17598",                                                        \
      "The store refuses a write under an older fence.",                       \
      "I5")                                                                    \
    X(G3, "akka#22727",                                                        \
      "A commit whose outcome is unknown is read back.",                       \
      "I4")                                                                    \
    X(G5, "akka#28629",                                                        \
      "Nothing is written while the outcome of a commit is unknown.",          \
      "I31")                                                                   \
    X(H1, "akka#22893",                                                        \
      "What is kept of a shard goes with it.",                                 \
      "I26")                                                                   \
    X(Q1, "reliability 6.2",                                                   \
      "A mailbox takes no more messages than it may.",                         \
      "I9")                                                                    \
    X(Q2, "reliability 6.2",                                                   \
      "A region keeps no more messages than it may.",                          \
      "I9")                                                                    \
    X(Q3, "reliability 6.2",                                                   \
      "No more frames wait for a peer than may.",                              \
      "I9")                                                                    \
    X(A1, "akka#30604",                                                        \
      "While an incarnation of an entity lives no other one starts.",          \
      "I1")                                                                    \
    X(A18, "pekko#1463",                                                       \
      "A message comes to the entity whose id it names.",                      \
      "I34")                                                                   \
    X(B10T, "reliability 3.2",                                                 \
      "A frame is read once, however its bytes come.",                         \
      "I13")                                                                   \
    X(B10S, "reliability 2",                                                   \
      "Whose sender is known is not closed when the time of strangers is over.",\
      "I3")                                                                    \
    X(D8L, "akka#19282",                                                       \
      "A coordinator goes on with what the one before has stored.",            \
      "L2")                                                                    \
    X(E13, "net#3252",                                                         \
      "Who is in a cluster enters no other one.",                              \
      "I33")                                                                   \
    X(F3S, "net#5022",                                                         \
      "A status that says nothing new has no answer.",                         \
      "L9")                                                                    \
    X(H5, "akka#28521",                                                        \
      "An answer finds the ask that it is for, however many were before.",     \
      "L4")                                                                    \
    X(R3, "reliability 4.1",                                                   \
      "What a seed does not decide nothing does.",                             \
      "digest")                                                                \
    X(C8H, "behaviour 3.5",                                                    \
      "An answer to a heartbeat counts of who is monitored, and of nobody else.",\
      "I12")                                                                   \
    X(A9S, "akka#22870",                                                       \
      "A home is told when it is stored, not before.",                         \
      "I10")                                                                   \
    X(A9R, "behaviour 14.2",                                                   \
      "A coordinator's state is read from as many replicas as shall be asked.",\
      "I10")                                                                   \
    X(A9W, "behaviour 14.3",                                                   \
      "A coordinator's state is stored when as many replicas have it as shall.",\
      "I10")                                                                   \
    X(A10W, "akka#17200",                                                      \
      "What changes while a state is stored is stored with the next one.",     \
      "I10")                                                                   \
    X(A16F, "ats#948",                                                         \
      "The fence of a shard outlives its home.",                               \
      "I10")                                                                   \
    X(D8, "akka#17955",                                                        \
      "A coordinator goes on from the fences that are stored.",                \
      "I10")                                                                   \
    X(D1, "akka#30217",                                                        \
      "A base has all who are remembered.",                                    \
      "I8")                                                                    \
    X(D3, "akka#32770",                                                        \
      "A start that comes while another one is written is written, too.",      \
      "I8")                                                                    \
    X(D3A, "behaviour 17.2",                                                   \
      "An entity starts when its start is stored, not before.",                \
      "I8")                                                                    \
    X(D3F, "behaviour 17.2",                                                   \
      "Who was passivated is forgotten.",                                      \
      "I8")                                                                    \
    X(D5, "akka#22868",                                                        \
      "Shards with remembered entities start without a message.",              \
      "I8")                                                                    \
    X(D5M, "akka#21892",                                                       \
      "Who is remembered starts again where its shard has moved to.",          \
      "I8")                                                                    \
    X(A8, "akka#22289",                                                        \
      "With another number of shards an entity starts where it belongs.",      \
      "I8")                                                                    \
    X(D6W, "behaviour 19.3",                                                    \
      "A write is stored when as many replicas as shall have it do.",          \
      "I8")                                                                    \
    X(D6R, "behaviour 19.3",                                                   \
      "Who is remembered is read from as many replicas as a write needs.",     \
      "I8")                                                                    \
    X(D6F, "behaviour 19.3",                                                   \
      "Who was passivated is taken out of its key.",                           \
      "I8")                                                                    \
    X(D6L, "behaviour 19.3",                                                   \
      "Who lives is remembered, also when a former node of the shard takes it out late.", \
      "I8")                                                                    \
    X(D6T, "behaviour 19.3",                                                   \
      "Who comes to light in a key of a shard that has been read starts.",     \
      "I8")                                                                    \
    X(A9, "akka#22870",                                                        \
      "A read of several replicas has what each of them has.",                 \
      "I16")                                                                   \
    X(F1, "akka#21647",                                                        \
      "What is pruned from a member is not taken from others again.",          \
      "I17")                                                                   \
    X(F1D, "akka#21647",                                                       \
      "What a delta brings of who is pruned here is taken away again.",        \
      "I17")                                                                   \
    X(F2, "akka#22606",                                                        \
      "A delta waits for the one before it.",                                  \
      "I16")                                                                   \
    X(F2R, "akka#22890",                                                       \
      "A removal takes away what its remover had seen, and no more.",          \
      "I16")                                                                   \
    X(F2G, "akka#22655",                                                       \
      "Deltas that are too large together are a gap.",                         \
      "I16")                                                                   \
    X(F3, "net#5022",                                                          \
      "Equal replicas have equal digests.",                                    \
      "I15")                                                                    \
    X(F4, "akka#22487",                                                        \
      "A key whose hash is negative is in a part of the digests, too.",        \
      "I15")                                                                   \
    X(F5, "akka#24887",                                                        \
      "What a removed member added stays when it is pruned.",                  \
      "I16")                                                                   \
    X(F12, "behaviour 13.11",                                                  \
      "What is written to a forgotten key adds to what others have of it.",    \
      "I16")                                                                   \
    X(F9, "ats#955",                                                           \
      "A member that was restarted counts for itself.",                        \
      "I16")                                                                   \
    X(F9T, "ats#950",                                                          \
      "Of two writes at one time all keep the same.",                          \
      "I14")                                                                   \
    X(D7, "net#4873",                                                          \
      "What is stored of a durable key is there after a restart.",             \
      "I16")                                                                   \
    X(D7S, "behaviour 13.10",                                                  \
      "An update of a durable key is acknowledged when it is stored.",         \
      "I16")                                                                   \
    X(N1, "seed#001",                                                          \
      "A write replaces what its writer had read, and no more.",               \
      "N1")                                                                    \
    X(N2, "seed#001",                                                          \
      "A read has what R replicas have.",                                      \
      "N4")                                                                    \
    X(N3, "seed#001",                                                          \
      "A write is acknowledged when W replicas have it.",                      \
      "N1")                                                                    \
    X(N4, "seed#001",                                                          \
      "What moves to another replica goes under its own key.",                 \
      "N2")                                                                    \
    X(N3K, "seed#001",                                                         \
      "A key stays until its new replicas have it.",                           \
      "N3")                                                                    \
    X(N5, "seed#001",                                                          \
      "A broker that is told of later is asked, too.",                         \
      "N5")                                                                    \
    X(N6, "seed#001",                                                          \
      "A read is answered when R replicas have what it found.",                \
      "N6")

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
