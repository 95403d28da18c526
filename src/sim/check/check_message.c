/* Keeps the token table as an array of chunks, in the order of numbers. A chunk whose tokens are
 * all closed keeps two bits for each. */
#include "sim/check/check_message.h"

#include <stdio.h>

#include "base/check.h"
#include "base/vec.h"
#include "sim/check/message_order.h"
#include "sim/check/token.h"

#define CHUNK 1024u
#define TOLD_MAX 8 /* open tokens that are reported after a drain */
#define TEXT_MAX 200
#define TARGET_TEXT_MAX 80
#define NOBODY UINT32_MAX
#define WITHOUT_TOKEN 8 /* replies, timers and job results that wait in a mailbox beside messages */

enum state { OPEN, DELIVERED, ENDED, LOST };

static const char *const state_texts[] = { "open", "delivered", "undelivered",
                                           "lost" };

struct token {
    struct sherd_ref to;
    uint64_t stream;
    uint64_t sent_at;
    uint64_t place; /* the node, or the pipe */
    uint64_t came_by; /* the pipe by which it came there, if any */
    bool in_pipe;
};

struct chunk {
    struct token *tokens; /* null: none of them is open */
    uint32_t open;
    uint8_t states[CHUNK / 4];
};

/* A connection. After its end all that its writer writes is lost. It is freed with its writer. */
struct pipe {
    struct token_pipe passing;
    uint64_t number;
    uint32_t from;
    uint32_t closed_by; /* without a cause; NOBODY */
    bool is_over;
    bool is_broken;
    bool is_orphan; /* its writer's incarnation has ended */
};

/* The connections of a node's incarnations. */
struct writer {
    VEC(uint64_t) pipes;
};

struct node {
    uint64_t delivered;
    uint64_t undelivered[SHERD_REASON_COUNT];
};

struct check_message {
    check_violation *violation;
    void *user;
    const struct check_safety *safety; /* null: no node is outside */
    VEC(struct chunk *) chunks;
    uint32_t oldest_chunk; /* all before it are closed */
    uint64_t next;
    struct message_order order;
    VEC(struct node) nodes;
    VEC(struct pipe *) pipes;    /* by number; null: unknown; control: one without messages */
    VEC(struct writer) writers;  /* by node */
    VEC(uint64_t) cut;           /* tokens of frames that freed pipes got in part */
    struct pipe control;         /* stands for all pipes without messages */
    struct check_message_counts counts;
    uint32_t mailbox_max; /* 0: unknown */
    bool is_quiet;
    bool has_others; /* actors whose messages have no tokens send, too */
};

struct check_message *check_message_new(check_violation *violation, void *user)
{
    struct check_message *check = mem_alloc(sizeof *check);

    check->violation = violation;
    check->user = user;
    return check;
}

static uint32_t count_cut(const struct token_pipe *passing)
{
    return passing->tokens.count - passing->whole;
}

static const struct token_passage *first_cut(const struct token_pipe *passing)
{
    return passing->tokens.items + passing->whole;
}

static void free_pipe(struct check_message *check, struct pipe *pipe)
{
    for (uint32_t i = 0; i < count_cut(&pipe->passing); i++)
        vec_push(&check->cut, first_cut(&pipe->passing)[i].number);
    check->pipes.items[pipe->number] = NULL;
    token_pipe_fini(&pipe->passing);
    mem_free(pipe);
}

void check_message_mailboxes(struct check_message *check, uint32_t most)
{
    check->mailbox_max = most;
}

void check_message_free(struct check_message *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < check->chunks.count; i++) {
        mem_free(check->chunks.items[i]->tokens);
        mem_free(check->chunks.items[i]);
    }
    vec_fini(&check->chunks);
    for (uint32_t i = 0; i < check->pipes.count; i++)
        if (check->pipes.items[i] && check->pipes.items[i] != &check->control)
            free_pipe(check, check->pipes.items[i]);
    vec_fini(&check->pipes);
    for (uint32_t i = 0; i < check->writers.count; i++)
        vec_fini(&check->writers.items[i].pipes);
    vec_fini(&check->writers);
    vec_fini(&check->cut);
    message_order_fini(&check->order);
    vec_fini(&check->nodes);
    mem_free(check);
}

