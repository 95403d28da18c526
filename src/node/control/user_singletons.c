/* Runs the managers and proxies of actors' singletons on control, and tells their keepers. */
#include "node/control/user_singletons.h"

#include "actor/services.h"
#include "actor/singleton_call.h"
#include "artery/control.h"
#include "artery/extension.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "node/control/control.h"
#include "node/peers/actor_path.h"
#include "node/peers/lease_names.h"
#include "singleton/proxy.h"

/* The paths are those of Akka's typed singletons. */
#define MANAGER "/system/singletonManager"
#define PROXY "/system/singletonProxy"

#define PATH_ROOM 64 /* bytes of an actor's path: name_path */

struct user_singleton {
    struct buf name, role, center; /* each with a zero byte; center empty: this node's */
    struct buf manager_path;  /* likewise */
    struct buf instance_path; /* below the manager's: proxies of JVM nodes ask for it */
    struct buf proxy_path;
    struct singleton *manager; /* null: this node cannot run it */
    uint32_t index; /* its place */
    enum lease_provider_kind lease; /* NONE: an instance needs none */
    uint32_t lease_ticket; /* of the last request about it */
    struct proxy *proxy;
    uint64_t keeper;
    uint32_t lane; /* the keeper's */
    uint64_t instance; /* the actor that runs it here; 0: none */
    char instance_actor[PATH_ROOM]; /* its own path */
    uint32_t instance_actor_size;
    struct sherd_ref found; /* of the proxy's last PROXY_NEWS_FOUND */
    bool exit_done;
};

static const char *text_of(const struct buf *text)
{
    return (const char *)text->data;
}

static void put_text(struct buf *buf, const char *before, struct slice text)
{
    buf_put_text(buf, before);
    buf_put_slice(buf, text);
    buf_put_u8(buf, 0);
}

static bool is_path(struct slice path, const struct buf *of)
{
    return slice_is(path, text_of(of));
}

/* ---- the keeper ---- */

static void post(struct control *control, uint32_t lane, uint64_t keeper,
                 enum singleton_answer answer, struct sherd_ref ref)
{
    struct buf *body = mem_alloc(sizeof *body);
    struct mail_content content =
        MAIL(data_answer, .actor = keeper, .msg = (enum sherd_data_message)answer,
             .own = { body });

    if (ref.actor || ref.node)
        buf_put(body, &ref, sizeof ref);
    outputs_post(&control->machine->outputs, lane + 1, &content);
}

static void tell(struct control *control, const struct user_singleton *item,
                 enum singleton_answer answer)
{
    post(control, item->lane, item->keeper, answer, (struct sherd_ref){ 0, 0 });
}

/* ---- members ---- */

static bool has_role(const struct control *control, const struct user_singleton *item,
                     const struct member_view *view)
{
    const char *center = text_of(&item->center);

    return member_has_role(view, text_of(&item->role)) &&
           strcmp(view->profile->traits->data_center,
                  *center ? center : control->machine->settings->data_center) == 0;
}

static void tell_peer(struct control *control, struct user_singleton *item,
                      const struct member_view *view)
{
    struct member_info peer = control_peer_of_all(control, view);

    peer.has_role = has_role(control, item, view);
    if (item->manager)
        singleton_peer(item->manager, control->machine->now, &peer);
    proxy_peer(item->proxy, &peer);
}

static void peers_done(struct control *control, struct user_singleton *item)
{
    struct machine *machine = control->machine;

    if (item->manager)
        singleton_peers_done(item->manager, machine->now, &machine->outbox);
    proxy_peers_done(item->proxy, machine->now);
}

void user_singletons_peer(struct control *control, const struct member_view *view)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++)
        tell_peer(control, control->singletons.items.items[i], view);
}

void user_singletons_peer_removed(struct control *control, const struct node_id *node,
                                  bool has_left)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++) {
        struct user_singleton *item = control->singletons.items.items[i];

        if (item->manager)
            singleton_peer_removed(item->manager, control->machine->now, node, has_left);
        proxy_peer_removed(item->proxy, node);
    }
}

