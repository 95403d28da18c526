/* Implements the public functions of a system's life.
 *
 * Requests of the program's threads are in host/system_ask.c, the shared state in host/system.h. */
#define _GNU_SOURCE
#include "host/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"
#include "host/client.h"
#include "host/durable.h"
#include "host/discovery.h"
#include "host/dns_lookup.h"
#include "host/lease_provider.h"
#include "host/log.h"
#include "host/manage.h"
#include "host/quiet_signals.h"
#include "host/standard_files.h"
#include "host/look_settings.h"
#include "host/looks.h"
#include "host/region_calls.h"
#include "host/status.h"
#include "host/type_calls.h"
#include "host/thread.h"
#include "lease/lease.h"
#include "node/entity_type.h"

const char *sherd_version(void)
{
    return "0.1.0";
}

/* The process is about to abort: writes where nothing gets lost. */
static void last_words(const char *text)
{
    (void)fprintf(stderr, "sherd: %s\n", text);
}

/* ---- opening ---- */

/* Each thread needs a few descriptors, each peer some more. */
static int check_descriptors(struct sherd_system *system)
{
    struct rlimit limit;
    rlim_t needed = DESCRIPTORS_MIN + 8 * (system->settings.node.lanes + 1);

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return 0;
    if (limit.rlim_cur < needed) {
        system_log(system, TRACE_ERROR, "host",
                   "the limit on open files is too low limit=%llu needed=%llu "
                   "hint=\"ulimit -n\"",
                   (unsigned long long)limit.rlim_cur,
                   (unsigned long long)needed);
        return SHERD_ESYSTEM;
    }
    if (limit.rlim_cur < DESCRIPTORS_GOOD)
        system_log(system, TRACE_WARNING, "host",
                   "the limit on open files is low limit=%llu wanted=%d "
                   "hint=\"ulimit -n\"",
                   (unsigned long long)limit.rlim_cur, DESCRIPTORS_GOOD);
    return 0;
}

static void log_tls(void *owner, enum trace_level level, const char *text)
{
    system_log(owner, level, "tls", "%s", text);
}

static int open_tls(struct sherd_system *system)
{
    struct tls_options options = system->settings.tls;
    char error[640];

    if (!system->settings.uses_tls)
        return 0;
    options.log = log_tls;
    options.owner = system;
    if (tls_open(&system->tls, &options, uv_hrtime(), error, sizeof error) !=
        0) {
        system_log(system, TRACE_ERROR, "tls", "%s", error);
        return SHERD_ECONFIG;
    }
    if (!tls_verifies_names(system->tls))
        system_log(system, TRACE_WARNING, "tls",
                   "hostname-verification is off: each certificate of the CA "
                   "can speak for any node "
                   "hint=\"set remote.artery.ssl.config-ssl-engine."
                   "hostname-verification = on\"");
    return 0;
}

/* The setting of the host or port that a listener could not use. */
static const char *key_of_fault(const struct config *config, int fault)
{
    if (fault == LISTENER_BAD_PORT)
        return config_int(config, "remote.artery.bind.port") == CONFIG_WORD
                   ? "remote.artery.canonical.port"
                   : "remote.artery.bind.port";
    return *config_text(config, "remote.artery.bind.hostname")
               ? "remote.artery.bind.hostname"
               : "remote.artery.canonical.hostname";
}

/* Any program that reaches a plain node's port can do what a node can. */
static int check_plain(struct sherd_system *system)
{
    const struct settings *settings = &system->settings;
    const char *key = key_of_fault(settings->config, LISTENER_BAD_HOST);
    struct config_origin origin = config_origin(settings->config, key);

    if (system->tls || listener_is_loopback(system->listener))
        return 0;
    if (!settings->allows_plain) {
        system_log(system, TRACE_ERROR, "config",
                   "other hosts reach this address and connections are plain "
                   "bind=%s key=%s%s source=%s line=%u hint=\"set "
                   "remote.artery.transport = tls-tcp, or remote.allow-plain "
                   "= on\"",
                   settings->bind_host, origin.prefix, key, origin.source,
                   (unsigned)origin.line);
        return SHERD_ECONFIG;
    }
    system_log(system, TRACE_WARNING, "host",
               "connections are plain: each program that reaches this address "
               "can act as a node bind=%s hint=\"set remote.artery.transport = "
               "tls-tcp\"",
               settings->bind_host);
    return 0;
}

