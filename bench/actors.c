/* Measures the actor core on one lane, and its limit programs (bench/limits), without sockets,
 * threads and a node.
 *
 * usage: actors [REPETITIONS] [NAME]
 *
 * NAME is a part of a row's name. Ours and the limit run in turns. The figures are medians of the
 * repetitions (default 5) after one that is dropped. */
#define _GNU_SOURCE
#include "limits/limits.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "actor/actors.h"
#include "base/hash.h"

#define SHARDS 100

static struct actors *actors;
static uint64_t left; /* remaining messages or actors */
static uint64_t timeouts;
static const struct sherd_bytes nothing;

static double rate(uint64_t count, uint64_t begin)
{
    return (double)count / ((double)(bench_now() - begin) / 1e9) / 1e6;
}

static void lane_open(const struct sherd_entity_type *type)
{
    struct actors_settings settings = {
        .lanes = 1, .node = 1, .now = 1000000000
    };

    actors = actors_new(&settings);
    if (!type)
        return;
    actors_add_type(actors, 0, type);
    for (int32_t shard = 0; shard < SHARDS; shard++) {
        actors_shard_start(actors, 0, shard);
        actors_shard_open(actors, 0, shard, true);
    }
}

static void run_all(void)
{
    while (left && actors_runnable(actors))
        actors_run(actors, 1000000000, 0, 10000);
}

static void tell(struct sherd_ref to, const void *body, size_t size)
{
    struct message *message = actors_message(actors, slice_of(body, size));

    message->to = to;
    actors_deliver(actors, message);
}

/* --- row 1, 2: ping-pong --- */

struct pair {
    struct sherd_ref peer;
};

static enum sherd_next on_ping(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct pair *pair = self;

    if (msg->kind == SHERD_STARTED) {
        if (msg->body.size)
            memcpy(&pair->peer, msg->body.data, sizeof pair->peer);
        return SHERD_CONTINUE;
    }
    if (left == 0)
        return SHERD_CONTINUE;
    left--;
    if (pair->peer.node == 0)
        sherd_tell(ctx, msg->sender, 1, msg->body);
    else
        sherd_tell(ctx, pair->peer, 1, msg->body);
    return SHERD_CONTINUE;
}

static const struct sherd_behavior pinger = { .name = "pinger",
                                              .state_size = sizeof(struct pair),
                                              .receive = on_ping };

static double our_ping_pong(uint64_t messages)
{
    struct sherd_ref a, b;
    uint64_t value = 1;
    uint64_t begin;
    double result;

    lane_open(NULL);
    left = messages;
    a = actors_spawn(actors, &pinger, slice_of(NULL, 0));
    b = actors_spawn(actors, &pinger, slice_of(&a, sizeof a));
    begin = bench_now();
    tell(b, &value, sizeof value);
    run_all();
    result = rate(messages, begin);
    actors_free(actors);
    return result;
}

/* --- row 4: ring --- */

static double our_ring(uint64_t messages)
{
    static struct sherd_ref refs[100000];
    uint64_t value = 1;
    uint64_t begin;
    double result;

    lane_open(NULL);
    left = 1;
    for (int i = 0; i < 100000; i++) {
        refs[i] = actors_spawn(actors, &pinger,
                               i ? slice_of(&refs[i - 1], sizeof refs[0])
                                 : slice_of(NULL, 0));
        run_all();
    }
    /* A message tells the first actor the reference of the last. */
    refs[0] = actors_spawn(actors, &pinger, slice_of(&refs[99999], 16));
    left = messages;
    for (int i = 0; i < 1000; i++)
        tell(refs[100 * i + 99], &value, sizeof value);
    begin = bench_now();
    run_all();
    result = rate(messages - left, begin);
    actors_free(actors);
    return result;
}

/* --- row 3: fan-in --- */

struct producer {
    struct sherd_ref sink;
    uint64_t made;
};

static uint64_t each;

static enum sherd_next on_sink(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    left--;
    if (msg->msg == 1)
        sherd_tell(ctx, msg->sender, 1, nothing);
    return SHERD_CONTINUE;
}

static enum sherd_next on_produce(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    struct producer *producer = self;
    uint64_t value = 1;

    if (msg->kind == SHERD_STARTED)
        memcpy(&producer->sink, msg->body.data, sizeof producer->sink);
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    for (uint32_t i = 0; i < 1000 && producer->made < each; i++) {
        producer->made++;
        sherd_tell(ctx, producer->sink, i == 999,
                   (struct sherd_bytes){ &value, sizeof value });
    }
    return SHERD_CONTINUE;
}

