/* Lists the rules of `explain`: each says from facts of looks why a thing is as it is, and what to do. */
#ifndef SHERD_MGMT_EXPLAIN_H
#define SHERD_MGMT_EXPLAIN_H

#include <sherd/manage.h>

#include "mgmt/api.h"
#include "mgmt/facts.h"

/* The things that can be explained, in the order of EXPLAIN_OF. */
#define EXPLAIN_OF(X) X(NODE, "node") X(SHARD, "shard") X(ENTITY, "entity") X(MESSAGE, "message") X(REBALANCE, "rebalance") X(READY, "ready")

enum explain_of {
#define X(name, text) EXPLAIN_##name,
    EXPLAIN_OF(X)
#undef X
    EXPLAIN_OF_COUNT
};

enum explain_severity { EXPLAIN_CRITICAL, EXPLAIN_WARNING, EXPLAIN_NOTICE };

/* X(rule, of, severity, sentence, cause, remedy). `{...}` stands for a word of the request or of the rule's facts:
 * type, shard, id, node, other, text, since, count, most. */
#define EXPLAIN_RULES(X) \
    X(N1, NODE, CRITICAL, "{node} is in no cluster", "it has no seed nodes, and does not found a cluster alone", \
      "set cluster.seed-nodes, or let it join a member: sherd node join") \
    X(N2, NODE, WARNING, "{node} is in no cluster yet", "it asks its seed nodes {text}", \
      "see whether they run and are reachable, with the same system name and TLS; the first one founds the cluster") \
    X(N3, NODE, NOTICE, "{node} waits for more members", "{count} of at least {most} members are there", \
      "start more members, or lower cluster.min-nr-of-members") \
    X(N4, NODE, WARNING, "{node} is joining, and the members do not agree", \
      "{other} has not seen the last change of the membership", "bring {other} back, or down it") \
    X(N5, NODE, WARNING, "{node} is up in part (WeaklyUp), and hosts nothing", \
      "{other} has not seen the last change of the membership", "bring {other} back, or down it") \
    X(N6, NODE, CRITICAL, "{node} is unreachable", "{other} does not reach it{since}", \
      "see whether its process runs and the network is whole; the split brain resolver decides, or down it") \
    X(N10, NODE, CRITICAL, "lane {count} of {node} is blocked", "it has not ended a turn for {most} s, because a handler blocks", \
      "a handler must not block: make the work a job (sherd/job.h); when it returns, the log of the node names the actor") \
    X(N12, NODE, NOTICE, "{node} is {text}", "an operator said so", "when its work is done: sherd node uncordon {node}") \
    X(N13, NODE, NOTICE, "one entity gets {count} % of the messages of its lane at {node}", "it is {text}", \
      "moving shards does not help: divide its work") \
    X(N14, NODE, NOTICE, "{node} leaves", "{count} shards are left to hand off", "nothing: it ends after the last one") \
    X(S1, SHARD, NOTICE, "shard {shard} of {type} has no home", "no message has used it since the coordinator began", \
      "nothing: the first message gives it one") \
    X(S2, SHARD, CRITICAL, "{type} has no coordinator", "no region has registered with one", \
      "explain the oldest member of the type's role, which hosts the coordinator: sherd explain node") \
    X(S3, SHARD, WARNING, "the coordinator of {type} gives no homes yet", \
      "it waits for {count} members to say what they host", "nothing: the wait is bounded") \
    X(S5, SHARD, CRITICAL, "no region of {type} can take a shard", "{count} regions are registered; all leave or are proxies", \
      "start a member that hosts {type}") \
    X(S7, SHARD, CRITICAL, "the home {node} of shard {shard} is unreachable", "it is not removed, so the shard may run there", \
      "explain that node: bring it back, or down it") \
    X(S8, SHARD, WARNING, "shard {shard} of {type} has not started at {node}", "the coordinator told it, and the shard is not there", \
      "look at {node}; the coordinator tells it again") \
    X(S9, SHARD, WARNING, "shard {shard} of {type} waits at {node} for its fence or lease", "its state is {text}", \
      "look at the journal and the lease's store") \
    X(S10, SHARD, CRITICAL, "{node} lost shard {shard} of {type}: its writes are refused", "another node owns the shard", \
      "nothing: its entities end there") \
    X(S12, SHARD, NOTICE, "shard {shard} of {type} begins to move away from {node}", "regions have not all confirmed to hold its messages", \
      "nothing; if it lasts, look for a slow or silent member") \
    X(S13, SHARD, NOTICE, "shard {shard} of {type} stops at {node}", "{count} markers are owed; then its entities stop", \
      "nothing; if it lasts, an entity does not return SHERD_STOP") \
    X(S14, SHARD, WARNING, "the last hand-off of shard {shard} of {type} failed at {node}{since}", "{text}", \
      "nothing: it is tried again; if it lasts, look at {node}") \
    X(S15, SHARD, NOTICE, "shard {shard} of {type} runs at {node}{since}", "it has {count} entities", "nothing") \
    X(S16, SHARD, NOTICE, "shard {shard} is above the {most} shards of {type}", "it is of an earlier number of shards", \
      "nothing: its entities move to other shards") \
    X(S17, SHARD, CRITICAL, "the home {node} of shard {shard} has a blocked lane", "a lane has not ended a turn for {most} s", \
      "explain that node") \
    X(E1, ENTITY, NOTICE, "{type}/{id} does not run", "it was passivated, or never used", "nothing: the next message starts it") \
    X(E2, ENTITY, NOTICE, "{type}/{id} recovers at {node}", "{count} entities of its lane recover or wait for it", \
      "nothing; if it lasts, look at the journal") \
    X(E3, ENTITY, CRITICAL, "{type}/{id} does not start at {node}", "it failed {count} times: {text}", "see the log of {node}") \
    X(E4, ENTITY, WARNING, "{type}/{id} waits for durability at {node}", "{count} effects wait for {most} events", \
      "look at the journal of {node}") \
    X(E7, ENTITY, NOTICE, "{count} messages wait for {type}/{id} at {node}", "{most} actors of its lane have messages", \
      "if it lasts: its handler is slow, or it gets too many messages (sherd hot)") \
    X(E9, ENTITY, NOTICE, "{type}/{id} stops at {node}", "it has its stop message, and has not ended yet", \
      "if it lasts, the entity does not return SHERD_STOP") \
    X(E10, ENTITY, NOTICE, "{type}/{id} restarts at {node}", "it is remembered, and ended by itself", \
      "nothing: it starts after entity-restart-backoff") \
    X(E11, ENTITY, NOTICE, "{type}/{id} stays at {node} while it is idle", "{count} asks or jobs are open", "nothing") \
    X(M1, MESSAGE, CRITICAL, "no member has the type {type}", "{text}", "correct the name, or register the type") \
    X(M2, MESSAGE, CRITICAL, "the id is too long", "it has {count} bytes of at most {most}", "shorten it") \
    X(M4, MESSAGE, WARNING, "a message to {type}/{id} waits for a home of shard {shard}", "{count} messages of the type wait", \
      "explain the shard") \
    X(M5, MESSAGE, NOTICE, "a message to {type}/{id} is held", "shard {shard} moves away from {node}", "nothing; explain the shard if it lasts") \
    X(M7, MESSAGE, NOTICE, "a message to {type}/{id} is delivered at {node}", "shard {shard} runs there; {count} messages are before it", \
      "nothing") \
    X(M8, MESSAGE, WARNING, "a message of {type} was not delivered at {node}{since}", "{text}", "see the reason") \
    X(M9, MESSAGE, NOTICE, "the coordinator of {type} is the JVM node {node}", "its hand-offs drop messages that wait there", \
      "let a Sherd node be the oldest") \
    X(R1, REBALANCE, NOTICE, "rebalances of {type} are paused", "{text}", "when it is time: sherd rebalance resume {type}") \
    X(R2, REBALANCE, NOTICE, "shards do not move while the membership changes", "{other} is {text}", "explain that node") \
    X(R3, REBALANCE, NOTICE, "shards do not move while versions differ", "{other} has {text}", "finish the roll") \
    X(R4, REBALANCE, NOTICE, "{type} is balanced", "its regions have {count} to {most} shards", "nothing") \
    X(R5, REBALANCE, NOTICE, "shards of {type} move", "{count} hand-offs are open", "nothing") \
    X(R8, REBALANCE, WARNING, "the coordinator of {type} does not act yet", "it waits for {count} members to say what they host", \
      "nothing: the wait is bounded") \
    X(Q1, READY, CRITICAL, "{node} does not run", "its system has ended", "start it again") \
    X(Q2, READY, WARNING, "{node} is no member with a wanted status", "its status is {text}", "explain the node") \
    X(Q3, READY, NOTICE, "{node} leaves, or the cluster ends", "its status is {text}", "nothing") \
    X(Q4, READY, CRITICAL, "a thread of {node} is blocked", "it has not ended a turn for 5 s", \
      "a handler must not block: make the work a job (sherd/job.h)") \
    X(Q5, READY, CRITICAL, "{node} cannot store", "the journal, durable keys or leases fail", "see its log: room, rights, the store") \
    X(Q6, READY, WARNING, "a type of {node} has not registered", "cluster.sharding.healthcheck.names has it", "explain a shard of the type") \
    X(Q8, READY, CRITICAL, "{node} cannot use its TLS files", "they are missing or wrong", "see its log")