static int open_listener(struct sherd_system *system)
{
    struct settings *settings = &system->settings;
    struct config_origin origin;
    const char *key;
    char error[256];
    int fault = listener_open(&system->listener, settings->bind_host,
                              settings->bind_port, error, sizeof error);

    if (fault != 0) {
        key = key_of_fault(settings->config, fault);
        origin = config_origin(settings->config, key);
        system_log(system, TRACE_ERROR, "host",
                   "%s key=%s%s source=%s line=%u", error, origin.prefix, key,
                   origin.source, (unsigned)origin.line);
        return SHERD_EADDRESS;
    }
    system->port = listener_port(system->listener);
    if (settings->port_any)
        settings->node.identity.node.address.port = system->port;
    system_log_name(system);
    if (strchr(settings->node.identity.node.address.host, '_'))
        system_log(system, TRACE_INFO, "host",
                   "host name has an underscore: JVM nodes cannot answer this "
                   "node host=%s",
                   settings->node.identity.node.address.host);
    return check_plain(system);
}

static uint32_t thread_count(const struct sherd_system *system)
{
    uint32_t lanes = system->settings.node.lanes;

    return lanes == 1 ? 1 : lanes + 1;
}

/* Limits how many threads poll. */
static bool may_poll(const struct sherd_system *system, uint32_t threads)
{
    return system->settings.poll == POLL_LATENCY ||
           (system->settings.poll == POLL_AUTOMATIC &&
            threads <= uv_available_parallelism());
}

static void set_polling(struct sherd_system *system)
{
    uint32_t count = thread_count(system);

    system->polls = may_poll(system, count);
    system->polls_store = may_poll(system, count + 1);
}

static void found(void *context, struct seed_list *list)
{
    struct thread *thread = system_thread(context, 0);

    inbox_put_found(&thread->inbox, list);
    thread_wake(thread);
}

static void say_found(void *context, enum trace_level level, const char *text)
{
    if (level == TRACE_INFO)
        system_log(context, level, "member", "some seed nodes ignored why=\"%s\"", text);
    else
        system_log(context, level, "member",
                   "no seed nodes yet why=\"%s\" "
                   "hint=\"correct the file or DNS name, or add seed nodes\"",
                   text);
}

static int open_finder(struct sherd_system *system)
{
    struct discovery_options options = system->settings.discovery;

    if (!system->settings.node.finds_seeds)
        return 0;
    options.done = found;
    options.say = say_found;
    options.context = system;
    if (!options.dns.port)
        options.dns.port = system->settings.node.identity.node.address.port;
    system->discovery = discovery_open(&options);
    if (system->discovery)
        return 0;
    system_log(system, TRACE_ERROR, "host",
               "thread cannot start reason=\"%s\" "
               "hint=\"check the limits of threads and memory\"",
               strerror(errno));
    return SHERD_ESYSTEM;
}

/* Building a node finds settings that contradict each other. */
static int check_settings(struct sherd_system *system)
{
    char error[256] = "";
    struct node *node =
        node_new(&system->settings.node, error, sizeof error);

    if (!node) {
        system_log(system, TRACE_ERROR, "node", "%s", error);
        return SHERD_ECONFIG;
    }
    node_free(node);
    return 0;
}

static int read_settings(struct sherd_system *system,
                         const struct sherd_options *options)
{
    char error[1024] = "";
    int result = settings_read(&system->settings, options, error, sizeof error);

    system_log_open(system, options, result == 0);
    system_log_name_early(system, options);
    if (result != 0)
        system_log(system, TRACE_ERROR, "config", "%s", error);
    else
        system_log_ineffective(system);
    system->settings.node.services.open_lease = system_open_lease;
    system->settings.node.services.user = system;
    return result;
}

