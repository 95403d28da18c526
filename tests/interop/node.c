/* Runs a node of this library for the interop tests. It reads commands from standard input and
 * prints events and answers to standard output. Commands and lines are those of the JVM's program
 * (jvm/src/sherd/interop/Node.java).
 *
 *   interop_node NAME [also=PORT,...] [type=NAME] [slow=MS] KEY=VALUE...
 *
 *   NAME        name of the actor system
 *   also=PORT   one more node of this process at each of these ports. These nodes only count: a
 *               status line says how many of all nodes see the same as the first
 *   type=NAME   entity type of the first node
 *   slow=MS     time that an entity takes to end after its stop message
 *   KEY=VALUE   setting below `akka`
 *
 * Commands to the node: status, join A, leave [A], down A, prepare (the shutdown of the whole
 * cluster), data ... (data.c). Commands to entities: entity ID (sends a message), passivate ID.
 * Commands to the node's actor: number UID ACTOR N SIZE, numbers UID ACTOR N M, watch UID ACTOR,
 * watches UID ACTOR LAST, unwatch UID ACTOR, poison UID ACTOR, stop, text PATH TEXT, bytes PATH
 * HEX, watch sender (the sender of the last text).
 *
 * Other lines: event ..., center A NAME, log LEVEL MODULE: TEXT, actor PATH, entity ID begins,
 * entity ID ends, got number N SIZE SUM from UID ACTOR, got text TEXT from UID, got bytes HEX from
 * UID, terminated UID ACTOR, terminated sender, ended CODE.
 *
 * The command "spawn NAME" starts an actor with this name, which prints: named NAME begins, named
 * NAME got TEXT. The command "counters" prints each counter of the status that is not 0, and each reason of
 * undelivered messages: counter NAME: N, undelivered REASON: N, and then counters end.
 *
 * ACTOR is a number; on another node this actor has the path /user/a and 16 digits. At the end of
 * its input, the process ends at once. */
#ifdef SHERD_WITH_HTTP
#include <sherd/http.h>
#endif
#include <sherd/sherd.h>

#include "data.h"

#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_EACH 50 /* ms between two reads of the status */
#define CONFIG_MAX 4096
#define NODES_MAX 64
#define LINE_MAX_SIZE 16384
#define BODY_MAX 2080768 /* largest message on the stream for large messages: 2 MiB minus 16 KiB */

static const char *const status_names[] = {
    [SHERD_JOINING] = "Joining", [SHERD_UP] = "Up",
    [SHERD_LEAVING] = "Leaving", [SHERD_EXITING] = "Exiting",
    [SHERD_DOWN] = "Down",       [SHERD_REMOVED] = "Removed",
    [SHERD_WEAKLY_UP] = "WeaklyUp",
    [SHERD_PREPARING_FOR_SHUTDOWN] = "PreparingForShutdown",
    [SHERD_READY_FOR_SHUTDOWN] = "ReadyForShutdown",
};

static void write_log(void *user, enum sherd_log_level level,
                      const char *module, const char *line)
{
    static const char *const names[] = { [SHERD_LOG_ERROR] = "ERROR",
                                         [SHERD_LOG_WARNING] = "WARNING",
                                         [SHERD_LOG_INFO] = "INFO",
                                         [SHERD_LOG_DEBUG] = "DEBUG" };

    (void)user;
    printf("log %s %s: %s\n", names[level], module, line);
}

/* ---- the membership ---- */

static const struct sherd_member *find(const struct sherd_status *status,
                                       const struct sherd_member *like)
{
    for (uint32_t i = 0; i < status->member_count; i++)
        if (status->members[i].uid == like->uid &&
            !strcmp(status->members[i].address, like->address))
            return &status->members[i];
    return NULL;
}

