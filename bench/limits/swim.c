/* Simulates SWIM (Das, Gupta, Motivala 2002) with suspicion, and the extensions of Lifeguard
 * (Dadgar, Phillips, Currey 2017). With these, a node that gets no answers or has to refute a
 * suspicion waits longer for answers; a suspicion that few nodes share lasts longer; and a ping
 * tells a suspected node about the suspicion. Settings are those of the second paper: a period of 1
 * s, 0.5 s for the direct answer, three helpers, 5 log10 N periods of suspicion. No message is
 * lost; only nodes are slow. */
#include "limits.h"

#include <math.h>

#include "../slow.h"

#define PERIOD (1000 * SLOW_MS)
#define DIRECT (500 * SLOW_MS)
#define SPREAD (200 * SLOW_MS) /* between two rounds of gossip */
#define HELPERS 3
#define FANOUT 3
#define UPDATES 8     /* largest number in a message */
#define LONGER 6      /* factor for a suspicion that no node shares: Lifeguard's beta */
#define SHARED 3      /* number of nodes that reduce the factor to 1 */
#define HEALTH_MAX 8

enum status { ALIVE, SUSPECT, DEAD };
enum kind { TICK, INDIRECT, GOSSIP, EXPIRE, PING, ASK, ACK, NEWS };

struct update {
    uint16_t node, from; /* from: the node that suspects */
    uint16_t status;
    uint32_t incarnation;
};

struct event {
    uint64_t at, order;
    enum kind kind;
    /* about: the node that a helper pings, or that asked; EXPIRE: the suspected node */
    uint16_t to, from, about;
    uint32_t number;          /* number of the probe or of the suspicion */
    uint32_t count;
    struct update updates[UPDATES];
};

struct view {
    enum status status;
    uint32_t incarnation;
    uint32_t number; /* number of the suspicion */
    uint32_t left;   /* messages that will still carry the update */
    uint64_t since;
    uint32_t shared;
    uint16_t sharers[SHARED];
    uint16_t told_by; /* the node that suspects, in the update */
};

struct node {
    struct view *views;
    uint16_t *order; /* the order in which it probes the others */
    uint32_t next;
    uint32_t incarnation;
    uint32_t number;
    uint16_t probed;
    bool is_answered;
    uint32_t health; /* 0: good */
};

struct swim {
    const struct slow *slow;
    struct node *nodes;
    struct event *heap;
    uint32_t count, capacity;
    uint64_t order, now, random;
    uint32_t limit; /* number of messages that carry an update */
    bool has_health;
    struct doubts *doubts;
};

static uint32_t below(struct swim *swim, uint32_t limit)
{
    return (uint32_t)((bench_random(&swim->random) >> 11) % limit);
}

/* ---- events ---- */

static bool is_before(const struct event *left, const struct event *right)
{
    return left->at != right->at ? left->at < right->at
                                 : left->order < right->order;
}

static void put(struct swim *swim, struct event event)
{
    uint32_t at = swim->count++;

    event.order = swim->order++;
    if (swim->count > swim->capacity) {
        swim->capacity = swim->count * 2;
        swim->heap = realloc(swim->heap, swim->capacity * sizeof event);
    }
    for (; at && is_before(&event, &swim->heap[(at - 1) / 2]); at = (at - 1) / 2)
        swim->heap[at] = swim->heap[(at - 1) / 2];
    swim->heap[at] = event;
}

static struct event take(struct swim *swim)
{
    struct event first = swim->heap[0], last = swim->heap[--swim->count];
    uint32_t at = 0, child;

    while ((child = 2 * at + 1) < swim->count) {
        child += child + 1 < swim->count &&
                 is_before(&swim->heap[child + 1], &swim->heap[child]);
        if (!is_before(&swim->heap[child], &last))
            break;
        swim->heap[at] = swim->heap[child];
        at = child;
    }
    swim->heap[at] = last;
    return first;
}

static void timer(struct swim *swim, uint16_t node, enum kind kind,
                  uint64_t after, uint16_t about, uint32_t number)
{
    put(swim, (struct event){ .at = swim->now + after, .kind = kind, .to = node,
                              .from = node, .about = about, .number = number });
}

/* ---- updates ---- */