/* ---- the table ---- */

static enum state state_of(const struct check_message *check, uint64_t number)
{
    const struct chunk *chunk = check->chunks.items[number / CHUNK];
    uint32_t at = (uint32_t)(number % CHUNK);

    return (enum state)(chunk->states[at / 4] >> (at % 4 * 2) & 3);
}

static void set_state(struct check_message *check, uint64_t number,
                      enum state state)
{
    struct chunk *chunk = check->chunks.items[number / CHUNK];
    uint32_t at = (uint32_t)(number % CHUNK);
    uint32_t bits = chunk->states[at / 4];

    bits &= ~(3u << (at % 4 * 2));
    chunk->states[at / 4] = (uint8_t)(bits | (uint32_t)state << (at % 4 * 2));
}

/* Null if it is closed. */
static struct token *open_token(const struct check_message *check,
                                uint64_t number)
{
    if (number >= check->next || state_of(check, number) != OPEN)
        return NULL;
    return &check->chunks.items[number / CHUNK]->tokens[number % CHUNK];
}

static void close_token(struct check_message *check, uint64_t number,
                        enum state state)
{
    struct chunk *chunk = check->chunks.items[number / CHUNK];

    set_state(check, number, state);
    check->counts.open--;
    if (--chunk->open || check->next / CHUNK == number / CHUNK)
        return; /* the newest chunk gets more */
    mem_free(chunk->tokens);
    chunk->tokens = NULL;
    while (check->oldest_chunk < check->chunks.count &&
           !check->chunks.items[check->oldest_chunk]->tokens)
        check->oldest_chunk++;
}

/* The first open token from a number on; check->next: none. */
static uint64_t next_open(const struct check_message *check, uint64_t number)
{
    while (number < check->next) {
        if (!check->chunks.items[number / CHUNK]->tokens)
            number = (number / CHUNK + 1) * CHUNK;
        else if (state_of(check, number) != OPEN)
            number++;
        else
            return number;
    }
    return check->next;
}

static uint64_t oldest(const struct check_message *check)
{
    return next_open(check, (uint64_t)check->oldest_chunk * CHUNK);
}

static void lose_token(struct check_message *check, uint64_t number,
                       uint64_t *count)
{
    check->counts.lost_to_entities += open_token(check, number)->to.node == 0;
    close_token(check, number, LOST);
    ++*count;
}

static struct node *node_of(struct check_message *check, uint32_t node)
{
    struct node fresh = { 0 };

    while (check->nodes.count <= node)
        vec_push(&check->nodes, fresh);
    return &check->nodes.items[node];
}

/* ---- reports ---- */

static void target_text(struct sherd_ref to, char *text, size_t size)
{
    if (to.node == 0)
        (void)snprintf(text, size, "entity %u of type %u", (uint32_t)to.actor,
                       (uint32_t)(to.actor >> 32));
    else
        (void)snprintf(text, size, "actor %llx of node %llx",
                       (unsigned long long)to.actor,
                       (unsigned long long)to.node);
}

static void tell(struct check_message *check, const char *invariant,
                 uint32_t node, uint64_t number, const char *what)
{
    const struct token *token = open_token(check, number);
    char to[TARGET_TEXT_MAX] = "";
    char place[TEXT_MAX] = "";
    char text[3 * TEXT_MAX];

    if (token) {
        target_text(token->to, to, sizeof to);
        (void)snprintf(place, sizeof place, " place=\"%s %llu\" sent_at_ms=%llu",
                       token->in_pipe ? "connection" : "node",
                       (unsigned long long)token->place,
                       (unsigned long long)(token->sent_at / 1000000));
    }
    (void)snprintf(text, sizeof text, "message %llu %s%s%s%s%s",
                   (unsigned long long)number, what, token ? " to=\"" : "", to,
                   token ? "\"" : "", place);
    check->violation(check->user, invariant, node, text);
}

static void tell_state(struct check_message *check, const char *invariant,
                       uint32_t node, uint64_t number, const char *what)
{
    char text[TEXT_MAX];

    (void)snprintf(text, sizeof text, "%s, but it is %s", what,
                   number < check->next ? state_texts[state_of(check, number)]
                                        : "not known: nobody sent it");
    tell(check, invariant, node, number, text);
}