static double our_fan_in(uint64_t messages)
{
    const struct sherd_behavior sink = { .name = "sink", .receive = on_sink };
    const struct sherd_behavior producer = { .name = "producer",
                                             .state_size =
                                                 sizeof(struct producer),
                                             .receive = on_produce };
    struct sherd_ref to;
    uint64_t begin;
    double result;

    lane_open(NULL);
    to = actors_spawn(actors, &sink, slice_of(NULL, 0));
    each = messages / 4;
    left = messages;
    for (int i = 0; i < 4; i++)
        tell(actors_spawn(actors, &producer, slice_of(&to, sizeof to)), NULL, 0);
    begin = bench_now();
    run_all();
    result = rate(messages, begin);
    actors_free(actors);
    return result;
}

/* --- row 5: 64 outstanding asks, each with a time-out --- */

static enum sherd_next on_asked(struct sherd_ctx *ctx, void *self,
                                const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        sherd_reply(ctx, 2, msg->body);
    return SHERD_CONTINUE;
}

static enum sherd_next on_ask(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    struct pair *pair = self;
    uint64_t value = 1;
    struct sherd_bytes body = { &value, sizeof value };

    if (msg->kind == SHERD_STARTED) {
        memcpy(&pair->peer, msg->body.data, sizeof pair->peer);
        for (uint32_t i = 0; i < 64; i++)
            sherd_ask(ctx, pair->peer, 1, body, i, 5000);
        return SHERD_CONTINUE;
    }
    if (msg->kind == SHERD_NO_ANSWER)
        timeouts++;
    if (left == 0)
        return SHERD_CONTINUE;
    left--;
    sherd_ask(ctx, pair->peer, 1, body, msg->tag, 5000);
    return SHERD_CONTINUE;
}

static double our_asks(uint64_t asks)
{
    const struct sherd_behavior asked = { .name = "asked",
                                          .receive = on_asked };
    const struct sherd_behavior asker = { .name = "asker",
                                          .state_size = sizeof(struct pair),
                                          .receive = on_ask };
    struct sherd_ref to;
    uint64_t begin;
    double result;

    lane_open(NULL);
    to = actors_spawn(actors, &asked, slice_of(NULL, 0));
    left = asks;
    (void)actors_spawn(actors, &asker, slice_of(&to, sizeof to));
    begin = bench_now();
    run_all();
    result = rate(asks, begin);
    actors_free(actors);
    return result;
}

/* --- row 5: memory and time of a pending time-out. This program answers the asks in place of
 * another node; PENDING asks are open when it answers one. --- */

#define PENDING 1000000
#define ASKERS 20 /* an actor can have 65,535 open asks */
#define PART 100  /* asks in a turn */

static struct far_ask {
    uint64_t ask; /* 0: a tell */
    uint64_t actor;
} far_asks[PENDING];
static uint32_t far_count; /* number of asks so far; the table keeps the last PENDING */
static bool far_asking;
static uint64_t far_now = 1000000000; /* the lane's clock */

static enum sherd_next on_ask_far(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    const struct sherd_ref far = { 2, 1 };
    uint64_t value = 1;
    struct sherd_bytes body = { &value, sizeof value };
    int count = msg->msg == 1 ? PART : 1;

    (void)self;
    if (msg->kind == SHERD_NO_ANSWER)
        timeouts++;
    if (msg->kind != SHERD_MESSAGE && msg->kind != SHERD_ANSWER)
        return SHERD_CONTINUE;
    for (int i = 0; i < count; i++) {
        if (far_asking)
            sherd_ask(ctx, far, 1, body, 1, 5000);
        else
            sherd_tell(ctx, far, 1, body);
    }
    return SHERD_CONTINUE;
}

/* Takes the asks out of the lane into the table. */
static void far_take(void)
{
    struct message *message;

    while (actors_runnable(actors))
        actors_run(actors, far_now, 0, 10000);
    while ((message = actors_take_out(actors))) {
        far_asks[far_count++ % PENDING] =
            (struct far_ask){ message->ask, message->sender.actor };
        actors_message_free(actors, message);
    }
}

static void far_answer(const struct far_ask *asked)
{
    uint64_t value = 1;
    struct message *message =
        actors_message(actors, slice_of(&value, sizeof value));

    message->kind = asked->ask ? MESSAGE_ANSWER : MESSAGE_TELL;
    message->msg = 2;
    message->to = (struct sherd_ref){ 1, asked->actor };
    message->ask = asked->ask;
    actors_deliver(actors, message);
}