/* Puts the updates that were sent least into the message. */
static void fill(struct swim *swim, struct node *node, struct event *event)
{
    for (uint32_t left = swim->limit; left && event->count < UPDATES; left--)
        for (uint32_t i = 0; i < swim->slow->nodes && event->count < UPDATES; i++) {
            struct view *view = &node->views[i];

            if (view->left != left)
                continue;
            view->left--;
            event->updates[event->count++] =
                (struct update){ (uint16_t)i, view->told_by,
                                 (uint16_t)view->status, view->incarnation };
        }
}

static void send(struct swim *swim, uint16_t from, uint16_t to, enum kind kind,
                 uint16_t about, uint32_t number)
{
    uint64_t leaves = slow_until(swim->slow, from, swim->now);
    struct event event = { .at = leaves + SLOW_MS / 20 + below(swim, SLOW_MS),
                           .kind = kind, .to = to, .from = from,
                           .about = about, .number = number };

    fill(swim, &swim->nodes[from], &event);
    put(swim, event);
}

static uint64_t suspicion(const struct swim *swim, uint32_t shared)
{
    double least = 5 * fmax(1, log10(swim->slow->nodes)) * PERIOD;
    double most = LONGER * least;

    if (!swim->has_health)
        return (uint64_t)least;
    return (uint64_t)fmax(least, most - (most - least) * log(shared + 1) / log(SHARED + 1));
}

static void bad(struct swim *swim, struct node *node)
{
    node->health += swim->has_health && node->health < HEALTH_MAX;
}

/* With Lifeguard, a suspicion becomes shorter when another node shares it. */
static void share(struct swim *swim, uint16_t by, const struct update *update)
{
    struct view *view = &swim->nodes[by].views[update->node];
    uint64_t ends;

    if (!swim->has_health || view->shared == SHARED || update->from == view->told_by)
        return;
    for (uint32_t i = 0; i < view->shared; i++)
        if (view->sharers[i] == update->from)
            return;
    view->sharers[view->shared++] = update->from;
    view->left = swim->limit;
    ends = view->since + suspicion(swim, view->shared);
    timer(swim, by, EXPIRE, ends > swim->now ? ends - swim->now : 0,
          update->node, ++view->number);
}

static void set(struct swim *swim, uint16_t by, const struct update *update)
{
    struct view *view = &swim->nodes[by].views[update->node];

    if (update->status == DEAD)
        doubt_begins(swim->doubts, by, update->node, swim->now);
    else if (update->status == ALIVE)
        doubt_ends(swim->doubts, by, update->node, swim->now);
    *view = (struct view){ .status = update->status,
                           .incarnation = update->incarnation,
                           .number = view->number + 1,
                           .left = swim->limit,
                           .since = swim->now,
                           .told_by = update->from };
    if (update->status == SUSPECT)
        timer(swim, by, EXPIRE, suspicion(swim, 0), update->node, view->number);
}

static void refute(struct swim *swim, uint16_t self, const struct update *update)
{
    struct node *node = &swim->nodes[self];

    if (update->status == ALIVE || update->incarnation < node->incarnation)
        return;
    node->incarnation = update->incarnation + 1;
    bad(swim, node);
    set(swim, self, &(struct update){ self, self, ALIVE, node->incarnation });
}

static void hear(struct swim *swim, uint16_t by, const struct update *update)
{
    const struct view *view = &swim->nodes[by].views[update->node];
    bool is_newer = update->incarnation > view->incarnation;

    if (update->node == by)
        refute(swim, by, update);
    else if (update->status == SUSPECT && view->status == SUSPECT && !is_newer)
        share(swim, by, update);
    else if (is_newer || (update->incarnation == view->incarnation &&
                          update->status > view->status))
        set(swim, by, update);
}

/* ---- nodes ---- */

static uint16_t other(struct swim *swim, uint16_t self)
{
    uint32_t node = below(swim, swim->slow->nodes - 1);

    return (uint16_t)(node + (node >= self));
}

/* Chooses the next node to probe: each of the others once in a random order, then in a new
 * order. */
static uint16_t next_probed(struct swim *swim, struct node *node)
{
    uint32_t others = swim->slow->nodes - 1;
    uint32_t with = node->next + below(swim, others - node->next);
    uint16_t probed = node->order[with];

    node->order[with] = node->order[node->next];
    node->order[node->next] = probed;
    node->next = (node->next + 1) % others;
    return probed;
}