void user_singletons_peers_done(struct control *control)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++)
        peers_done(control, control->singletons.items.items[i]);
}

/* ---- opening ---- */

static bool runs_here(const struct control *control, const struct singleton_call *call)
{
    const struct node_settings *settings = control->machine->settings;

    if (!call->is_host || call->center.size || control->shutdown >= SHUTDOWN_HANDING)
        return false;
    for (uint32_t i = 0; call->role.size && i < settings->role_count; i++)
        if (slice_is(call->role, settings->roles[i]))
            return true;
    return !call->role.size;
}

static struct singleton *manager_new(struct control *control, const struct user_singleton *item,
                                     const struct singleton_call *call)
{
    struct machine *machine = control->machine;
    struct singleton_options options = {
        .identity = machine->self,
        .path = text_of(&item->manager_path),
        .settings = {
            .retry_interval_ms = call->retry_ms,
            .removal_margin_ms = machine->settings->down_removal_margin / MS,
            .retries_min = call->retries,
            .uses_lease = item->lease != LEASE_PROVIDER_NONE,
            .lease_retry_ms = call->lease_retry_ms,
            .release_timeout_ms = machine->settings->lease_patience / MS,
        },
        .trace = machine->trace,
        .seed = machine->settings->seed + 6000 + control->singletons.items.count,
    };

    return singleton_new(&options, machine->now);
}

static bool is_taken(const struct control *control, const struct singleton_call *call)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++) {
        const struct user_singleton *item = control->singletons.items.items[i];

        if (slice_is(call->name, text_of(&item->name)) &&
            slice_is(call->center, text_of(&item->center)))
            return true;
    }
    return false;
}

/* Leases of two singletons must not have one name. */
static bool is_lease_too_long(const struct control *control, const struct singleton_call *call)
{
    struct buf path = { 0 };
    struct buf name = { 0 };
    bool is_long;

    put_text(&path, MANAGER, call->name);
    singleton_lease_name_put(&name, control->machine->settings, text_of(&path));
    is_long = call->lease && name.size >= LEASE_TEXT_MAX;
    buf_fini(&path);
    buf_fini(&name);
    return is_long;
}

/* True: refused, and logged. */
static bool refuse(struct control *control, uint32_t lane, uint64_t keeper,
                   const struct singleton_call *call)
{
    const char *why = NULL;
    const char *hint = NULL;

    if (is_taken(control, call)) {
        why = "this node has opened it already";
        hint = "open it once, and share its reference";
    } else if (control->singletons.items.count == USER_SINGLETONS_MAX) {
        why = "the node has too many";
        hint = "use fewer";
    } else if (is_lease_too_long(control, call)) {
        why = "the name of its lease, with the names of the system and the singleton, is too long";
        hint = "shorten them, so that the lease has at most 255 bytes";
    }
    if (!why)
        return false;
    trace_put(control->machine->trace, TRACE_ERROR, "singleton",
              "singleton refused: %s name=%.*s hint=\"%s\"", why, (int)call->name.size,
              (const char *)call->name.data, hint);
    post(control, lane, keeper, KEEPER_REFUSED, (struct sherd_ref){ 0, 0 });
    return true;
}

/* A proxy for another data center has a path of its own: no name has a "/". */
static void put_proxy_path(struct user_singleton *item, const struct singleton_call *call)
{
    buf_put_text(&item->proxy_path, PROXY);
    buf_put_slice(&item->proxy_path, call->name);
    put_text(&item->proxy_path, call->center.size ? "/" : "", call->center);
}

