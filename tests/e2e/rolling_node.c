/* Runs a node for rolling restarts: it hosts the type "Item", or asks its entities at a steady rate.
 *
 *   rolling_node PORT SEEDS host|RATE [SHARDS ITEMS]
 *
 * SEEDS is HOST:PORT,HOST:PORT,... in the same order for all nodes. RATE is asks per second; a node
 * with a rate hosts nothing. It asks ITEMS entities (500), and if these are fewer than SHARDS (60),
 * each 50th ask is to an entity that nobody asked before.
 *
 * Prints lines "MS TEXT"; MS are milliseconds since 1970. TEXT is "up", "first" (the first answer of
 * an entity), and "log LINE". Lines on the standard input:
 *
 *   ""           asker: begins the asks; then it ends them and prints their result.
 *                host: from now on, prints "shards N" when the number of its shards changes
 *   "mark PORT"  asker: forgets the times of the asks so far. From now on, asks to entities that
 *                answered on other ports than this one count as those of others
 *
 * SIGTERM means a graceful end. */
#define _POSIX_C_SOURCE 200809L
#include <sherd/sherd.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEEDS_MAX = 16, ITEMS = 500, ITEMS_MAX = 10000, SHARDS = 60, ASKED_MAX = 1 << 16 };
enum { ASK_MS = 10000, LATE_MS = 500, TICK_MS = 1, LOOK_MS = 5, FRESH_EACH = 50 };
enum { VISIT = 1, FIRST, TICK };

static struct sherd_system *node;
static const struct sherd_bytes nothing;
static uint32_t rate, items = ITEMS, shards = SHARDS;
static atomic_int ends; /* the asks */
static atomic_int mark; /* the port of the last line "mark" */

static uint64_t clock_ns(clockid_t which)
{
    struct timespec time;

    clock_gettime(which, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void say(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    char text[2000];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list); /* a long line is cut */
    va_end(list);
    printf("%llu %s\n",
           (unsigned long long)(clock_ns(CLOCK_REALTIME) / 1000000), text);
    fflush(stdout);
}

static enum sherd_next item(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    uint16_t port = sherd_port(node);

    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        sherd_reply(ctx, msg->msg, (struct sherd_bytes){ &port, sizeof port });
    return msg->kind == SHERD_STOPPING ? SHERD_STOP : SHERD_CONTINUE;
}

/* ---- the first answer ---- */

static void ask_first(struct sherd_ctx *ctx)
{
    char id[32];

    (void)snprintf(id, sizeof id, "first-%u", sherd_port(node)); /* fits */
    sherd_entity_ask(ctx, "Item", id, VISIT, nothing, FIRST, ASK_MS);
}

static enum sherd_next first(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_ANSWER) {
        say("first");
        return SHERD_STOP;
    }
    ask_first(ctx);
    return SHERD_CONTINUE;
}

/* ---- asks at a steady rate ---- */

struct asker {
    uint64_t began;
    uint64_t asked, answered, late, worst, failed;
    uint64_t worst_others, worst_fresh;
    int marked;
    uint16_t home[ITEMS_MAX]; /* the port of an item's last answer; 0: none */
    uint32_t item[ASKED_MAX]; /* by tag; ITEMS_MAX: a fresh one */
    uint16_t from[ASKED_MAX]; /* by tag: the item's home when the ask began */
    uint64_t reasons[SHERD_REASON_COUNT];
    uint64_t sent[ASKED_MAX]; /* by tag; 0: not open */
    uint32_t open;
};

static void report(const struct asker *asker)
{
    char reasons[600] = "";
    size_t used = 0;

    for (int i = 0; i < SHERD_REASON_COUNT; i++)
        if (asker->reasons[i] && used < sizeof reasons)
            used += (size_t)snprintf(
                reasons + used, sizeof reasons - used, " (%llu: %s)",
                (unsigned long long)asker->reasons[i],
                sherd_reason_text((enum sherd_reason)i));
    say("result asked=%llu answered=%llu failed=%llu late=%llu worst_ms=%llu "
        "others_us=%llu fresh_us=%llu reasons=%s",
        (unsigned long long)asker->asked, (unsigned long long)asker->answered,
        (unsigned long long)asker->failed, (unsigned long long)asker->late,
        (unsigned long long)(asker->worst / 1000000),
        (unsigned long long)(asker->worst_others / 1000),
        (unsigned long long)(asker->worst_fresh / 1000), reasons);
}

static void ask_due(struct sherd_ctx *ctx, struct asker *asker)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t due = (now - asker->began) / 1000 * rate / 1000000;

    for (; asker->asked < due; asker->asked++) {
        uint32_t tag = (uint32_t)(asker->asked % ASKED_MAX);
        char id[32];

        if (asker->sent[tag])
            return; /* too many are open */
        asker->sent[tag] = now;
        asker->open++;
        asker->item[tag] = (uint32_t)(asker->asked % items);
        asker->from[tag] = asker->home[asker->item[tag]];
        if (items < shards && asker->asked % FRESH_EACH == 0) {
            asker->item[tag] = ITEMS_MAX;
            (void)snprintf(id, sizeof id, "fresh-%llu",
                           (unsigned long long)asker->asked); /* fits */
        } else {
            (void)snprintf(id, sizeof id, "item-%u", asker->item[tag]); /* fits */
        }
        sherd_entity_ask(ctx, "Item", id, VISIT, nothing, tag, ASK_MS);
    }
}

