/* Writes the lines from facts, and sends them without waiting. If the socket is full, the
 * next look tells the same. */
#define _GNU_SOURCE
#include "host/service_manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "host/manage.h"
#include "host/system.h"

#define STATUS_PAUSE (1000 * UINT64_C(1000000))    /* ns between two texts */
#define EXTENSION_PAUSE (5000 * UINT64_C(1000000)) /* ns between two extensions */
#define EXTENSION "EXTEND_TIMEOUT_USEC=15000000\n"

/* ---- lines ---- */

/* beside bits of enum sherd_unready */
#define STATUS_READY (UINT32_C(1) << 31)
#define STATUS_LEAVES (UINT32_C(1) << 30)

static uint32_t status_of(const struct service_facts *facts)
{
    if (facts->leaves || facts->has_ended)
        return STATUS_LEAVES;
    return facts->is_ready ? STATUS_READY : facts->unready;
}

static void put_reasons(struct buf *lines, uint32_t unready)
{
    static const struct {
        uint32_t bit;
        const char *text;
    } reasons[] = {
        { SHERD_UNREADY_MEMBER, "the node is not up" },
        { SHERD_UNREADY_LANES, "a thread is blocked" },
        { SHERD_UNREADY_STORAGE, "the storage fails" },
        { SHERD_UNREADY_TLS, "the files of TLS cannot be used" },
        { SHERD_UNREADY_SHARDING, "an entity type has not registered" },
    };
    const char *before = ": ";

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (unready & reasons[i].bit) {
            buf_put_text(lines, before);
            buf_put_text(lines, reasons[i].text);
            before = ", ";
        }
}

static void put_status(struct buf *lines, uint32_t status)
{
    buf_put_text(lines, "STATUS=");
    if (status == STATUS_LEAVES) {
        buf_put_text(lines, "leaves the cluster");
    } else if (status == STATUS_READY) {
        buf_put_text(lines, "ready");
    } else {
        buf_put_text(lines, "not ready");
        put_reasons(lines, status);
    }
    buf_put_text(lines, "\n");
}

void service_notice(struct service_notices *notices, const struct service_facts *facts,
                    uint64_t now, struct buf *lines)
{
    bool stops = facts->leaves || facts->has_ended;
    uint32_t status = status_of(facts);

    if (stops && !notices->has_stopped) {
        notices->has_stopped = true;
        buf_put_text(lines, "STOPPING=1\n");
    }
    if (facts->is_ready && !notices->has_stopped && !notices->was_ready) {
        notices->was_ready = true;
        buf_put_text(lines, "READY=1\n");
    }
    if (now >= notices->next_status && (!notices->has_told || status != notices->status)) {
        notices->has_told = true;
        notices->status = status;
        notices->next_status = now + STATUS_PAUSE;
        put_status(lines, status);
    }
    if (facts->leaves && !facts->has_ended && now >= notices->next_extension) {
        notices->next_extension = now + EXTENSION_PAUSE;
        buf_put_text(lines, EXTENSION);
    }
    if (notices->pulse && facts->is_alive && now >= notices->next_pulse) {
        notices->next_pulse = now + notices->pulse;
        buf_put_text(lines, "WATCHDOG=1\n");
    }
}

/* ---- the socket ---- */

/* False: a path that no socket can have. */
static bool put_address(const char *path, struct sockaddr_un *address, socklen_t *size)
{
    size_t length = strlen(path);

    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if ((*path != '/' && *path != '@') || length < 2 || length >= sizeof address->sun_path)
        return false;
    memcpy(address->sun_path, path, length);
    if (*path == '@')
        address->sun_path[0] = 0;
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (*path == '/'));
    return true;
}

/* The pause of this process's signs of life, ns; 0: none are wanted. */
static uint64_t pulse_wanted(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    char *end;
    unsigned long long number;

    if (!usec || !*usec || (pid && strtoll(pid, NULL, 10) != (long long)getpid()))
        return 0;
    errno = 0;
    number = strtoull(usec, &end, 10);
    if (*end || errno || !number || number > UINT64_MAX / 1000)
        return 0;
    return number * 1000 / 2;
}

void service_manager_begin(struct service_manager *manager, struct sherd_system *system)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t size;
    const char *reason = NULL;

    *manager = (struct service_manager){ .socket = -1 };
    if (!path || !*path)
        return;
    if (!put_address(path, &address, &size)) {
        reason = "it is no path of a socket, and has no @ before a name";
    } else {
        manager->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (manager->socket < 0 ||
            connect(manager->socket, (const struct sockaddr *)&address, size) != 0)
            reason = strerror(errno);
    }
    manager->notices.pulse = pulse_wanted();
    if (!reason)
        return;
    service_manager_end(manager);
    system_log(system, TRACE_WARNING, "host",
               "the service manager cannot be told of the node NOTIFY_SOCKET=%s reason=\"%s\" "
               "hint=\"a unit of Type=notify waits for it: correct the variable\"",
               path, reason);
}

static void tell(struct service_manager *manager, const struct service_facts *facts)
{
    struct service_notices notices = manager->notices;
    struct buf lines = { 0 };

    service_notice(&notices, facts, uv_hrtime(), &lines);
    if (!lines.size || send(manager->socket, lines.data, lines.size, MSG_NOSIGNAL) >= 0)
        manager->notices = notices;
    buf_fini(&lines);
}

void service_manager_look(struct service_manager *manager, struct sherd_system *system)
{
    struct sherd_health health;
    struct service_facts facts;

    if (manager->socket < 0)
        return;
    manage_health(system, UINT32_C(1) << SHERD_UP, &health);
    facts = (struct service_facts){
        .is_ready = sherd_is_ready(system),
        .is_alive = health.alive,
        .leaves = health.unready & SHERD_UNREADY_LEAVING,
        .unready = health.unready,
    };
    tell(manager, &facts);
}

void service_manager_end(struct service_manager *manager)
{
    const struct service_facts facts = { .has_ended = true };

    if (manager->socket < 0)
        return;
    tell(manager, &facts);
    (void)close(manager->socket);
    manager->socket = -1;
}