static int open_system(struct sherd_system **system,
                       const struct sherd_options *options)
{
    static const struct sherd_options defaults = { 0 };
    struct sherd_system *opened;
    int result;

    opened = mem_alloc(sizeof *opened);
    opened->mark = fork_watch_mark();
    opened->signal_pipe = -1;
    opened->lookups = dns_lookups_new();
    check(uv_mutex_init(&opened->mutex) == 0);
    check(uv_mutex_init(&opened->types_mutex) == 0);
    check(uv_cond_init(&opened->changed) == 0);
    reserved_refs_init(&opened->refs);
    result = read_settings(opened, options ? options : &defaults);
    if (result == 0)
        result = check_settings(opened);
    if (result == 0)
        result = check_descriptors(opened);
    if (result == 0)
        result = open_tls(opened);
    if (result == 0)
        result = open_listener(opened);
    if (result == 0) {
        set_polling(opened);
        result = system_open_store(opened);
    }
    if (result == 0)
        result = system_open_leases(opened);
    if (result == 0)
        result = system_open_durable(opened);
    if (result == 0)
        result = open_finder(opened);
    if (result == 0)
        result = manage_open(opened);
    if (result != 0) {
        sherd_close(opened);
        return result;
    }
    *system = opened;
    return 0;
}

int sherd_open(struct sherd_system **system,
               const struct sherd_options *options)
{
    struct quiet_signals quiet;
    int result;

    if (!system)
        return SHERD_EINVAL;
    *system = NULL;
    check_set_hook(last_words);
    if (!standard_files_keep())
        return SHERD_ESYSTEM;
    quiet_signals_begin(&quiet);
    result = open_system(system, options);
    quiet_signals_end(&quiet);
    return result;
}

uint16_t sherd_port(const struct sherd_system *system)
{
    check(system != NULL);
    return system->port;
}

/* ---- starting ---- */

static int make_node(struct sherd_system *system)
{
    struct node_settings *settings = &system->settings.node;
    char error[256] = "";

    system_compare_stores(system);
    settings->types = system->types.items;
    settings->type_count = system->types.count;
    settings->next_setting = look_next_setting;
    settings->configuration = system->settings.config;
    settings->late_types_max = ACTOR_TYPES_MAX - system->types.count;
    settings->now = uv_hrtime();
    system->node = node_new(settings, error, sizeof error);
    if (!system->node) {
        system_log(system, TRACE_ERROR, "node", "%s", error);
        return SHERD_ESYSTEM;
    }
    system->machine_count = settings->lanes + 1;
    system->rings = mem_alloc((size_t)system->machine_count *
                              system->machine_count * sizeof *system->rings);
    return 0;
}

static int make_threads(struct sherd_system *system)
{
    uint32_t count = thread_count(system);
    size_t size = count * sizeof *system->threads;

    system->threads = aligned_alloc(_Alignof(struct thread), size);
    check(system->threads);
    system->thread_count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (thread_init(&system->threads[i], system, i) != 0) {
            system_log(system, TRACE_ERROR, "host",
                       "thread has no event loop: no file descriptors left "
                       "hint=\"raise ulimit -n\"");
            for (uint32_t done = 0; done < i; done++) {
                thread_join(&system->threads[done]);
                thread_fini(&system->threads[done]);
            }
            free(system->threads);
            system->threads = NULL;
            return SHERD_ESYSTEM;
        }
    }
    atomic_store_explicit(&system->has_threads, true, memory_order_seq_cst);
    return 0;
}

static int start_system(struct sherd_system *system)
{
    int result = make_node(system);

    if (result == 0)
        result = system_open_durable(system);
    if (result == 0)
        result = system_start_store(system);
    if (result == 0)
        result = make_threads(system);
    if (result == 0)
        reserved_refs_fill(&system->refs, node_machine(system->node, 1));
    if (result == 0)
        result = system_pool_open(system);
    for (uint32_t i = 0; result == 0 && i < system->thread_count; i++) {
        if (thread_start(&system->threads[i]) != 0) {
            system_log(system, TRACE_ERROR, "host",
                       "thread cannot start reason=\"%s\" "
                       "hint=\"check the limits of threads and memory\"",
                       strerror(errno));
            result = SHERD_ESYSTEM;
        }
    }
    if (result == 0)
        result = manage_start(system);
    if (result != 0)
        system_end(system, result);
    return result;
}