/* Prints the differences between two statuses as events. */
static void print_events(const struct sherd_status *before,
                         const struct sherd_status *after)
{
    for (uint32_t i = 0; i < after->member_count; i++) {
        const struct sherd_member *member = &after->members[i];
        const struct sherd_member *old = find(before, member);

        if (!old || old->status != member->status)
            printf("event Member%s %s %" PRId64 "\n",
                   status_names[member->status], member->address,
                   (int64_t)member->uid);
        if (old ? old->reachable != member->reachable : !member->reachable)
            printf("event %sMember %s %" PRId64 "\n",
                   member->reachable ? "Reachable" : "Unreachable",
                   member->address, (int64_t)member->uid);
    }
    for (uint32_t i = 0; i < before->member_count; i++)
        if (!find(after, &before->members[i]))
            printf("event MemberRemoved %s %" PRId64 "\n",
                   before->members[i].address,
                   (int64_t)before->members[i].uid);
}

static void print_status(const char *self, uint32_t alike,
                         const struct sherd_status *status)
{
    printf("status self %s alike %" PRIu32 " members", self, alike);
    for (uint32_t i = 0; i < status->member_count; i++)
        printf(" %s/%s/%d/%" PRId64, status->members[i].address,
               status_names[status->members[i].status],
               status->members[i].reachable, (int64_t)status->members[i].uid);
    printf("\n");
}

static void print_counters(const struct sherd_status *status)
{
    for (enum sherd_counter i = 0; i < SHERD_COUNTER_COUNT; i++)
        if (status->counters[i])
            printf("counter %s: %" PRIu64 "\n", sherd_counter_text(i),
                   status->counters[i]);
    for (enum sherd_reason i = 0; i < SHERD_REASON_COUNT; i++)
        if (status->undelivered[i])
            printf("undelivered %s: %" PRIu64 "\n", sherd_reason_text(i),
                   status->undelivered[i]);
    printf("counters end\n");
}

/* ---- the actor ----
 *
 * It prints each message. It answers a number with the next number and the same bytes, and a JVM's
 * text or bytes with "re:" and the same content. */

/* The process's own messages, and those for which JVM nodes have serializers. These numbers are
 * above all numbers that tests send. */
enum { ORDER = 1 << 30, TEXT, BYTES };

static const struct sherd_format formats[] = {
    { TEXT, SHERD_FORMAT_TEXT, "" },
    { BYTES, SHERD_FORMAT_BYTES, "" },
};

struct order {
    char verb[16];
    struct sherd_ref actor;
    char path[256];
    char text[256]; /* to send to the path */
    uint32_t first; /* number of the first message */
    uint32_t last;
    uint32_t size; /* bytes of each body */
};

static struct sherd_ref echo_ref;
static struct sherd_ref last_sender; /* sender of the last text */
static atomic_int echo_ready;

/* fill and sum_of do the same as Numbered.pattern and Numbered.line of the JVM's program. */
static void fill(uint8_t *body, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        body[i] = (uint8_t)(i * 7 + size);
}

static uint32_t sum_of(struct sherd_bytes body)
{
    const uint8_t *bytes = body.data;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < body.size; i++)
        sum += (i + 1) * bytes[i];
    return sum;
}

static void send_text(struct sherd_ctx *ctx, const struct order *order)
{
    uint8_t bytes[sizeof order->text / 2];
    size_t size = strlen(order->text);
    unsigned value;

    if (!strcmp(order->verb, "text")) {
        sherd_path_tell(ctx, order->path, TEXT,
                        (struct sherd_bytes){ order->text, size });
        return;
    }
    for (size_t i = 0; i < size / 2; i++)
        bytes[i] = sscanf(order->text + 2 * i, "%2x", &value) == 1
                       ? (uint8_t)value
                       : 0;
    sherd_path_tell(ctx, order->path, BYTES,
                    (struct sherd_bytes){ bytes, size / 2 });
}