/* The open token, if it is at that node; else reports the fault and returns null. */
static struct token *token_at(struct check_message *check, uint32_t node,
                              uint64_t number, const char *what)
{
    struct token *token = open_token(check, number);

    if (!token)
        tell_state(check, "message-accounting", node, number, what);
    else if (token->in_pipe || token->place != node)
        tell(check, "message-accounting", node, number, what);
    else
        return token;
    return NULL;
}

/* ---- order ---- */

void check_message_safety(struct check_message *check,
                          const struct check_safety *safety)
{
    check->safety = safety;
}

static void in_order(struct check_message *check, uint32_t node,
                     uint64_t number, const struct token *token)
{
    uint64_t later;
    char text[TEXT_MAX];

    /* A downed node may still read older messages than the survivors have read. */
    if (!token->stream || (check->safety && check->safety->outside[node]))
        return;
    if (message_order_is_full(&check->order))
        message_order_sweep(&check->order, oldest(check));
    if (message_order_take(&check->order, token->stream, token->to, number,
                           &later))
        return;
    (void)snprintf(text, sizeof text,
                   "is delivered after %llu, which was sent later on stream %llx",
                   (unsigned long long)later,
                   (unsigned long long)token->stream);
    tell(check, "message-order", node, number, text);
}

/* ---- facts ---- */

uint64_t check_message_sent(struct check_message *check, uint64_t now,
                            uint32_t node, uint64_t stream, struct sherd_ref to)
{
    uint64_t number = check->next++;
    struct chunk *chunk;

    if (number / CHUNK == check->chunks.count) {
        chunk = mem_alloc(sizeof *chunk);
        vec_push(&check->chunks, chunk);
    }
    chunk = check->chunks.items[number / CHUNK];
    if (!chunk->tokens)
        chunk->tokens = mem_alloc(CHUNK * sizeof *chunk->tokens);
    chunk->tokens[number % CHUNK] = (struct token){
        .to = to, .stream = stream, .sent_at = now, .place = node
    };
    chunk->open++;
    check->counts.sent++;
    check->counts.open++;
    return number;
}

/* The open token of the receiver at that node; null: reported. */
static struct token *token_for(struct check_message *check, uint32_t node,
                               uint64_t number, struct sherd_ref receiver)
{
    struct token *token = token_at(check, node, number, "is delivered");
    char text[TEXT_MAX];
    char who[TARGET_TEXT_MAX];

    if (token && (token->to.node != receiver.node ||
                  token->to.actor != receiver.actor)) {
        target_text(receiver, who, sizeof who);
        (void)snprintf(text, sizeof text, "is delivered to %s", who);
        tell(check, "right-receiver", node, number, text);
    }
    return token;
}

void check_message_delivered(struct check_message *check, uint32_t node,
                             uint64_t number, struct sherd_ref receiver)
{
    struct token *token;

    if (number < check->next && state_of(check, number) == DELIVERED) {
        tell(check, "at-most-once", node, number, "is delivered twice");
        return;
    }
    token = token_for(check, node, number, receiver);
    if (!token)
        return;
    in_order(check, node, number, token);
    close_token(check, number, DELIVERED);
    check->counts.delivered++;
    node_of(check, node)->delivered++;
}

void check_message_passed(struct check_message *check, uint32_t node,
                          uint64_t number, struct sherd_ref receiver,
                          struct sherd_ref to)
{
    struct token *token = token_for(check, node, number, receiver);

    if (!token)
        return;
    in_order(check, node, number, token);
    token->to = to;
    token->stream = 0;
    node_of(check, node)->delivered++; /* as the node counts it */
}

/* The open messages for that entity at the node. */
static uint32_t waiting_for(const struct check_message *check, uint32_t node,
                            struct sherd_ref to)
{
    uint32_t count = 0;

    for (uint64_t number = (uint64_t)check->oldest_chunk * CHUNK;
         number < check->next; number++) {
        const struct token *token = open_token(check, number);

        count += token && !token->in_pipe && token->place == node &&
                 token->to.node == to.node && token->to.actor == to.actor;
    }
    return count;
}

