/* Implements the laboratory of lab.h. */
#include "lab.h"

#include "actor/cluster.h"

#include <sherd/shutdown.h>

#include <stdio.h>

struct lab lab;

struct puppet {
    char name[16];
    uint32_t events;
    uint32_t sum;
    bool known; /* counted in lab.alive */
};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    size_t size = strlen(lab.log);
    va_list arguments;

    if (lab.quiet || size > sizeof lab.log - 256)
        return;
    va_start(arguments, format);
    vsnprintf(lab.log + size, sizeof lab.log - size, format, arguments);
    va_end(arguments);
}

static struct sherd_bytes filler(uint32_t size)
{
    static char zeros[SHERD_BODY_MAX + 8];

    return (struct sherd_bytes){ zeros, size };
}

/* A job that doubles a number. */
struct doubled {
    uint64_t number;
    uint32_t reply;
};

static void double_it(void *arg)
{
    struct doubled *doubled = arg;

    doubled->number *= 2;
}

static void release_arg(void *arg)
{
    lab.args--;
    free(arg);
}

static void start_job(struct sherd_ctx *ctx, const struct order *order)
{
    const struct sherd_job job = { "double", double_it, release_arg };
    struct doubled *doubled = malloc(sizeof *doubled);

    lab.args++;
    doubled->number = order->ms;
    doubled->reply = order->msg;
    lab.refused += sherd_job_start(ctx, &job, doubled, order->tag) != 0;
}

static enum sherd_next obey(struct sherd_ctx *ctx, struct sherd_bytes body)
{
    struct order order;
    enum sherd_next next = SHERD_CONTINUE;

    for (size_t at = 0; at + sizeof order <= body.size; at += sizeof order) {
        memcpy(&order, (const char *)body.data + at, sizeof order);
        switch (order.op) {
        case DO_NOTHING:
            break;
        case DO_TELL:
            sherd_tell(ctx, order.ref, order.msg, filler(order.size));
            break;
        case DO_SELF_TELL:
            sherd_tell(ctx, sherd_self(ctx), order.msg, filler(order.size));
            break;
        case DO_SHOW:
            lab.last = sherd_self(ctx);
            break;
        case DO_ENTITY_TELL:
            sherd_entity_tell(ctx, order.type, order.id, order.msg,
                              filler(order.size));
            break;
        case DO_ASK:
            sherd_ask(ctx, order.ref, order.msg, filler(order.size), order.tag,
                      order.ms);
            break;
        case DO_ENTITY_ASK:
            sherd_entity_ask(ctx, order.type, order.id, order.msg,
                             filler(order.size), order.tag, order.ms);
            break;
        case DO_REPLY:
            sherd_reply(ctx, order.msg, filler(order.size));
            break;
        case DO_FORWARD:
            sherd_forward(ctx, order.ref);
            break;
        case DO_TIMER:
            sherd_timer(ctx, order.tag, order.ms);
            break;
        case DO_CANCEL:
            sherd_timer_cancel(ctx, order.tag);
            break;
        case DO_WATCH:
            sherd_watch(ctx, order.ref);
            break;
        case DO_UNWATCH:
            sherd_unwatch(ctx, order.ref);
            break;
        case DO_STOP:
            sherd_stop(ctx, order.ref);
            break;
        case DO_SELF_STOP:
            next = SHERD_STOP;
            break;
        case DO_FAIL:
            next = SHERD_FAIL;
            break;
        case DO_PASSIVATE:
            sherd_passivate(ctx);
            break;
        case DO_BYTES:
            sherd_entity_bytes(ctx, order.ms);
            break;
        case DO_PERSIST:
            sherd_persist(ctx, order.msg, filler((uint32_t)order.ms));
            break;
        case DO_SPAWN:
            lab.last = sherd_spawn(
                ctx, &puppet,
                (struct sherd_bytes){ order.id, strlen(order.id) });
            break;
        case DO_SUBSCRIBE:
            assert_int_equal(
                sherd_cluster_subscribe(ctx, order.msg,
                                        (enum sherd_cluster_first)order.tag),
                (int)order.ms);
            break;
        case DO_UNSUBSCRIBE:
            sherd_cluster_unsubscribe(ctx, order.msg);
            break;
        case DO_JOB:
            start_job(ctx, &order);
            break;
        }
    }
    return next;
}