/* Prints a text or bytes from a JVM's actor, and answers unless the message is itself an answer. */
static void take_text(struct sherd_ctx *ctx, const struct sherd_msg *msg)
{
    const uint8_t *bytes = msg->body.data;
    char answer[512] = "re:";

    printf("got %s ", msg->msg == TEXT ? "text" : "bytes");
    for (size_t i = 0; i < msg->body.size; i++)
        printf(msg->msg == TEXT ? "%c" : "%02x", bytes[i]);
    printf(" from %" PRId64 "\n", (int64_t)msg->sender.node);
    last_sender = msg->sender;
    if (msg->body.size > sizeof answer - 3 ||
        (msg->body.size >= 3 && !memcmp(bytes, answer, 3)))
        return;
    memcpy(answer + 3, bytes, msg->body.size);
    sherd_reply(ctx, msg->msg,
                (struct sherd_bytes){ answer, msg->body.size + 3 });
}

/* Watches all actors up to the number in order->first. */
static void watch_all(struct sherd_ctx *ctx, const struct order *order)
{
    struct sherd_ref actor = order->actor;

    for (; actor.actor <= order->first; actor.actor++)
        sherd_watch(ctx, actor);
}

static enum sherd_next obey(struct sherd_ctx *ctx, const struct order *order)
{
    static uint8_t body[BODY_MAX];

    if (!strcmp(order->verb, "watches")) {
        watch_all(ctx, order);
        return SHERD_CONTINUE;
    }
    if (order->path[0])
        send_text(ctx, order);
    else if (!strcmp(order->verb, "sender"))
        sherd_watch(ctx, last_sender);
    else if (!strcmp(order->verb, "watch"))
        sherd_watch(ctx, order->actor);
    else if (!strcmp(order->verb, "unwatch"))
        sherd_unwatch(ctx, order->actor);
    else if (!strcmp(order->verb, "poison"))
        sherd_stop(ctx, order->actor);
    else if (!strcmp(order->verb, "stop"))
        return SHERD_STOP;
    fill(body, order->size);
    for (uint32_t number = order->first; number && number <= order->last;
         number++)
        sherd_tell(ctx, order->actor, number,
                   (struct sherd_bytes){ body, order->size });
    return SHERD_CONTINUE;
}

/* Prints the events that the status does not contain: data centers and the leader. */
static void print_cluster(const struct sherd_msg *msg)
{
    struct sherd_cluster_event event;
    size_t at = 0;

    while (sherd_cluster_next(msg, &at, &event)) {
        const struct sherd_cluster_member *member = &event.member;

        switch (event.kind) {
        case SHERD_MEMBER_UP:
            printf("center %s %s\n", member->address, member->data_center);
            break;
        case SHERD_DATA_CENTER_UNREACHABLE:
            printf("event UnreachableDataCenter %s\n", member->data_center);
            break;
        case SHERD_DATA_CENTER_REACHABLE:
            printf("event ReachableDataCenter %s\n", member->data_center);
            break;
        case SHERD_LEADER_CHANGED:
            printf("event LeaderChanged %s\n",
                   member->address[0] ? member->address : "none");
            break;
        default:
            break;
        }
    }
}