/* A mailbox is full with that many messages, some perhaps without a token. */
static void judge_full(struct check_message *check, uint32_t node,
                       uint64_t number)
{
    struct sherd_ref to = open_token(check, number)->to;
    uint32_t waiting;
    char text[TEXT_MAX];

    if (to.node || check->mailbox_max < 2 * WITHOUT_TOKEN)
        return;
    waiting = waiting_for(check, node, to);
    (void)snprintf(text, sizeof text,
                   "ends because a mailbox is full, of whose entity %u wait, "
                   "and %u may",
                   waiting, check->mailbox_max);
    if (waiting + WITHOUT_TOKEN < check->mailbox_max / 2)
        tell(check, "message-accounting", node, number, text);
}

static struct pipe *pipe_of(const struct check_message *check, uint64_t number)
{
    return number < check->pipes.count ? check->pipes.items[number] : NULL;
}

/* Whether its sender's incarnation, which wrote it to the home of that time, has ended and cannot
 * learn of a move. */
static bool is_last_word(const struct check_message *check, uint64_t number)
{
    const struct pipe *pipe =
        pipe_of(check, open_token(check, number)->came_by);

    return pipe && pipe->is_orphan;
}

static void ended(struct check_message *check, uint32_t node, uint64_t number,
                  enum sherd_reason reason)
{
    char text[TEXT_MAX];

    if (reason == SHERD_REASON_HANDLER_FAILED && number < check->next &&
        state_of(check, number) == DELIVERED) {
        set_state(check, number, ENDED);
        check->counts.delivered--;
        node_of(check, node)->delivered--;
    } else {
        (void)snprintf(text, sizeof text, "ends undelivered (%s)",
                       sherd_reason_text(reason));
        if (!token_at(check, node, number, text))
            return;
        if (reason == SHERD_REASON_MAILBOX_FULL)
            judge_full(check, node, number);
        check->counts.last_words_moved +=
            reason == SHERD_REASON_HANDED_OFF && is_last_word(check, number);
        close_token(check, number, ENDED);
    }
    check->counts.undelivered[reason]++;
    check->counts.undelivered_total++;
    node_of(check, node)->undelivered[reason]++;
}

void check_message_ended(struct check_message *check, uint32_t node,
                         struct slice bytes, enum sherd_reason reason)
{
    uint64_t number;

    for (size_t at = 0; token_next(bytes, &at, &number);)
        ended(check, node, number, reason);
}

/* Whether a connection got the token in an incomplete frame. The reader may have the token then,
 * but the message counts as not written. */
static bool was_cut(const struct check_message *check, uint64_t number)
{
    for (uint32_t i = 0; i < check->cut.count; i++)
        if (check->cut.items[i] == number)
            return true;
    for (uint32_t i = 0; i < check->pipes.count; i++) {
        const struct pipe *pipe = check->pipes.items[i];

        if (!pipe)
            continue;
        for (uint32_t j = 0; j < count_cut(&pipe->passing); j++)
            if (first_cut(&pipe->passing)[j].number == number)
                return true;
    }
    return false;
}

static void lose_by(struct check_message *check, const struct pipe *pipe,
                    uint32_t node, uint64_t number)
{
    if (pipe->closed_by != NOBODY)
        tell(check, "message-accounting", pipe->closed_by, number,
             "is lost in a connection that the node closed for no reason");
    else if (check->is_quiet && !pipe->is_broken)
        tell(check, "message-accounting", node, number,
             "is lost in the quiet, in a connection that nothing was done to");
    lose_token(check, number, &check->counts.lost_in_connection);
}

void check_message_dropped(struct check_message *check, uint32_t node,
                           struct slice bytes)
{
    uint64_t number;
    const struct pipe *pipe;

    for (size_t at = 0; token_next(bytes, &at, &number);) {
        struct token *token = open_token(check, number);

        /* A token of an incomplete frame ends with the connection. */
        if (token ? token->in_pipe
                  : number < check->next && state_of(check, number) == LOST)
            continue;
        if ((!token || token->place != node) && was_cut(check, number))
            continue;
        if (!token_at(check, node, number, "is dropped with its connection"))
            continue;
        pipe = pipe_of(check, token->came_by);
        if (pipe && pipe != &check->control)
            lose_by(check, pipe, node, number);
        else
            lose_token(check, number, &check->counts.lost_in_connection);
    }
}