/* Adds this number of open asks or tells. */
static void far_fill(const struct sherd_ref *askers, bool asking,
                     uint32_t count)
{
    far_asking = asking;
    for (uint32_t i = 0; i < count / PART; i++) {
        struct message *message = actors_message(actors, slice_of(NULL, 0));

        message->msg = 1;
        message->to = askers[i % ASKERS];
        actors_deliver(actors, message);
        far_take();
    }
}

static void far_open(struct sherd_ref *askers)
{
    static const struct sherd_behavior asker = { .name = "asker",
                                                 .receive = on_ask_far };

    lane_open(NULL);
    for (int i = 0; i < ASKERS; i++)
        askers[i] = actors_spawn(actors, &asker, slice_of(NULL, 0));
    far_fill(askers, false, PENDING); /* allocates the memory of messages */
}

static double our_timeout_bytes(void)
{
    struct sherd_ref askers[ASKERS];
    struct actors_status status;
    long before;

    far_open(askers);
    far_fill(askers, true, PENDING / 100); /* allocates memory that exists only once */
    before = bench_rss();
    far_fill(askers, true, PENDING - PENDING / 100);
    actors_status(actors, &status);
    if (status.asks != PENDING)
        return 0;
    return (double)(bench_rss() - before) / (PENDING - PENDING / 100);
}

/* Returns the ns of one message and its answer while the other asks wait. */
static double far_trip(uint64_t trips)
{
    uint64_t begin = bench_now();

    for (uint64_t i = 0; i < trips; i += PART) {
        uint32_t oldest = far_count % PENDING;

        for (uint32_t k = 0; k < PART; k++)
            far_answer(&far_asks[oldest + k]); /* PART divides PENDING */
        far_now += PART * 100; /* 10 million asks in a second, so no time-out expires */
        actors_step(actors, far_now, 0);
        far_take();
    }
    return (double)(bench_now() - begin) / (double)trips;
}

/* Returns the cost of an ask above a tell and a tell back: starting the time-out, finding it by the
 * answer, and cancelling it. */
static double our_timeout_ns(uint64_t trips)
{
    struct sherd_ref askers[ASKERS];
    double told, asked;

    far_open(askers);
    (void)far_trip(trips / 4); /* not measured */
    told = far_trip(trips);
    far_fill(askers, true, PENDING);
    (void)far_trip(trips / 4);
    asked = far_trip(trips);
    return timeouts ? 0 : asked - told;
}

/* --- row 6: spawn, one message, stop --- */

static enum sherd_next on_once(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    left--;
    return SHERD_STOP;
}

static enum sherd_next on_spawn(struct sherd_ctx *ctx, void *self,
                                const struct sherd_msg *msg)
{
    static const struct sherd_behavior once = { .name = "once",
                                                .receive = on_once };
    uint64_t *to_do = self;

    if (msg->kind == SHERD_STARTED)
        memcpy(to_do, msg->body.data, sizeof *to_do);
    for (int i = 0; i < 256 && *to_do; i++, --*to_do)
        sherd_tell(ctx, sherd_spawn(ctx, &once, nothing), 1, nothing);
    if (*to_do)
        sherd_tell(ctx, sherd_self(ctx), 1, nothing);
    return SHERD_CONTINUE;
}

static double our_spawn(uint64_t count)
{
    const struct sherd_behavior spawner = { .name = "spawner",
                                            .state_size = sizeof(uint64_t),
                                            .receive = on_spawn };
    uint64_t begin;
    double result;

    lane_open(NULL);
    left = count;
    (void)actors_spawn(actors, &spawner, slice_of(&count, sizeof count));
    begin = bench_now();
    run_all();
    result = rate(count, begin);
    actors_free(actors);
    return result;
}

/* --- rows 7 to 10: entities --- */

static uint64_t replies;
static volatile uint64_t sum;

static enum sherd_next on_entity(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    left--;
    if (msg->msg == 2)
        sherd_reply(ctx, 3, nothing);
    else if (msg->body.size > 3)
        sum += ((const uint8_t *)msg->body.data)[3];
    return SHERD_CONTINUE;
}

static const struct sherd_entity_type counter = {
    .name = "counter",
    .behavior = { .name = "counter", .receive = on_entity },
    .shards = SHARDS
};

static size_t id_put(char *id, uint32_t number)
{
    char digits[12];
    size_t count = 0;

    memcpy(id, "user-", 5);
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    for (size_t i = 0; i < count; i++)
        id[5 + i] = digits[count - 1 - i];
    id[5 + count] = 0;
    return 5 + count;
}