static void raise_to(uint64_t *worst, uint64_t took)
{
    if (took > *worst)
        *worst = took;
}

static void ended(struct asker *asker, const struct sherd_msg *msg)
{
    uint64_t took = clock_ns(CLOCK_MONOTONIC) - asker->sent[msg->tag];
    uint32_t which = asker->item[msg->tag];

    asker->sent[msg->tag] = 0;
    asker->open--;
    if (asker->marked != mark) {
        asker->marked = mark;
        asker->worst = asker->worst_others = asker->worst_fresh = asker->late = 0;
    }
    raise_to(&asker->worst, took);
    if (which == ITEMS_MAX)
        raise_to(&asker->worst_fresh, took);
    else if (asker->from[msg->tag] && asker->from[msg->tag] != asker->marked)
        raise_to(&asker->worst_others, took);
    if (which < ITEMS_MAX && msg->kind == SHERD_ANSWER && msg->body.size == sizeof asker->home[which])
        memcpy(&asker->home[which], msg->body.data, sizeof asker->home[which]);
    asker->late += took > (uint64_t)LATE_MS * 1000000;
    if (msg->kind == SHERD_ANSWER) {
        asker->answered++;
        return;
    }
    if (!asker->failed++)
        say("failed %s", sherd_reason_text(msg->reason));
    asker->reasons[msg->reason]++;
}

static enum sherd_next ask(struct sherd_ctx *ctx, void *self,
                           const struct sherd_msg *msg)
{
    struct asker *asker = self;

    if (msg->kind == SHERD_STARTED)
        asker->began = clock_ns(CLOCK_MONOTONIC);
    else if (msg->kind == SHERD_ANSWER || msg->kind == SHERD_NO_ANSWER)
        ended(asker, msg);
    if (msg->kind == SHERD_STARTED || msg->kind == SHERD_TIMER) {
        if (!ends)
            ask_due(ctx, asker);
        sherd_timer(ctx, TICK, TICK_MS);
    }
    if (ends && !asker->open) {
        report(asker);
        return SHERD_STOP;
    }
    return SHERD_CONTINUE;
}

/* ---- the node ---- */

static void on_log(void *user, enum sherd_log_level level, const char *module,
                   const char *line)
{
    (void)user;
    (void)level;
    (void)module;
    say("log %s", line);
}

static void on_up(void *user)
{
    static const struct sherd_behavior behavior = { .name = "first",
                                                    .receive = first };
    int error = sherd_system_spawn(node, &behavior, nothing, NULL);

    (void)user;
    say(error ? "cannot ask" : "up");
}

/* Prints the number of this node's shards when it changes, until the node ends. */
static void watch_shards(void)
{
    const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
    struct sherd_regions regions;
    uint32_t before = 0;

    while (!sherd_get_region_stats(node, "Item", 1000, &regions)) {
        uint32_t count = regions.region_count ? regions.regions[0].shard_count : 0;

        sherd_regions_free(&regions);
        if (count != before)
            say("shards %u", count);
        before = count;
        nanosleep(&pause, NULL);
    }
}

static void *read_input(void *argument)
{
    static const struct sherd_behavior behavior = {
        .name = "asker", .state_size = sizeof(struct asker), .receive = ask
    };
    char line[100];

    (void)argument;
    if (!fgets(line, sizeof line, stdin))
        return NULL;
    if (!rate) {
        watch_shards();
        return NULL;
    }
    if (sherd_system_spawn(node, &behavior, nothing, NULL))
        say("cannot ask");
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "mark ", 5) == 0)
            mark = atoi(line + 5);
        else
            ends = 1;
    }
    return NULL;
}

static void split(char *text, const char **seeds)
{
    int count = 0;

    for (char *one = strtok(text, ","); one && count < SEEDS_MAX;
         one = strtok(NULL, ","))
        seeds[count++] = one;
    seeds[count] = NULL;
}

int main(int argc, char **argv)
{
    const char *seeds[SEEDS_MAX + 1] = { NULL };
    static const char *const roles[] = { "host", NULL };
    struct sherd_entity_type type = {
        .name = "Item",
        .behavior = { .name = "item", .receive = item },
        .role = roles[0],
    };
    struct sherd_options options = { .seed_nodes = seeds, .log = on_log };
    pthread_t reader;
    int error;

    if (argc != 4 && argc != 6) {
        fprintf(stderr, "usage: rolling_node PORT SEEDS host|RATE [SHARDS ITEMS]\n");
        return 2;
    }
    if (argc == 6) {
        shards = (uint32_t)atoi(argv[4]);
        items = (uint32_t)atoi(argv[5]);
    }
    if (items < 1 || items > ITEMS_MAX)
        return 2;
    type.shards = shards;
    options.port = (uint16_t)atoi(argv[1]);
    split(argv[2], seeds);
    rate = strcmp(argv[3], "host") == 0 ? 0 : (uint32_t)atoi(argv[3]);
    if (!rate)
        options.roles = roles;
    error = sherd_open(&node, &options);
    if (!error)
        error = sherd_entity_register(node, &type);
    if (!error)
        error = sherd_on_up(node, on_up, NULL);
    if (!error)
        error = pthread_create(&reader, NULL, read_input, NULL);
    if (!error)
        error = sherd_run(node);
    if (error)
        fprintf(stderr, "rolling_node: %s\n", sherd_strerror(error));
    return error != 0; /* the process ends, and with it the reader */
}