int sherd_start(struct sherd_system *system)
{
    int expected = SYSTEM_OPEN;
    struct quiet_signals quiet;
    int result;

    if (system_state_of(system) != SYSTEM_OPEN)
        return SHERD_ESTATE;
    if (!standard_files_keep())
        return SHERD_ESYSTEM;
    if (!atomic_compare_exchange_strong(&system->state, &expected,
                                        SYSTEM_RUNNING))
        return SHERD_ESTATE;
    quiet_signals_begin(&quiet);
    system_log_unused(system);
    result = start_system(system);
    quiet_signals_end(&quiet);
    return result;
}

/* ---- ending ---- */

void system_end(struct sherd_system *system, int error)
{
    system_tell(system, SYSTEM_REMOVED); /* before sherd_wait returns */
    uv_mutex_lock(&system->mutex);
    if (system_state_of(system) != SYSTEM_ENDED) {
        system->error = error;
        atomic_store(&system->state, SYSTEM_ENDED);
        atomic_store_explicit(&system->stopping, true, memory_order_seq_cst);
        if (system->signal_pipe >= 0 &&
            write(system->signal_pipe, "e", 1) != 1 && errno != EAGAIN)
            check_failed(__FILE__, __LINE__, "the pipe of sherd_run works");
        uv_cond_broadcast(&system->changed);
    }
    uv_mutex_unlock(&system->mutex);
    clients_end(system);
    for (uint32_t i = 0; system_has_threads(system) && i < system->thread_count; i++)
        thread_wake(&system->threads[i]);
}

int sherd_wait(struct sherd_system *system)
{
    int error;

    if (system_state_of(system) == SYSTEM_OPEN || system_is_lost(system))
        return SHERD_ESTATE;
    uv_mutex_lock(&system->mutex);
    while (system_state_of(system) != SYSTEM_ENDED)
        uv_cond_wait(&system->changed, &system->mutex);
    error = system->error;
    uv_mutex_unlock(&system->mutex);
    return error;
}

void sherd_halt(struct sherd_system *system)
{
    check(system != NULL);
    if (!system_is_lost(system))
        system_end(system, 0);
}

static void free_types(struct sherd_system *system)
{
    for (uint32_t i = 0; i < system->types.count; i++) {
        mem_free((void *)(uintptr_t)system->types.items[i].name);
        mem_free((void *)(uintptr_t)system->types.items[i].role);
        mem_free((void *)(uintptr_t)system->types.items[i].data_center);
        mem_free((void *)(uintptr_t)system->types.items[i].use_lease);
        mem_free((void *)(uintptr_t)system->types.items[i].allocation);
        entity_type_free(&system->types.items[i]);
    }
    vec_fini(&system->types);
}

static void free_system(struct sherd_system *system)
{
    system_end(system, 0);
    manage_stop(system);
    for (uint32_t i = 0; system->threads && i < system->thread_count; i++)
        thread_join(&system->threads[i]);
    system_pool_close(system);
    backend_client_close(system->store);
    for (uint32_t i = 0; i < LEASE_PROVIDER_COUNT; i++)
        lease_provider_close(system->leases[i]);
    durable_close(system->durable);
    discovery_close(system->discovery);
    for (uint32_t i = 0; system->threads && i < system->thread_count; i++)
        thread_fini(&system->threads[i]);
    for (uint32_t i = 0; system->rings &&
                         i < system->machine_count * system->machine_count;
         i++)
        ring_free(atomic_load_explicit(&system->rings[i],
                                       memory_order_relaxed));
    mem_free(system->rings);
    node_free(system->node);
    looks_end(system);
    manage_close(system);
    clients_detach(system);
    free(system->threads);
    status_calls_free(system);
    region_calls_free(system);
    type_calls_free(system);
    listener_free(system->listener);
    dns_lookups_close(system->lookups);
    tls_close(system->tls);
    free_types(system);
    mem_free(system->store_name);
    system_callbacks_free(system);
    log_close(system->log);
    settings_fini(&system->settings);
    reserved_refs_fini(&system->refs);
    uv_cond_destroy(&system->changed);
    uv_mutex_destroy(&system->mutex);
    uv_mutex_destroy(&system->types_mutex);
    mem_free(system);
}

void sherd_close(struct sherd_system *system)
{
    struct quiet_signals quiet;

    if (!system || system_is_lost(system)) /* the parent uses what it has */
        return;
    quiet_signals_begin(&quiet);
    free_system(system);
    quiet_signals_end(&quiet);
}