static void open_singleton(struct control *control, uint32_t lane, uint64_t keeper,
                           const struct singleton_call *call)
{
    struct user_singleton *item;

    if (refuse(control, lane, keeper, call))
        return;
    item = mem_alloc(sizeof *item);
    item->keeper = keeper;
    item->lane = lane;
    put_text(&item->name, "", call->name);
    put_text(&item->role, "", call->role);
    put_text(&item->center, "", call->center);
    put_text(&item->manager_path, MANAGER, call->name);
    put_proxy_path(item, call);
    buf_put_text(&item->instance_path, text_of(&item->manager_path));
    put_text(&item->instance_path, "/", call->name);
    item->proxy = proxy_new(call->interval_ms);
    item->index = control->singletons.items.count;
    item->lease = (enum lease_provider_kind)call->lease;
    if (runs_here(control, call)) {
        control_leases_open(control, item->lease);
        item->manager = manager_new(control, item, call);
    }
    item->exit_done = !item->manager;
    vec_push(&control->singletons.items, item);
    for (uint32_t i = 0; i < member_count(control->member); i++)
        tell_peer(control, item, member_at(control->member, i));
    peers_done(control, item);
}

static void item_free(struct user_singleton *item)
{
    buf_fini(&item->name);
    buf_fini(&item->role);
    buf_fini(&item->center);
    buf_fini(&item->manager_path);
    buf_fini(&item->instance_path);
    buf_fini(&item->proxy_path);
    singleton_free(item->manager);
    proxy_free(item->proxy);
    mem_free(item);
}

void user_singletons_fini(struct control *control)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++)
        item_free(control->singletons.items.items[i]);
    vec_fini(&control->singletons.items);
}

/* ---- calls ---- */

static struct user_singleton *item_of(struct control *control, uint64_t keeper)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++)
        if (control->singletons.items.items[i]->keeper == keeper)
            return control->singletons.items.items[i];
    return NULL;
}

static void instance_is(struct user_singleton *item, uint64_t instance)
{
    item->instance = instance;
    item->instance_actor_size =
        instance ? (uint32_t)name_path(item->instance_actor, instance, 0) : 0;
}

static void do_call(struct control *control, struct user_singleton *item,
                    const struct singleton_call *call)
{
    struct machine *machine = control->machine;

    switch (call->verb) {
    case KEEPER_OPEN:
        break;
    case KEEPER_RUNS:
        instance_is(item, call->instance);
        break;
    case KEEPER_ENDED:
        instance_is(item, 0);
        if (item->manager)
            singleton_stopped(item->manager, machine->now, &machine->outbox);
        break;
    case KEEPER_NOT_THERE:
        proxy_ended(item->proxy, machine->now);
        break;
    }
}

void user_singletons_call(struct control *control, uint32_t lane,
                          const struct mail_data_call *mail)
{
    struct user_singleton *item = item_of(control, mail->actor);
    struct singleton_call call;

    singleton_call_read(&call, buf_slice(mail->own.bytes));
    if (call.verb == KEEPER_OPEN && !item)
        open_singleton(control, lane, mail->actor, &call);
    else if (item)
        do_call(control, item, &call);
}

/* ---- messages ---- */

/* An instance is an actor of a Sherd node. A JVM's instance has another path. */
static void identified(struct control *control, struct user_singleton *item,
                       const struct inbound *inbound)
{
    struct buf literal = { 0 };
    struct address address;
    struct slice path;
    uint64_t actor, ask;

    if (!identity_read(inbound->payload, &literal)) {
        control->unknown++;
    } else if (literal.size && ref_parse(control->machine->self, buf_slice(&literal),
                                         &address, &path) &&
               name_parse(path, &actor, &ask) && !ask) {
        item->found = (struct sherd_ref){ inbound->from.uid, actor };
        proxy_found(item->proxy, &inbound->from);
    }
    buf_fini(&literal);
}

static bool is_answer(const struct inbound *inbound)
{
    return inbound->serializer == SERIALIZER_MISC && slice_is(inbound->manifest, "B");
}