/* "a~{b up} ": a change; "a[{..}{..}] " a state, "a[..+ " a part of it. */
static void say_events(const char *name, const struct sherd_msg *msg)
{
    struct sherd_cluster_event event;
    size_t at = 0;

    say("%s%s", name, msg->msg == SHERD_CLUSTER_CHANGE ? "~" : "[");
    while (sherd_cluster_next(msg, &at, &event))
        say("{%s%s%s %s%s%s}", event.member.address,
            event.member.self ? "=" : "",
            !event.member.reachable ? "?" : event.member.seen ? "!" : "",
            sherd_cluster_event_text(event.kind), event.role[0] ? " " : "",
            event.role);
    if (msg->msg == SHERD_CLUSTER_STATE)
        say("+");
    say(msg->msg == SHERD_CLUSTER_STATE_END ? "] " : " ");
}

/* msg: 1 obey; 50..59 reply with msg + 100; 60 stop; 61 fail; 62 forward to lab.last, which
 * replies; 63 start a job whose end is replied with 163; 64 keep the question, then reply in vain;
 * 65 answer it with 164; 99 stop message. */
static enum sherd_next puppet_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct puppet *state = self;
    const struct doubled *doubled;

    if (!state->known) {
        state->known = true;
        lab.alive++;
    }
    if (msg->kind == SHERD_STARTED && state->name[0] == 0) {
        struct sherd_bytes id = sherd_id(ctx);

        if (id.size == 0)
            id = msg->body;
        if (id.size)
            memcpy(state->name, id.data, id.size < 15 ? id.size : 15);
    }
    switch (msg->kind) {
    case SHERD_MESSAGE:
        lab.received++;
        say("%s.%u ", state->name, msg->msg);
        break;
    case SHERD_STARTED:
        say("%s+ ", state->name);
        if (sherd_id(ctx).size)
            return lab.on_started;
        break;
    case SHERD_STOPPING:
        say("%s- ", state->name);
        break;
    case SHERD_TIMER:
        say("%s@%u ", state->name, msg->tag);
        break;
    case SHERD_ANSWER:
        lab.received++;
        say("%s=%u:%u ", state->name, msg->tag, msg->msg);
        break;
    case SHERD_NO_ANSWER:
        say("%s!%u:%d:%d%s ", state->name, msg->tag, msg->reason, msg->stage,
            msg->where);
        break;
    case SHERD_UNDELIVERED:
        say("%s?%u:%d ", state->name, msg->msg, msg->reason);
        break;
    case SHERD_TERMINATED:
        say("%s# ", state->name);
        break;
    case SHERD_SHUTDOWN:
    case SHERD_DATA:
        say("%s_%s ", state->name,
            sherd_phase_text((enum sherd_phase)msg->msg));
        break;
    case SHERD_DELIVERY:
        break;
    case SHERD_JOB:
        doubled = sherd_job_arg(msg);
        say("%s*%u:%u ", state->name, msg->tag, (unsigned)doubled->number);
        if (doubled->reply)
            sherd_reply(ctx, doubled->reply, (struct sherd_bytes){ 0 });
        break;
    case SHERD_CLUSTER:
        say_events(state->name, msg);
        break;
    }
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == 1)
        return obey(ctx, msg->body);
    if (msg->msg >= 50 && msg->msg < 60)
        sherd_reply(ctx, msg->msg + 100, (struct sherd_bytes){ 0 });
    if (msg->msg == 62) {
        struct sherd_ref me = sherd_self(ctx);

        if (me.actor != lab.last.actor)
            sherd_forward(ctx, lab.last);
        sherd_reply(ctx, 162, (struct sherd_bytes){ 0 });
    }
    if (msg->msg == 63)
        start_job(ctx, &(struct order){ DO_JOB, 163, 63, .ms = 21 });
    if (msg->msg == 64) {
        lab.question = sherd_reply_later(ctx);
        sherd_reply(ctx, 1, (struct sherd_bytes){ 0 });
    }
    if (msg->msg == 65)
        sherd_answer(ctx, &lab.question, 164, (struct sherd_bytes){ 0 });
    if (msg->msg == 60)
        return SHERD_STOP;
    if (msg->msg == 61)
        return SHERD_FAIL;
    return SHERD_CONTINUE;
}