static double our_plain_bytes(uint32_t count)
{
    static const struct sherd_behavior idle = { .name = "idle",
                                                .receive = on_once };
    long before;

    lane_open(NULL);
    left = 1;
    before = bench_rss();
    for (uint32_t i = 0; i < count; i++) {
        (void)actors_spawn(actors, &idle, slice_of(NULL, 0));
        if (i % 1000 == 999)
            run_all();
    }
    run_all();
    return (double)(bench_rss() - before) / count;
}

/* Starts the entities user-0000000 and so on. Each handles one message. */
static double start_entities(uint32_t count, double *bytes)
{
    long before;
    uint64_t begin;
    char id[32];

    lane_open(&counter);
    before = bench_rss();
    left = count;
    begin = bench_now();
    for (uint32_t i = 0; i < count; i += 100) {
        struct message *messages[100];

        for (uint32_t k = 0; k < 100; k++) {
            struct slice text = { (const uint8_t *)id,
                                  (size_t)snprintf(id, sizeof id, "user-%07u",
                                                   i + k) };

            messages[k] =
                actors_entity_message(actors, 0, text, slice_of(NULL, 0));
            messages[k]->entity.shard = hash_shard(text, SHARDS);
            messages[k]->entity.has_shard = 1;
        }
        actors_deliver_entities(actors, messages, 100);
        actors_run(actors, 1000000000, 0, 10000);
    }
    run_all();
    *bytes = (double)(bench_rss() - before) / count;
    return rate(count, begin);
}

static double our_entity_bytes(uint32_t count)
{
    double bytes;

    (void)start_entities(count, &bytes); /* only the bytes are needed */
    return bytes;
}

static double our_entity_create(uint32_t count)
{
    double bytes;
    double result = start_entities(count, &bytes);

    actors_free(actors);
    return result;
}

/* An actor that sends 100 tells in a turn to random entities, and waits for nothing. */
static uint64_t to_send;
static uint32_t entity_count;
static uint64_t random_state;

static enum sherd_next on_source(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    static const uint8_t body[100] = { 1 };
    char id[32];

    (void)self;
    (void)msg;
    for (int i = 0; i < 100 && to_send; i++, to_send--) {
        id_put(id, 1 + (uint32_t)((bench_random(&random_state) >> 11) %
                                  entity_count));
        sherd_entity_tell(ctx, "counter", id, 1,
                          (struct sherd_bytes){ body, sizeof body });
    }
    if (to_send)
        sherd_tell(ctx, sherd_self(ctx), 1, nothing);
    return SHERD_CONTINUE;
}

static double our_tells(uint32_t count, uint64_t messages)
{
    const struct sherd_behavior source = { .name = "source",
                                           .receive = on_source };
    uint64_t begin;
    double result;
    char id[32];

    lane_open(&counter);
    left = UINT64_MAX;
    for (uint32_t i = 1; i <= count; i++) {
        struct slice text = { (const uint8_t *)id, id_put(id, i) };
        struct message *message =
            actors_entity_message(actors, 0, text, slice_of(NULL, 0));

        message->entity.shard = hash_shard(text, SHARDS);
        message->entity.has_shard = 1;
        actors_deliver_entities(actors, &message, 1);
        if (i % 1000 == 0)
            run_all();
    }
    run_all();
    random_state = UINT64_C(88172645463325252);
    entity_count = count;
    to_send = messages;
    left = messages;
    (void)actors_spawn(actors, &source, slice_of(NULL, 0));
    begin = bench_now();
    run_all();
    result = rate(messages, begin);
    actors_free(actors);
    return result;
}

/* --- the table of rows --- */