static enum sherd_next echo_receive(struct sherd_ctx *ctx, void *self,
                                    const struct sherd_msg *msg)
{
    (void)self;
    switch (msg->kind) {
    case SHERD_STARTED:
        echo_ref = sherd_self(ctx);
        printf("actor /user/a%016" PRIx64 "\n", echo_ref.actor);
        atomic_store(&echo_ready, 1);
        if (sherd_cluster_subscribe(ctx, SHERD_EVENTS_ALL, SHERD_EVENTS_FIRST))
            printf("no subscription\n");
        break;
    case SHERD_CLUSTER:
        print_cluster(msg);
        break;
    case SHERD_MESSAGE:
        if (msg->msg == ORDER)
            return obey(ctx, msg->body.data);
        if (msg->msg == TEXT || msg->msg == BYTES) {
            take_text(ctx, msg);
            break;
        }
        printf("got number %" PRIu32 " %zu %" PRIu32 " from %" PRId64
               " %" PRIu64 "\n",
               msg->msg, msg->body.size, sum_of(msg->body),
               (int64_t)msg->sender.node, msg->sender.actor);
        sherd_reply(ctx, msg->msg + 1, msg->body);
        break;
    case SHERD_TERMINATED:
        if (msg->sender.node == last_sender.node &&
            msg->sender.actor == last_sender.actor) {
            printf("terminated sender\n");
            break;
        }
        printf("terminated %" PRId64 " %" PRIu64 "\n",
               (int64_t)msg->sender.node, msg->sender.actor);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

/* ---- named actors ----
 *
 * Each prints its messages, answers a text with "re:" and the text unless that is an answer itself,
 * and ends at the text "stop". */

static enum sherd_next named_receive(struct sherd_ctx *ctx, void *self,
                                     const struct sherd_msg *msg)
{
    char *name = self;
    char answer[512];

    switch (msg->kind) {
    case SHERD_STARTED:
        memcpy(name, msg->body.data, msg->body.size);
        printf("named %s begins\n", name);
        break;
    case SHERD_MESSAGE:
        printf("named %s got %.*s\n", name, (int)msg->body.size,
               (const char *)msg->body.data);
        if (msg->body.size >= 3 && !memcmp(msg->body.data, "re:", 3))
            break;
        snprintf(answer, sizeof answer, "re:%.*s", (int)msg->body.size,
                 (const char *)msg->body.data);
        sherd_reply(ctx, TEXT, (struct sherd_bytes){ answer, strlen(answer) });
        if (!strcmp(answer, "re:stop"))
            return SHERD_STOP;
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static int spawn_named(struct sherd_system *system, const char *name)
{
    const struct sherd_behavior named = { .name = "named",
                                          .state_size = SHERD_NAME_MAX + 1,
                                          .receive = named_receive };

    return sherd_system_spawn_named(system, name, &named,
                                    (struct sherd_bytes){ name, strlen(name) }, NULL);
}

static int spawn_echo(struct sherd_system *system)
{
    const struct sherd_behavior echo = { .name = "echo",
                                         .receive = echo_receive };

    return sherd_system_spawn(system, &echo, (struct sherd_bytes){ NULL, 0 }, NULL);
}

/* Sends the actor's commands to it. Returns 0 if the line is another command. */
static int order_echo(struct sherd_system *system, const char *line,
                      int *error)
{
    struct order order = { .first = 0 };
    int64_t uid = 0;
    int count = sscanf(line, "%15s %" SCNd64 " %" SCNu64 " %" SCNu32 " %" SCNu32,
                       order.verb, &uid, &order.actor.actor, &order.first,
                       &order.last);

    order.actor.node = (uint64_t)uid;
    if (sscanf(line, "text %255s %255s", order.path, order.text) == 2 ||
        sscanf(line, "bytes %255s %255s", order.path, order.text) == 2)
        count = 0;
    else if (!strcmp(line, "watch sender\n"))
        strcpy(order.verb, "sender");
    else if (count == 5 && !strcmp(order.verb, "number")) {
        order.size = order.last;
        order.last = order.first;
    } else if (!(count == 4 && !strcmp(order.verb, "watches")) &&
               !(count == 5 && !strcmp(order.verb, "numbers")) &&
               !(count == 3 && (!strcmp(order.verb, "watch") ||
                                !strcmp(order.verb, "unwatch") ||
                                !strcmp(order.verb, "poison"))) &&
               strcmp(line, "stop\n") != 0) {
        return 0;
    }
    if (order.size > BODY_MAX || !atomic_load(&echo_ready))
        *error = SHERD_EINVAL;
    else
        *error = sherd_system_tell(system, echo_ref, ORDER,
                                   (struct sherd_bytes){ &order, sizeof order });
    return 1;
}

/* ---- commands ---- */

struct node {
    struct sherd_system *system;
    char self[64];
    struct sherd_status seen; /* the last status */
};

/* The nodes of this process. All commands are for the first. */
struct nodes {
    struct node items[NODES_MAX];
    uint32_t count;
    const char *type; /* entity type of the first node, or null */
};

/* ---- entities ---- */

enum { ENTITY_PASSIVATES = 1, ENTITY_ENDS };

static uint64_t entity_slowness; /* ms from the stop message to the end */

static enum sherd_next entity_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED)
        printf("entity %s begins\n", (const char *)sherd_id(ctx).data);
    else if (msg->kind == SHERD_MESSAGE && msg->msg == ENTITY_PASSIVATES)
        sherd_passivate(ctx);
    else if (msg->kind == SHERD_MESSAGE && msg->msg == ENTITY_ENDS)
        sherd_timer(ctx, 1, entity_slowness);
    else if (msg->kind == SHERD_TIMER) {
        printf("entity %s ends\n", (const char *)sherd_id(ctx).data);
        return SHERD_STOP;
    }
    return SHERD_CONTINUE;
}

/* Reads the status and prints its changes. Returns an error if the node has ended. */
static int look(struct node *node)
{
    struct sherd_status status = { .members = NULL };
    int error = sherd_get_status(node->system, &status);

    if (error == SHERD_ESTATE)
        return error;
    if (error) { /* a timeout; the next call tries again */
        printf("log WARNING node: no status: %s\n", sherd_strerror(error));
        return 0;
    }
    print_events(&node->seen, &status);
    sherd_status_free(&node->seen);
    node->seen = status;
    return 0;
}

static int same_view(const struct sherd_status *left,
                     const struct sherd_status *right)
{
    for (uint32_t i = 0; i < left->member_count; i++) {
        const struct sherd_member *member = &left->members[i];
        const struct sherd_member *other = find(right, member);

        if (!other || other->status != member->status ||
            other->reachable != member->reachable)
            return 0;
    }
    return left->member_count == right->member_count;
}

/* Returns the number of nodes that see the same as the first node's last status, including the
 * first. */
static uint32_t alike(const struct nodes *nodes)
{
    uint32_t count = 1;

    for (uint32_t i = 1; i < nodes->count; i++) {
        struct sherd_status status = { .members = NULL };

        if (sherd_get_status(nodes->items[i].system, &status))
            continue;
        count += (uint32_t)same_view(&nodes->items[0].seen, &status);
        sherd_status_free(&status);
    }
    return count;
}

static void run_command(struct nodes *nodes, const char *line)
{
    struct node *node = &nodes->items[0];
    char address[128];
    int error = 0;

    if (sscanf(line, "join %127s", address) == 1)
        error = sherd_join(node->system, address);
    else if (sscanf(line, "down %127s", address) == 1)
        error = sherd_down(node->system, address);
    else if (sscanf(line, "leave %127s", address) == 1)
        error = sherd_leave_member(node->system, address);
    else if (sscanf(line, "spawn %127s", address) == 1)
        error = spawn_named(node->system, address);
    else if (!strcmp(line, "leave\n"))
        sherd_leave(node->system);
    else if (!strcmp(line, "prepare\n"))
        error = sherd_prepare_shutdown(node->system);
    else if (!strncmp(line, "data ", 5))
        error = data_order(node->system, line);
    else if (nodes->type && sscanf(line, "entity %127s", address) == 1)
        error = sherd_system_entity_tell(node->system, nodes->type, address, 0,
                                         (struct sherd_bytes){ NULL, 0 });
    else if (nodes->type && sscanf(line, "passivate %127s", address) == 1)
        error = sherd_system_entity_tell(node->system, nodes->type, address,
                                         ENTITY_PASSIVATES,
                                         (struct sherd_bytes){ NULL, 0 });
    else if (!strcmp(line, "status\n"))
        print_status(node->self, alike(nodes), &node->seen);
    else if (!strcmp(line, "counters\n"))
        print_counters(&node->seen);
    else if (!order_echo(node->system, line, &error))
        printf("unknown command: %s", line);
    if (error)
        printf("error %s\n", sherd_strerror(error));
}

/* Runs until the first node or the input ends. */
static void run_commands(struct nodes *nodes)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char line[LINE_MAX_SIZE];

    setvbuf(stdin, NULL, _IONBF, 0); /* a buffer would hide lines from poll */
    while (!look(&nodes->items[0])) {
        if (poll(&input, 1, LOOK_EACH) == 0)
            continue;
        if (!fgets(line, sizeof line, stdin)) {
            for (uint32_t i = 0; i < nodes->count; i++)
                sherd_halt(nodes->items[i].system);
            return;
        }
        if (!look(&nodes->items[0]))
            run_command(nodes, line);
    }
}

static int register_type(struct sherd_system *system, const char *name)
{
    const struct sherd_entity_type type = {
        .name = name,
        .behavior = { .name = name, .receive = entity_receive },
        .stop_msg = ENTITY_ENDS,
    };

    return sherd_entity_register(system, &type);
}

/* Opens and starts a node. port: null for the port in the settings. type: null for no entity
 * type. */
static int open_node(struct nodes *nodes, const char *name, const char *config,
                     const char *port, const char *type)
{
    struct node *node = &nodes->items[nodes->count++];
    char text[CONFIG_MAX + 64];
    struct sherd_options options = { .name = name,
                                     .config_text = text,
                                     .formats = formats,
                                     .format_count = 2,
                                     .log = write_log };
    int error;

    snprintf(text, sizeof text, "%s", config);
    if (port)
        snprintf(text, sizeof text,
                 "%sakka.remote.artery.canonical.port=%d\nsherd.lanes=1\n",
                 config, atoi(port));
    error = sherd_open(&node->system, &options);
    if (!error && type)
        error = register_type(node->system, type);
    if (error)
        return error;
    snprintf(node->self, sizeof node->self, "127.0.0.1:%u",
             sherd_port(node->system));
    return sherd_start(node->system);
}

static int open_nodes(struct nodes *nodes, const char *name, const char *config,
                      char *also, const char *type)
{
    int error = open_node(nodes, name, config, NULL, type);

    nodes->type = type;
    for (char *port = also ? strtok(also, ",") : NULL; port && !error;
         port = strtok(NULL, ",")) {
        if (nodes->count == NODES_MAX)
            return SHERD_EINVAL;
        error = open_node(nodes, name, config, port, NULL);
    }
    return error;
}

int main(int argc, char **argv)
{
    static struct nodes nodes;
    char config[CONFIG_MAX] = "";
    char *also = NULL;
    const char *type = NULL;
    size_t used = 0;
    int error;

    for (int i = 2; i < argc && used < sizeof config; i++) {
        if (!strncmp(argv[i], "also=", 5))
            also = argv[i] + 5;
        else if (!strncmp(argv[i], "type=", 5))
            type = argv[i] + 5;
        else if (!strncmp(argv[i], "slow=", 5))
            entity_slowness = strtoull(argv[i] + 5, NULL, 10);
        else
            used += (size_t)snprintf(config + used, sizeof config - used,
                                     "akka.%s\n", argv[i]);
    }
    if (argc < 2 || used >= sizeof config) {
        fprintf(stderr,
                "usage: interop_node NAME [also=PORT,...] [type=NAME] "
                "[slow=MS] KEY=VALUE...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef SHERD_WITH_HTTP
    if (strstr(config, "akka.management.http.") && sherd_http_register() != 0)
        return 2;
#endif
    error = open_nodes(&nodes, argv[1], config, also, type);
    if (!error)
        error = spawn_echo(nodes.items[0].system);
    if (!error)
        error = data_spawn(nodes.items[0].system);
    if (!error) {
        run_commands(&nodes);
        error = sherd_wait(nodes.items[0].system);
    }
    printf("ended %d %s\n", error, error ? sherd_strerror(error) : "");
    for (uint32_t i = 0; i < nodes.count; i++) {
        sherd_status_free(&nodes.items[i].seen);
        sherd_close(nodes.items[i].system);
    }
    return error != 0;
}