static void puppet_apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct puppet *state = self;

    state->events++;
    state->sum += type;
    if (!state->known) {
        state->known = true;
        lab.alive++;
    }
    (void)event;
}

static void puppet_release(void *self)
{
    struct puppet *state = self;

    if (state->known)
        lab.alive--;
}

const struct sherd_behavior puppet = { .name = "puppet",
                                       .state_size = sizeof(struct puppet),
                                       .receive = puppet_receive,
                                       .release = puppet_release };

static uint64_t append(void *user, uint64_t actor, struct entity_event event)
{
    (void)user;
    (void)actor;
    (void)event;
    if (lab.refuses)
        return EVENT_REFUSED;
    lab.events++;
    return ++lab.position;
}

static void take_back(void *user, uint64_t actor, uint64_t seq)
{
    (void)user;
    (void)actor;
    lab.taken_back = seq;
    lab.take_backs++;
}

void lab_open(void)
{
    lab_open_with((struct actors_settings){ 0 });
}

void lab_open_with(struct actors_settings settings)
{
    struct sherd_entity_type type = { .name = "A",
                                      .behavior = puppet,
                                      .shards = 10,
                                      .idle_ms = UINT64_MAX };

    memset(&lab, 0, sizeof lab);
    lab.trace = trace_new(TRACE_DEBUG);
    settings.lanes = 2;
    settings.node = NODE;
    settings.seed = 7;
    settings.now = 1000 * SECOND;
    settings.trace = lab.trace;
    settings.append = append;
    settings.take_back = take_back;
    lab.now = settings.now;
    lab.route = true;
    lab.actors = actors_new(&settings);
    actors_add_type(lab.actors, TYPE_A, &type);
    type.name = "P";
    type.behavior.apply = puppet_apply;
    type.mailbox_max = 20;
    actors_add_type(lab.actors, TYPE_P, &type);
    type.name = "S";
    type.behavior.apply = NULL;
    type.stop_msg = 99;
    actors_add_type(lab.actors, TYPE_S, &type);
    type.name = "I";
    type.stop_msg = 0;
    type.idle_ms = 1000;
    actors_add_type(lab.actors, TYPE_IDLE, &type);
}

bool lab_traced(const char *part)
{
    struct trace_line line;
    bool found = false;

    while (trace_next(lab.trace, &line))
        found = found || strstr(line.text, part);
    return found;
}

void lab_free_out(void)
{
    for (uint32_t i = 0; i < lab.out_count; i++)
        if (lab.out[i]->kind == MESSAGE_JOB)
            job_free(actors_job_take(lab.actors, lab.out[i]));
        else
            actors_message_free(lab.actors, lab.out[i]);
    lab.out_count = 0;
}

struct job *lab_job(void)
{
    struct message *message;

    for (uint32_t i = 0; i < lab.out_count; i++) {
        message = lab.out[i];
        if (message->kind != MESSAGE_JOB)
            continue;
        lab.out[i] = lab.out[--lab.out_count];
        return actors_job_take(lab.actors, message);
    }
    return NULL;
}

void lab_job_done(struct job *job)
{
    job->face.run(job->arg);
    actors_job_done(lab.actors, job);
}

void lab_close(void)
{
    struct trace_line line;

    lab_free_out();
    actors_close(lab.actors);
    assert_int_equal(lab.alive, 0);
    assert_int_equal(lab.args, 0);
    assert_int_equal(actors_messages_in_use(lab.actors), 0);
    actors_free(lab.actors);
    while (trace_next(lab.trace, &line))
        ;
    trace_free(lab.trace);
}

struct sherd_ref lab_spawn(const char *name)
{
    return actors_spawn(lab.actors, &puppet, slice_text(name));
}

struct sherd_ref lab_spawn_loud(const char *name)
{
    struct sherd_behavior loud = puppet;

    loud.wants_undelivered = 1;
    return actors_spawn(lab.actors, &loud, slice_text(name));
}

void lab_order(struct sherd_ref to, const struct order *orders, uint32_t count)
{
    struct message *message = actors_message(
        lab.actors, slice_of(orders, count * sizeof *orders));

    message->to = to;
    message->msg = 1;
    actors_deliver(lab.actors, message);
}