/* ---- connections ---- */

/* The token, if it is in that connection. A token that was written twice was reported. */
static struct token *token_in(struct check_message *check, uint64_t pipe,
                              uint64_t number)
{
    struct token *token = open_token(check, number);

    return token && token->in_pipe && token->place == pipe ? token : NULL;
}

static void lose(struct check_message *check, struct pipe *pipe)
{
    uint64_t number;

    while (token_pipe_lost(&pipe->passing, &number)) {
        if (token_in(check, pipe->number, number))
            lose_by(check, pipe, pipe->from, number);
    }
}

static struct pipe *add_pipe(struct check_message *check, uint64_t number,
                             uint32_t from)
{
    struct pipe *pipe = mem_alloc(sizeof *pipe);
    struct writer nobody = { 0 };

    pipe->number = number;
    pipe->from = from;
    pipe->closed_by = NOBODY;
    while (check->pipes.count <= number)
        vec_push(&check->pipes, NULL);
    check->pipes.items[number] = pipe;
    while (check->writers.count <= from)
        vec_push(&check->writers, nobody);
    vec_push(&check->writers.items[from].pipes, number);
    return pipe;
}

void check_message_written(struct check_message *check, uint64_t number,
                           uint32_t from, struct slice bytes)
{
    struct pipe *pipe = pipe_of(check, number);
    uint64_t left;

    if (pipe == &check->control)
        return;
    if (!pipe)
        pipe = add_pipe(check, number, from);
    token_pipe_written(&pipe->passing, bytes);
    if (pipe->passing.is_control) {
        free_pipe(check, pipe);
        check->pipes.items[number] = &check->control;
        return;
    }
    while (token_pipe_left(&pipe->passing, &left)) {
        struct token *token = token_at(check, from, left, "is written");

        if (!token)
            continue;
        token->in_pipe = true;
        token->place = number;
    }
    if (pipe->is_over)
        lose(check, pipe);
}

void check_message_arrived(struct check_message *check, uint64_t number,
                           uint32_t to, size_t size)
{
    struct pipe *pipe = pipe_of(check, number);
    uint64_t came;

    if (!pipe || pipe == &check->control)
        return;
    token_pipe_arrived(&pipe->passing, size);
    while (token_pipe_came(&pipe->passing, &came)) {
        struct token *token = token_in(check, number, came);

        if (!token)
            continue;
        token->in_pipe = false;
        token->place = to;
        token->came_by = number;
    }
}

void check_message_pipe_closed(struct check_message *check, uint64_t number,
                               uint32_t node)
{
    struct pipe *pipe = pipe_of(check, number);

    if (pipe && pipe != &check->control)
        pipe->closed_by = node;
}

void check_message_pipe_ended(struct check_message *check, uint64_t number,
                              bool broken)
{
    struct pipe *pipe = pipe_of(check, number);

    if (!pipe || pipe == &check->control)
        return;
    pipe->is_over = true;
    pipe->is_broken = broken;
    lose(check, pipe);
}

/* ---- nodes ---- */

static void free_pipes_of(struct check_message *check, uint32_t node)
{
    struct writer *writer;
    uint32_t kept = 0;

    if (node >= check->writers.count)
        return;
    writer = &check->writers.items[node];
    for (uint32_t i = 0; i < writer->pipes.count; i++) {
        uint64_t number = writer->pipes.items[i];
        struct pipe *pipe = pipe_of(check, number);

        if (!pipe || pipe == &check->control)
            continue;
        if (pipe->is_over)
            free_pipe(check, pipe);
        else
            writer->pipes.items[kept++] = number;
    }
    writer->pipes.count = kept;
}

void check_message_node_started(struct check_message *check, uint32_t node)
{
    *node_of(check, node) = (struct node){ 0 };
    free_pipes_of(check, node); /* of its former incarnation */
}