static double ours_1(void) { return our_ping_pong(3000000); }
static double pin_1(void) { return limit_ping_pong(1, 3000000); }
static double plain_1(void) { return limit_ping_pong(0, 3000000); }
static double ours_3(void) { return our_fan_in(8000000); }
static double pin_3(void) { return limit_fan_in(1, 8000000); }
static double plain_3(void) { return limit_fan_in(0, 8000000); }
static double ours_4(void) { return our_ring(5000000); }
static double pin_4(void) { return limit_ring(1, 5000000); }
static double ours_5(void) { return our_asks(2000000); }
static double hops_5(void) { return limit_ping_pong(1, 3000000) / 2; }
static double ours_5b(void) { return our_timeout_bytes(); }
static double limit_5b(void)
{
    double bytes, ns;

    limit_timeouts(PENDING, 1, &bytes, &ns);
    return bytes;
}
static double ours_5n(void) { return our_timeout_ns(3000000); }
static double limit_5n(void)
{
    double bytes, ns;

    limit_timeouts(PENDING, 10000000, &bytes, &ns);
    return ns;
}
static double ours_6(void) { return our_spawn(2000000); }
static double pin_6(void) { return limit_spawn(1, 2000000); }
static double ours_7(void) { return our_plain_bytes(1000000); }
static double limit_7(void) { return 48; }
static double ours_8(void) { return our_entity_bytes(1000000); }
static double limit_8(void) { return limit_entity_bytes(1000000); }
static double ours_9(void) { return our_entity_create(1000000); }
static double limit_9(void) { return limit_entity_create(1000000); }
static double ours_10(void) { return our_tells(1000, 3000000); }
static double limit_10(void) { return limit_pipe(0, 1000, 3000000); }
static double ours_10m(void) { return our_tells(1000000, 3000000); }
static double limit_10m(void) { return limit_pipe(1, 1000000, 3000000); }

static const struct row {
    const char *number, *name, *unit;
    double (*ours)(void);
    double (*limit)(void);
    double goal; /* in percent of the limit; an upper bound for bytes and ns; 0: none */
} rows[] = {
    { "1", "tell ping-pong / atomic mailboxes", "M/s", ours_1, pin_1, 60 },
    { "1+", "tell ping-pong / plain mailboxes", "M/s", ours_1, plain_1, 50 },
    { "3", "fan-in 4 to 1 / atomic", "M/s", ours_3, pin_3, 40 },
    { "3+", "fan-in 4 to 1 / plain", "M/s", ours_3, plain_3, 40 },
    { "4", "ring of 100,000 / atomic", "M/s", ours_4, pin_4, 50 },
    { "5", "ask, 64 outstanding / 2 hops atomic", "M/s", ours_5, hops_5, 25 },
    { "5b", "pending time-out, bytes", "bytes", ours_5b, limit_5b, 0 },
    { "5n", "pending time-out, time", "ns", ours_5n, limit_5n, 0 },
    { "6", "spawn + message + stop / atomic", "M/s", ours_6, pin_6, 15 },
    { "7", "idle plain actor", "bytes", ours_7, limit_7, 267 },
    { "8", "idle entity, 12-byte id", "bytes", ours_8, limit_8, 230 },
    { "9", "entity activation / create", "M/s", ours_9, limit_9, 30 },
    { "10", "sharded tell, 1,000 entities", "M/s", ours_10, limit_10, 35 },
    { "10+", "sharded tell, 1,000,000 entities", "M/s", ours_10m, limit_10m, 40 },
};

/* Measures in a new process, so that the heap is unused. */
static double alone(double (*measure)(void))
{
    double result = 0;
    int ends[2];
    pid_t child;

    if (pipe(ends) != 0)
        return 0;
    child = fork();
    if (child == 0) {
        result = measure();
        if (write(ends[1], &result, sizeof result) != sizeof result)
            _exit(1);
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &result, sizeof result) != sizeof result)
        result = 0;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return result;
}

static int compare(const void *left_value, const void *right_value)
{
    double a = *(const double *)left_value, b = *(const double *)right_value;

    return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
    int repetitions = argc > 1 ? atoi(argv[1]) : 5;
    const char *filter = argc > 2 ? argv[2] : "";
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    cpu_set_t cpus;

    if (repetitions < 1 || repetitions > 50 || argc > 3) {
        (void)fprintf(help ? stdout : stderr,
                      "usage: actors [REPETITIONS, 1 to 50] [NAME]\n");
        return help ? 0 : 2;
    }
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    printf("%-4s %-38s %10s %10s %7s %7s\n", "row", "name", "ours", "limit",
           "%", "goal");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        double ours[50], limits[50];

        if (!strstr(row->name, filter))
            continue;
        for (int k = -1; k < repetitions; k++) {
            int at = k < 0 ? 0 : k;

            ours[at] = alone(row->ours);
            limits[at] = alone(row->limit);
        }
        qsort(ours, (size_t)repetitions, sizeof ours[0], compare);
        qsort(limits, (size_t)repetitions, sizeof limits[0], compare);
        printf("%-4s %-38s %10.2f %10.2f %6.0f%% %6.0f%% %s\n", row->number,
               row->name, ours[repetitions / 2], limits[repetitions / 2],
               100 * ours[repetitions / 2] / limits[repetitions / 2], row->goal,
               row->unit);
        fflush(stdout);
    }
    return replies != 0;
}