static void entity_send(uint16_t type, const char *id, uint32_t msg,
                        struct slice body)
{
    struct message *message =
        actors_entity_message(lab.actors, type, slice_text(id), body);
    int32_t shard = hash_shard(slice_text(id), 10);

    message->msg = msg;
    message->entity.shard = shard;
    message->entity.has_shard = 1;
    if (lab.route)
        actors_shard_start(lab.actors, type, shard);
    actors_deliver_entities(lab.actors, &message, 1);
}

void lab_entity_order(uint16_t type, const char *id, const struct order *orders,
                      uint32_t count)
{
    entity_send(type, id, 1, slice_of(orders, count * sizeof *orders));
}

void lab_tell(struct sherd_ref to, uint32_t msg)
{
    struct message *message = actors_message(lab.actors, slice_of(NULL, 0));

    message->to = to;
    message->msg = msg;
    actors_deliver(lab.actors, message);
}

void lab_entity_tell(uint16_t type, const char *id, uint32_t msg)
{
    entity_send(type, id, msg, slice_of(NULL, 0));
}

/* The cluster's state is already here; CLUSTER_SEEN repeats the last one. */
static bool tell_in_step(void)
{
    struct cluster_change change = { .kind = CLUSTER_IN_STEP };

    if (lab.in_step)
        actors_cluster(lab.actors, &change);
    return lab.in_step;
}

static bool drain(void)
{
    struct message *message;
    struct actors_news news;
    bool more = false;

    while ((message = actors_take_out(lab.actors))) {
        if (message_to_entity(message) && lab.route) {
            assert_true(message->entity.has_shard);
            assert_int_equal(message->entity.shard,
                             hash_shard(message_id(message), 10));
            actors_shard_start(lab.actors, message->type,
                               message->entity.shard);
            actors_deliver_entities(lab.actors, &message, 1);
            more = true;
            continue;
        }
        assert_true(lab.out_count < 4096);
        lab.out[lab.out_count++] = message;
    }
    while (actors_next_news(lab.actors, &news)) {
        if (news.kind == ACTORS_REQUEST_REPLAY)
            lab.wants[lab.want_count++] = news.actor;
        else if (news.kind == ACTORS_FORGET)
            lab.forget_count++;
        else if (news.kind == ACTORS_REMEMBER)
            lab.remember[lab.remember_count++] = news.actor;
        else if (news.kind == ACTORS_FORGET_STORED)
            lab.forget_stored[lab.forget_stored_count++] = news.actor;
        else if (news.kind == ACTORS_REQUEST_CLUSTER)
            more = tell_in_step() || more;
        else
            lab.empty_count++;
        assert_true(lab.want_count < 256);
    }
    return more;
}

void lab_run(void)
{
    do {
        actors_run(lab.actors, lab.now, 0, 1000000);
    } while (drain() || actors_runnable(lab.actors));
    lab_conserved();
}

void lab_advance(uint64_t ms)
{
    lab.now += ms * MS;
    actors_step(lab.actors, lab.now, 0);
    lab_run();
}

void lab_recover_all(void)
{
    for (uint32_t i = 0; i < lab.want_count; i++)
        actors_recovered(lab.actors, lab.wants[i], 0);
    lab.want_count = 0;
}

struct actors_status lab_status(void)
{
    struct actors_status status;

    actors_status(lab.actors, &status);
    return status;
}

void lab_expect(const char *text)
{
    assert_string_equal(lab.log, text);
    lab.log[0] = 0;
}

void lab_conserved(void)
{
    struct actors_status status = lab_status();
    uint64_t sum = 0;

    for (int i = 0; i < SHERD_REASON_COUNT; i++)
        sum += status.undelivered[i];
    assert_int_equal(sum, status.undelivered_total);
    assert_true(status.waiting < 1000000); /* not below zero */
    assert_int_equal(status.jobs, status.jobs_heard + status.jobs_orphaned +
                                      status.jobs_open);
}

int lab_setup(void **state)
{
    (void)state;
    lab_open();
    return 0;
}

int lab_teardown(void **state)
{
    (void)state;
    lab_close();
    return 0;
}