static struct user_singleton *receiver(const struct control *control, const struct inbound *inbound)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++) {
        struct user_singleton *item = control->singletons.items.items[i];

        if (is_answer(inbound) ? is_path(inbound->recipient, &item->proxy_path)
                               : item->manager && is_path(inbound->recipient, &item->manager_path))
            return item;
    }
    return NULL;
}

bool user_singletons_take(const struct control *control, const struct inbound *inbound)
{
    return (is_answer(inbound) || inbound->serializer == SINGLETON_SERIALIZER) &&
           receiver(control, inbound) != NULL;
}

void user_singletons_receive(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    struct user_singleton *item = receiver(control, inbound);

    turn_stir(&control->turn);
    if (is_answer(inbound))
        identified(control, item, inbound);
    else
        singleton_receive(item->manager, machine->now, inbound, &machine->outbox);
}

struct slice user_singletons_identified(const struct control *control, struct slice path)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++) {
        const struct user_singleton *item = control->singletons.items.items[i];

        if (item->instance && is_path(path, &item->instance_path))
            return slice_of(item->instance_actor, item->instance_actor_size);
    }
    return (struct slice){ 0 };
}

/* ---- leases ---- */

static void ask_for_lease(struct control *control, struct user_singleton *item)
{
    struct buf name = { 0 };

    singleton_lease_name_put(&name, control->machine->settings, text_of(&item->manager_path));
    control_leases_ask_for(control, item->lease, item->index, ++item->lease_ticket,
                           buf_slice(&name));
    buf_fini(&name);
}

/* The lane hears of the lease before the keeper may start the instance. */
static void granted(struct control *control, struct user_singleton *item,
                    const struct lease_group_news *news)
{
    struct mail_content content = MAIL(leased, .kind = LEASE_GROUP_GRANTED, .actor = item->keeper,
                                       .provider = item->lease, .until = news->until);

    outputs_post(&control->machine->outputs, item->lane + 1, &content);
    singleton_leased(item->manager);
}

static void denied(struct control *control, struct user_singleton *item,
                   const struct lease_group_news *news)
{
    trace_put(control->machine->trace, TRACE_WARNING, "lease",
              "lease of a singleton not acquired, tried again name=%s reason=\"%s\" hint=\"%s\"",
              text_of(&item->name),
              news->is_unknown ? "the lease provider does not answer" : "another node has it",
              news->is_unknown ? "check the lease provider and the network to it"
                               : "normal after a crash, until the lease expires");
    singleton_lease_denied(item->manager, control->machine->now);
}

void user_singletons_leased(struct control *control, uint32_t index,
                            const struct lease_group_news *news)
{
    struct user_singleton *item = control->singletons.items.items[index];

    if (news->ticket != item->lease_ticket)
        return; /* it has given up since, or asked again */
    turn_stir(&control->turn);
    if (news->kind == LEASE_GROUP_GRANTED)
        granted(control, item, news);
    else if (news->kind == LEASE_GROUP_DENIED)
        denied(control, item, news);
    else
        singleton_released(item->manager, control->machine->now, &control->machine->outbox);
}

/* The lanes, which hear of it first, end the instances. */
void user_singletons_leases_lost(struct control *control, enum lease_provider_kind provider)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++) {
        struct user_singleton *item = control->singletons.items.items[i];

        if (item->manager && item->lease == provider)
            singleton_lease_lost(item->manager, control->machine->now, &control->machine->outbox);
    }
}

/* ---- turns ---- */

void user_singletons_step(struct control *control)
{
    struct machine *machine = control->machine;

    for (uint32_t i = 0; i < control->singletons.items.count; i++) {
        struct user_singleton *item = control->singletons.items.items[i];

        if (item->manager && singleton_deadline(item->manager) <= machine->now &&
            !member_has_news(control->member))
            singleton_step(item->manager, machine->now, &machine->outbox);
        proxy_step(item->proxy, machine->now);
    }
}