static void tick(struct swim *swim, uint16_t self)
{
    struct node *node = &swim->nodes[self];
    uint32_t longer;

    if (node->number && !node->is_answered) {
        const struct view *view = &node->views[node->probed];

        bad(swim, node);
        if (view->status != DEAD)
            hear(swim, self, &(struct update){ node->probed, self, SUSPECT, view->incarnation });
    } else {
        node->health -= node->health > 0;
    }
    node->number++;
    node->is_answered = false;
    longer = node->health + 1;
    node->probed = next_probed(swim, node);
    /* A ping tells a suspected node about the suspicion: Lifeguard's buddy system. */
    if (node->views[node->probed].status == SUSPECT)
        node->views[node->probed].left += swim->has_health;
    if (node->views[node->probed].left > swim->limit)
        node->views[node->probed].left = swim->limit;
    send(swim, self, node->probed, PING, self, node->number);
    timer(swim, self, INDIRECT, longer * DIRECT, 0, node->number);
    timer(swim, self, TICK, longer * PERIOD, 0, 0);
}

static void gossip(struct swim *swim, uint16_t self)
{
    bool has_news = false;

    for (uint32_t i = 0; i < swim->slow->nodes; i++)
        has_news |= swim->nodes[self].views[i].left != 0;
    for (uint32_t i = 0; has_news && i < FANOUT; i++)
        send(swim, self, other(swim, self), NEWS, 0, 0);
    timer(swim, self, GOSSIP, SPREAD, 0, 0);
}

static void act(struct swim *swim, const struct event *event)
{
    struct node *node = &swim->nodes[event->to];
    struct view *view = &node->views[event->about];

    for (uint32_t i = 0; i < event->count; i++)
        hear(swim, event->to, &event->updates[i]);
    switch (event->kind) {
    case TICK:
        tick(swim, event->to);
        break;
    case GOSSIP:
        gossip(swim, event->to);
        break;
    case INDIRECT:
        for (uint32_t i = 0; event->number == node->number && !node->is_answered && i < HELPERS; i++)
            send(swim, event->to, other(swim, event->to), ASK, node->probed, event->number);
        break;
    case EXPIRE:
        if (view->status == SUSPECT && view->number == event->number)
            set(swim, event->to, &(struct update){ event->about, event->to, DEAD, view->incarnation });
        break;
    case ASK: /* the answer goes directly to the asking node, because no message is lost here */
        if (event->about != event->to)
            send(swim, event->to, event->about, PING, event->from, event->number);
        break;
    case PING:
        send(swim, event->to, event->about, ACK, 0, event->number);
        break;
    case ACK:
        node->is_answered |= event->number == node->number && event->from == node->probed;
        break;
    case NEWS:
        break;
    }
}

static void open(struct swim *swim)
{
    uint32_t count = swim->slow->nodes;

    swim->limit = (uint32_t)ceil(4 * log10(count + 1));
    swim->nodes = calloc(count, sizeof *swim->nodes);
    for (uint32_t i = 0; i < count; i++) {
        struct node *node = &swim->nodes[i];

        node->views = calloc(count, sizeof *node->views);
        node->order = calloc(count, sizeof *node->order);
        for (uint32_t k = 0; k < count - 1; k++)
            node->order[k] = (uint16_t)(k + (k >= i));
        timer(swim, (uint16_t)i, TICK, below(swim, PERIOD), 0, 0);
        timer(swim, (uint16_t)i, GOSSIP, below(swim, SPREAD), 0, 0);
    }
}

void limit_swim(const struct slow *slow, uint64_t seed, int has_health,
                uint64_t length, struct doubts *doubts)
{
    struct swim swim = { .slow = slow,
                         .has_health = has_health,
                         .doubts = doubts,
                         .now = 1,
                         .random = seed * UINT64_C(0x9e3779b97f4a7c15) };

    open(&swim);
    while (swim.heap[0].at < length) {
        struct event event = take(&swim);
        uint64_t until = slow_until(slow, event.to, event.at);
        bool is_timer = event.kind <= EXPIRE;

        swim.now = event.at;
        if (until > event.at && !(slow->is_cut && is_timer)) {
            event.at = until; /* events keep their order */
            put(&swim, event);
            continue;
        }
        act(&swim, &event);
    }
    doubts_end(doubts, length);
    for (uint32_t i = 0; i < slow->nodes; i++) {
        free(swim.nodes[i].views);
        free(swim.nodes[i].order);
    }
    free(swim.nodes);
    free(swim.heap);
}