static void orphan_pipes_of(struct check_message *check, uint32_t node)
{
    if (node >= check->writers.count)
        return;
    for (uint32_t i = 0; i < check->writers.items[node].pipes.count; i++) {
        struct pipe *pipe =
            pipe_of(check, check->writers.items[node].pipes.items[i]);

        if (pipe && pipe != &check->control)
            pipe->is_orphan = true;
    }
}

void check_message_node_ended(struct check_message *check, uint32_t node,
                              enum check_end end)
{
    orphan_pipes_of(check, node);
    for (uint64_t number = oldest(check); number < check->next;
         number = next_open(check, number + 1)) {
        const struct token *token = open_token(check, number);

        if (token->in_pipe || token->place != node)
            continue;
        if (end == CHECK_LEFT)
            tell(check, "message-accounting", node, number,
                 "is left behind by its node, which ended gracefully");
        lose_token(check, number,
                   end == CHECK_LEFT ? &check->counts.left_behind
                                     : &check->counts.lost_with_node);
    }
}

/* ---- questions ---- */

uint64_t check_message_drained(struct check_message *check)
{
    uint32_t told = 0;

    for (uint64_t number = oldest(check);
         told < TOLD_MAX && number < check->next;
         number = next_open(check, number + 1)) {
        const struct token *token = open_token(check, number);

        tell(check, "message-accounting", token->in_pipe ? 0 : (uint32_t)token->place, number,
             "is still open after the drain");
        told++;
    }
    return check->counts.open;
}

void check_message_quiet(struct check_message *check, bool on)
{
    check->is_quiet = on;
}

void check_message_others(struct check_message *check)
{
    check->has_others = true;
}

static bool is_count(const struct check_message *check, uint64_t told,
                     uint64_t counted)
{
    return check->has_others ? told >= counted : told == counted;
}

void check_message_status(struct check_message *check, uint32_t node,
                          const struct sherd_status *status)
{
    const struct node *counted = node_of(check, node);
    char text[TEXT_MAX];

    if (!is_count(check, status->delivered, counted->delivered)) {
        (void)snprintf(text, sizeof text,
                       "the node counts %llu messages as delivered, there were %llu",
                       (unsigned long long)status->delivered,
                       (unsigned long long)counted->delivered);
        check->violation(check->user, "message-accounting", node, text);
    }
    for (uint32_t i = 0; i < SHERD_REASON_COUNT; i++) {
        /* A dropped link also counts frames, its own requests and markers, and its node hears of
         * that a turn later. */
        if (i == SHERD_REASON_LINK_LOST ||
            is_count(check, status->undelivered[i], counted->undelivered[i]))
            continue;
        (void)snprintf(text, sizeof text,
                       "the node counts %llu undelivered messages (%s), there were %llu",
                       (unsigned long long)status->undelivered[i],
                       sherd_reason_text((enum sherd_reason)i),
                       (unsigned long long)counted->undelivered[i]);
        check->violation(check->user, "message-accounting", node, text);
    }
}

struct check_message_counts check_message_counts(const struct check_message *check)
{
    return check->counts;
}

bool check_message_never_left(const struct check_message *check,
                              uint64_t number)
{
    const struct token *token = open_token(check, number);

    return token && !token->in_pipe && !token->came_by;
}

bool check_message_oldest(const struct check_message *check, uint64_t now,
                          char *text, size_t size)
{
    uint64_t number = oldest(check);
    const struct token *token;
    char to[TARGET_TEXT_MAX];

    if (number == check->next)
        return false;
    token = open_token(check, number);
    target_text(token->to, to, sizeof to);
    (void)snprintf(text, size, "message %llu to %s at %s %llu for %llu ms",
                   (unsigned long long)number, to,
                   token->in_pipe ? "connection" : "node",
                   (unsigned long long)token->place,
                   (unsigned long long)((now - token->sent_at) / 1000000));
    return true;
}

size_t check_message_memory(const struct check_message *check)
{
    size_t size = check->chunks.count * sizeof(struct chunk) +
                  message_order_memory(&check->order);

    for (uint32_t i = check->oldest_chunk; i < check->chunks.count; i++)
        if (check->chunks.items[i]->tokens)
            size += CHUNK * sizeof(struct token);
    return size;
}