uint64_t user_singletons_deadline(const struct control *control)
{
    uint64_t deadline = NEVER;

    for (uint32_t i = 0; i < control->singletons.items.count; i++) {
        const struct user_singleton *item = control->singletons.items.items[i];
        uint64_t manager = item->manager ? singleton_deadline(item->manager) : NEVER;
        uint64_t proxy = proxy_deadline(item->proxy);

        if (manager < deadline)
            deadline = manager;
        if (proxy < deadline)
            deadline = proxy;
    }
    return deadline;
}

static void wire_manager(struct control *control, struct user_singleton *item)
{
    enum singleton_news news;

    while (singleton_next_news(item->manager, &news)) {
        switch (news) {
        case SINGLETON_NEWS_START:
            tell(control, item, KEEPER_START);
            break;
        case SINGLETON_NEWS_STOP:
            tell(control, item, KEEPER_STOP);
            break;
        case SINGLETON_NEWS_EXIT_DONE:
            item->exit_done = true;
            break;
        case SINGLETON_NEWS_END:
            tell(control, item, KEEPER_UNLEASED);
            break;
        case SINGLETON_NEWS_LEASE:
            ask_for_lease(control, item);
            break;
        case SINGLETON_NEWS_RELEASE:
            control_leases_give_up_of(control, item->lease, item->index, ++item->lease_ticket);
            break;
        case SINGLETON_NEWS_OLDEST: /* the proxy follows membership itself */
            break;
        }
    }
}

static void wire_proxy(struct control *control, struct user_singleton *item)
{
    struct machine *machine = control->machine;
    enum proxy_news news;
    struct node_id target;

    while (proxy_next_news(item->proxy, &news)) {
        switch (news) {
        case PROXY_NEWS_ASK:
            if (proxy_target(item->proxy, &target))
                identify_put(&machine->outbox, &target, slice_text(text_of(&item->instance_path)),
                             slice_text(text_of(&item->proxy_path)));
            break;
        case PROXY_NEWS_FOUND:
            post(control, item->lane, item->keeper, KEEPER_FOUND, item->found);
            break;
        case PROXY_NEWS_LOST:
            tell(control, item, KEEPER_LOST);
            break;
        }
    }
}

void user_singletons_wire(struct control *control)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++) {
        struct user_singleton *item = control->singletons.items.items[i];

        if (item->manager)
            wire_manager(control, item);
        wire_proxy(control, item);
    }
}

/* ---- the end of the node ---- */

void user_singletons_exit(struct control *control)
{
    struct machine *machine = control->machine;

    for (uint32_t i = 0; i < control->singletons.items.count; i++)
        if (control->singletons.items.items[i]->manager)
            singleton_exit(control->singletons.items.items[i]->manager, machine->now,
                           &machine->outbox);
}

bool user_singletons_exited(const struct control *control)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++)
        if (!control->singletons.items.items[i]->exit_done)
            return false;
    return true;
}

void user_singletons_give_up(struct control *control)
{
    struct machine *machine = control->machine;

    for (uint32_t i = 0; i < control->singletons.items.count; i++) {
        struct user_singleton *item = control->singletons.items.items[i];

        if (item->exit_done)
            continue;
        REACHED("an actor's singleton is not handed over in time");
        trace_put_all(machine->trace, TRACE_WARNING, "node",
                      "singleton not handed over name=%s state=%s "
                      "hint=\"see the log of the next oldest member, and let the singleton stop "
                      "sooner\"",
                      text_of(&item->name), singleton_state_text(singleton_state(item->manager)));
        singleton_give_up(item->manager, machine->now, &machine->outbox);
        tell(control, item, KEEPER_STOP_NOW);
    }
}

void user_singletons_end(struct control *control)
{
    for (uint32_t i = 0; i < control->singletons.items.count; i++)
        if (control->singletons.items.items[i]->manager)
            tell(control, control->singletons.items.items[i], KEEPER_STOP_NOW);
}