enum explain_rule {
#define X(rule, ...) RULE_##rule,
    EXPLAIN_RULES(X)
#undef X
    RULE_COUNT
};

/* The words of a rule beyond those of the request. */
struct explain_words {
    struct slice node, other, text; /* lent by the facts */
    char since[64];                 /* with words before it; or empty */
    char room[256];                 /* for `text` */
    uint64_t count, most;
};

/* A question with its facts. Null or empty facts: not known. */
struct explained {
    const struct api_request *request;
    enum explain_of of;
    const struct facts *facts; /* each kind at most once */
    uint32_t count;
    const char *shard; /* of the shard, entity or message; null: not known */
};

const char *explain_rule_text(enum explain_rule rule);
/* Whether the rule holds. words: zero. */
bool explain_holds(enum explain_rule rule, const struct explained *explained, struct explain_words *words);
/* EXPLAIN_OF_COUNT: none has the name. */
enum explain_of explain_of_named(const char *name);
/* Appends `"problems":[...]`: what rules of nodes and shards say of all members and types. Notices are left out.
 * Returns the worst severity; EXPLAIN_NOTICE: there is none. */
enum explain_severity explain_problems(const struct api_request *request, const struct facts *facts, uint32_t count,
                                       struct buf *body);
uint32_t explain_plan(const struct api_request *request, const struct facts *facts, uint32_t had, struct api_ask *asks);
enum mgmt_error explain_answer(const struct api_request *request, const struct facts *facts, uint32_t count,
                               struct buf *body);

#endif
