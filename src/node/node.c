/* Creates and frees a node: checks and copies settings, makes names, builds machines; also mail
 * from the program's threads. */
#include "node/node.h"

#include <stdio.h>

#include <sherd/allocation.h>

#include "actor/actors.h"
#include "actor/allocation_call.h"
#include "artery/control.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/rng.h"
#include "base/url.h"
#include "ddata/durable.h"
#include "journal/backend.h"
#include "node/control/control_calls.h"
#include "node/entity_type.h"
#include "node/lane/lane.h"
#include "node/lane/lane_calls.h"
#include "node/machine/large.h"
#include "node/machine/machine.h"
#include "node/peers/names.h"
#include "node/service_settings.h"
#include "node/type_passivation.h"
#include "shard/wire.h"

static char *take_text(struct buf *buf)
{
    char *text;

    buf_put_u8(buf, 0);
    text = mem_text((const char *)buf->data);
    buf_fini(buf);
    return text;
}

typedef void put_path(struct buf *buf, const char *guardian, const char *type);

static char *named(const struct node *node, put_path *put, const char *type)
{
    struct buf buf = { 0 };

    put(&buf, node->settings.guardian, type);
    return take_text(&buf);
}

/* As in Akka, there is one proxy for each data center. */
static char *far_proxy_path(const struct node *node, const char *type, const char *center)
{
    struct buf path = { 0 };

    far_proxy_path_put(&path, node->settings.guardian, type, center);
    return take_text(&path);
}

static void make_names(struct node *node, uint32_t index)
{
    const struct sherd_entity_type *type = &node->settings.types[index];
    struct type_names *names = &node->names[index];
    struct rng rng;
    char uid[16];
    struct buf path = { 0 };

    rng_init(&rng, node->settings.seed + index);
    names->name = type->name;
    names->shards =
        type->shards ? type->shards : node->settings.number_of_shards;
    if (!names->shards)
        names->shards = 1000;
    names->rule.shards = names->shards;
    if (type->extractor)
        names->rule.extractor = *type->extractor;
    if (names->rule.extractor.shard)
        names->rule.names = shard_names_new(names->shards);
    names->allocation = entity_type_allocation(&node->settings, type);
    names->passivation = type_passivation_choice(&node->settings, type);
    names->is_far = type->data_center != NULL;
    names->type = mem_text(type->name);
    if (names->is_far)
        names->type[strlen(type->name) - strlen(type->data_center) - 1] = 0;
    names->is_proxy = type->proxy || names->is_far ||
                      !settings_have_role(&node->settings, type->role);
    names->persists = entity_type_persists(type);
    names->remembers = type->remember > 0 && !names->is_proxy;
    names->remembers_in_data =
        names->remembers && node->settings.remembers_in_data;
    if (!names->is_proxy)
        (void)lease_provider_parse(type->use_lease, &names->lease); /* valid: see settings_error */
    names->lease_retry = type->lease_retry_ms ? type->lease_retry_ms * MS
                                              : node->settings.shard_lease_retry;
    names->remote_path = named(node, region_path_put, names->type);
    names->is_large =
        large_path(&node->settings, slice_text(names->remote_path));
    if (names->is_far)
        names->region_plain = far_proxy_path(node, names->type, type->data_center);
    else
        names->region_plain =
            named(node, names->is_proxy ? proxy_path_put : region_path_put, names->type);
    names->manager_path = named(node, coordinator_manager_path_put, names->type);
    names->coordinator_path = named(node, coordinator_path_put, names->type);
    names->coordinates =
        !names->is_proxy && settings_have_role(&node->settings, node->settings.coordinator_role);
    (void)snprintf(uid, sizeof uid, "#%d",
                   (int)(rng_next(&rng) >> 33) + 1); /* fits */
    buf_put_text(&path, names->region_plain);
    buf_put_text(&path, uid);
    names->region_path = take_text(&path);
}

/* Advertises nobody, then the region of each type. */
static void make_tables(struct node *node, struct own_tables *tables)
{
    uint32_t count = node->settings.type_count + 1;
    struct slice *texts = mem_alloc(count * sizeof *texts);
    struct buf *refs = mem_alloc(count * sizeof *refs);
    struct slice manifest = slice_text("a");

    texts[0] = slice_text("");
    for (uint32_t i = 1; i < count; i++) {
        ref_put(&refs[i], &node->identity, &node->identity.node.address,
                slice_text(node->names[i - 1].is_far
                               ? node->names[i - 1].region_plain
                               : node->names[i - 1].remote_path));
        texts[i] = buf_slice(&refs[i]);
    }
    own_tables_set(tables, TABLE_REFS, texts, count);
    own_tables_set(tables, TABLE_MANIFESTS, &manifest, 1);
    for (uint32_t i = 1; i < count; i++)
        buf_fini(&refs[i]);
    mem_free(refs);
    mem_free(texts);
}

static void copy_minimums(struct node_settings *copy,
                          const struct node_settings *settings)
{
    uint32_t count = settings->role_minimum_count;
    char **roles = mem_alloc(count * sizeof *roles);

    for (uint32_t i = 0; i < count; i++)
        roles[i] = mem_text(settings->minimum_roles[i]);
    copy->minimum_roles = (const char *const *)roles;
    copy->role_minimums = mem_copy(settings->role_minimums,
                                   count * sizeof *settings->role_minimums);
}

static const char *const *copy_texts(const char *const *texts, uint32_t count)
{
    const char **copy = count ? mem_alloc(count * sizeof *copy) : NULL;

    for (uint32_t i = 0; i < count; i++)
        copy[i] = mem_text(texts[i]);
    return copy;
}

static struct replicator_expiry *copy_expiries(
    const struct node_settings *settings)
{
    struct replicator_expiry *copy =
        mem_copy(settings->data_expiries,
                 settings->data_expiry_count * sizeof *copy);

    for (uint32_t i = 0; i < settings->data_expiry_count; i++)
        copy[i].pattern = mem_text(copy[i].pattern);
    return copy;
}

/* A type in another data center is a type of its own here. */
static void copy_type(struct sherd_entity_type *copy,
                      const struct node_settings *settings,
                      const struct sherd_entity_type *type)
{
    struct buf name = { 0 };

    *copy = *type;
    copy->role = mem_text(entity_type_role(settings, type));
    entity_type_copy(copy);
    buf_put_text(&name, type->name);
    copy->data_center = NULL;
    if (type->data_center && strcmp(type->data_center, settings->data_center)) {
        copy->data_center = mem_text(type->data_center);
        buf_put_text(&name, "@");
        buf_put_text(&name, type->data_center);
    }
    copy->name = take_text(&name);
    if (!copy->use_lease)
        copy->use_lease = lease_provider_text(settings->shard_lease);
    copy->use_lease = mem_text(copy->use_lease);
    copy->allocation = mem_text(type->allocation);
    if (!copy->behavior.receive)
        copy->proxy = 1;
    if (!copy->shards)
        copy->shards = settings->number_of_shards;
    if (!copy->remember)
        copy->remember = settings->remember_entities ? 1 : -1;
    type_passivation_complete(settings, copy);
}

static uint32_t types_max(const struct node_settings *settings)
{
    return settings->type_count + settings->late_types_max;
}

static void copy_settings(struct node *node,
                          const struct node_settings *settings)
{
    struct node_settings *copy = &node->settings;
    struct sherd_entity_type *types =
        mem_alloc(types_max(settings) * sizeof *types);

    *copy = *settings;
    node->passivation = copy->passivation.main.policy == PASSIVATION_NONE
                            ? type_passivation_default(settings)
                            : copy->passivation;
    copy->identity.protocol = mem_text(settings->identity.protocol);
    copy->identity.system = mem_text(settings->identity.system);
    copy->seed_nodes =
        mem_copy(settings->seed_nodes,
                 settings->seed_node_count * sizeof *settings->seed_nodes);
    copy->roles = copy_texts(settings->roles, settings->role_count);
    copy_minimums(copy, settings);
    copy->app_version = mem_text(settings->app_version);
    copy->cluster_id = mem_text(settings->cluster_id);
    copy->join_config = mem_text(settings->join_config);
    copy->lease_name = mem_text(settings->lease_name);
    copy->resolver_role = mem_text(settings->resolver_role);
    copy->data_name = mem_text(settings->data_name ? settings->data_name
                                                   : "ddataReplicator");
    copy->data_role = mem_text(settings->data_role);
    copy->durable_keys = copy_texts(settings->durable_keys,
                                    settings->durable_key_count);
    copy->shard_durable_keys = copy_texts(settings->shard_durable_keys,
                                          settings->shard_durable_key_count);
    copy->checked_types = copy_texts(settings->checked_types,
                                     settings->checked_type_count);
    copy->data_expiries = copy_expiries(settings);
    copy->large_destinations = copy_texts(settings->large_destinations,
                                          settings->large_destination_count);
    copy->data_center =
        mem_text(settings->data_center && *settings->data_center
                     ? settings->data_center
                     : "default");
    copy->sharding_role = mem_text(settings->sharding_role);
    copy->guardian = mem_text(settings->guardian);
    copy->coordinator_role = mem_text(settings->coordinator_role);
    service_settings_copy(&copy->services);
    for (uint32_t i = 0; i < settings->type_count; i++)
        copy_type(&types[i], copy, &settings->types[i]);
    copy->types = types;
    node->identity = copy->identity;
}

static const char *settings_error(const struct node_settings *settings)
{
    if (!settings->identity.protocol || !settings->identity.system)
        return "the system needs a name";
    if (!address_is_system(settings->identity.system))
        return "the system's name must be " ADDRESS_SYSTEM_FORM;
    if (!settings->identity.node.uid || !settings->identity.node.address.port)
        return "the node needs an address and a uid";
    if (!settings->lanes || settings->lanes > LANES_MAX)
        return "lanes must be 1 to 64";
    if (types_max(settings) > ACTOR_TYPES_MAX)
        return "too many entity types";
    for (uint32_t i = 0; i < settings->type_count; i++)
        if (entity_type_lease_fault(settings, &settings->types[i]))
            return entity_type_lease_fault(settings, &settings->types[i]);
        else if (type_passivation_fault(settings, &settings->types[i]))
            return type_passivation_fault(settings, &settings->types[i]);
    return NULL;
}

/* A lane forgets routes to the former incarnation. */
static void peer_renewed(void *user, struct peer *peer, uint64_t before)
{
    struct machine *machine = user;

    peer_links_renewed(&machine->links, peer, before);
    if (before && machine->lane)
        lane_peer_renewed(machine->lane, peer->index);
}

/* Its connections are closed later, many at a time. */
static void peer_forgotten(void *user, struct peer *peer)
{
    struct machine *machine = user;

    if (peer->sender && machine->close_forgotten_at == NEVER)
        machine->close_forgotten_at = machine->now + STRANGERS_CLOSE_MS * MS;
    peer_links_forget(&machine->links, peer);
    if (machine->control)
        control_peer_forgotten(machine->control, peer);
}

static struct machine *make_machine(struct node *node, uint32_t index)
{
    struct machine *machine = mem_alloc(sizeof *machine);

    machine->node = node;
    machine->inlets_deadline = machine->close_forgotten_at = NEVER;
    machine->settings = &node->settings;
    machine->self = &node->identity;
    machine->index = index;
    machine->now = node->settings.now;
    machine->trace = trace_new(node->settings.trace_level);
    machine->probes = node->settings.probes ? probes_new() : NULL;
    outputs_init(&machine->outputs, index, node->machine_count);
    peers_init(&machine->peers,
               &(struct peers_options){
                   .renewed = peer_renewed,
                   .forgotten = peer_forgotten,
                   .user = machine,
                   .is_control = !index,
                   .strangers_max = node->settings.strangers_max,
                   .probes = index ? NULL : machine->probes });
    peer_links_init(&machine->links,
                    &(struct peer_links_options){
                        .peers = &machine->peers,
                        .settings = &node->settings,
                        .self = &node->identity,
                        .names = node->names,
                        .now = &machine->now,
                        .index = index,
                        .trace = machine->trace,
                        .probes = machine->probes,
                        .outputs = &machine->outputs });
    make_tables(node, &machine->tables);
    if (index)
        machine->lane = lane_new(machine);
    else
        machine->control = control_new(machine);
    return machine;
}

static void free_machine(struct machine *machine)
{
    control_free(machine->control);
    lane_free(machine->lane);
    outputs_fini(&machine->outputs);
    outbox_fini(&machine->outbox);
    peer_links_fini(&machine->links);
    peers_fini(&machine->peers);
    own_tables_fini(&machine->tables);
    trace_free(machine->trace);
    probes_free(machine->probes);
    mem_free(machine);
}

struct node *node_new(const struct node_settings *settings, char *error,
                      size_t size)
{
    const char *wrong = settings_error(settings);
    struct node *node;

    if (wrong) {
        (void)snprintf(error, size, "%s", wrong); /* truncated at size */
        return NULL;
    }
    node = mem_alloc(sizeof *node);
    copy_settings(node, settings);
    node->names =
        mem_alloc(types_max(settings) * sizeof *node->names);
    for (uint32_t i = 0; i < settings->type_count; i++)
        make_names(node, i);
    node->prepared_types = settings->type_count;
    atomic_store(&node->type_count, settings->type_count);
    node->machine_count = settings->lanes + 1;
    for (uint32_t i = 0; i < node->machine_count; i++)
        node->machines[i] = make_machine(node, i);
    return node;
}

static void free_text(const char *text)
{
    mem_free((void *)(uintptr_t)text);
}

static void free_texts(const char *const *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free_text(texts[i]);
    mem_free((void *)(uintptr_t)texts);
}

bool node_is_durable(const struct node *node)
{
    const struct node_settings *settings = &node->settings;

    for (uint32_t i = 0; i < settings->type_count; i++)
        if (node->names[i].remembers_in_data &&
            settings->shard_durable_key_count)
            return true;
    return settings->durable_key_count > 0;
}

void node_close(struct node *node)
{
    if (node->closed)
        return;
    node->closed = true;
    /* A lane's messages may lie in another lane's memory: all end before any is freed. */
    for (uint32_t i = 1; i < node->machine_count; i++)
        lane_close(node->machines[i]->lane);
    for (uint32_t i = 0; i < node->machine_count; i++)
        machine_close(node->machines[i]);
}

void node_free(struct node *node)
{
    struct node_settings *settings;

    if (!node)
        return;
    settings = &node->settings;
    node_close(node);
    for (uint32_t i = 0; i < node->machine_count; i++)
        free_machine(node->machines[i]);
    for (uint32_t i = 0; i < node->prepared_types; i++) {
        mem_free(node->names[i].type);
        mem_free(node->names[i].passivation);
        mem_free(node->names[i].region_path);
        mem_free(node->names[i].region_plain);
        mem_free(node->names[i].remote_path);
        mem_free(node->names[i].manager_path);
        mem_free(node->names[i].coordinator_path);
        free_text(settings->types[i].name);
        shard_names_free(node->names[i].rule.names);
        free_text(settings->types[i].role);
        free_text(settings->types[i].data_center);
        free_text(settings->types[i].use_lease);
        free_text(settings->types[i].allocation);
        entity_type_free((struct sherd_entity_type *)(uintptr_t)&settings->types[i]);
    }
    mem_free(node->names);
    mem_free((void *)(uintptr_t)settings->types);
    free_texts(settings->roles, settings->role_count);
    free_texts(settings->durable_keys, settings->durable_key_count);
    free_texts(settings->shard_durable_keys,
               settings->shard_durable_key_count);
    for (uint32_t i = 0; i < settings->data_expiry_count; i++)
        free_text(settings->data_expiries[i].pattern);
    mem_free((void *)(uintptr_t)settings->data_expiries);
    free_texts(settings->checked_types, settings->checked_type_count);
    free_texts(settings->large_destinations,
               settings->large_destination_count);
    free_texts(settings->minimum_roles, settings->role_minimum_count);
    mem_free((void *)(uintptr_t)settings->role_minimums);
    mem_free((void *)(uintptr_t)settings->seed_nodes);
    free_text(settings->identity.protocol);
    free_text(settings->identity.system);
    free_text(settings->data_center);
    free_text(settings->app_version);
    free_text(settings->cluster_id);
    free_text(settings->join_config);
    free_text(settings->resolver_role);
    free_text(settings->data_name);
    free_text(settings->data_role);
    free_text(settings->sharding_role);
    free_text(settings->guardian);
    free_text(settings->coordinator_role);
    free_text(settings->lease_name);
    service_settings_fini(&node->settings.services);
    mem_free(node);
}

struct machine *node_machine(struct node *node, uint32_t index)
{
    check(index < node->machine_count);
    return node->machines[index];
}

/* ---- accepting ---- */

/* Chooses the machine by the first frame. Frames of a Sherd node's control go to control, so that
 * no handler on a lane delays them. A lane's inlet refuses any other frame than a handshake. */
static uint32_t accepting_machine(const struct node *node, struct slice frame)
{
    uint64_t key[2] = { 0, 0 };
    struct handshake handshake;
    struct envelope envelope;

    if (envelope_read(frame, NULL, &envelope) == ENVELOPE_OK) {
        key[0] = envelope.origin;
        if (envelope_is(&envelope, SERIALIZER_ARTERY,
                        ARTERY_HANDSHAKE_REQUEST) &&
            handshake_request_read(&node->identity, envelope.payload,
                                   &handshake, NULL) == HANDSHAKE_OK) {
            if (handshake.lanes && !handshake.lane)
                return 0;
            key[1] = handshake.lane;
        }
    }
    return 1 + (uint32_t)(hash_bytes(slice_of(key, sizeof key)) %
                          node->settings.lanes);
}

static uint32_t unknown_size_max(const struct node *node)
{
    return node->settings.unknown_size_max ? node->settings.unknown_size_max
                                           : INLET_UNKNOWN_SIZE_MAX;
}

enum node_accept node_accepts(const struct node *node, struct slice peeked,
                              uint32_t *machine, const char **why)
{
    struct cursor cursor = cursor_of(peeked);
    struct slice magic = cursor_slice(&cursor, 4);
    uint8_t stream = cursor_u8(&cursor);
    uint32_t size;

    *machine = 0;
    if (cursor.failed)
        return NODE_MORE;
    if (!slice_is(magic, "AKKA")) {
        *why = "not this protocol: wrong magic";
        return NODE_REFUSE;
    }
    if (stream == STREAM_CONTROL)
        return NODE_ACCEPT;
    if (stream != STREAM_ORDINARY && stream != STREAM_LARGE) {
        *why = "a stream that is not served";
        return NODE_REFUSE;
    }
    size = cursor_u32(&cursor);
    if (cursor.failed)
        return NODE_MORE;
    if (!size || size > unknown_size_max(node)) {
        *why = "the first frame is empty or too large";
        return NODE_REFUSE;
    }
    if (cursor_left(&cursor) < size)
        return NODE_MORE;
    *machine = accepting_machine(node, cursor_slice(&cursor, size));
    return NODE_ACCEPT;
}

/* ---- mail from the program's threads ---- */

bool node_mail_spawn(const struct node_spawn *spawn, struct mail *mail)
{
    struct spawning *spawning;
    struct mail_content content;

    if (spawn->name && !actor_name_is_valid(slice_text(spawn->name)))
        return false;
    spawning = mem_alloc(sizeof *spawning);
    content = MAIL(spawn, .own = { spawning });
    spawning->behavior = *spawn->behavior;
    spawning->ref = spawn->ref;
    spawning->unstarted = spawn->unstarted;
    buf_put_slice(&spawning->name, slice_text(spawn->name));
    buf_put(&spawning->init, spawn->init.data, spawn->init.size);
    *mail = mail_seal(&content);
    return true;
}

/* Whether the body is small enough. Only a JVM actor's lane knows its path, and so its limit. */
static bool takes_body(const struct node *node, struct sherd_ref to,
                       size_t size)
{
    char path[NAME_MAX];

    if (size <= SHERD_BODY_MAX)
        return true;
    return size <= large_any_max(&node->settings) &&
           (names_has(to) ||
            large_path(&node->settings,
                       slice_of(path, name_path(path, to.actor, 0))));
}

bool node_mail_tell(const struct node *node, struct sherd_ref to, uint32_t msg,
                    struct sherd_bytes body, struct mail *mail,
                    uint32_t *to_machine)
{
    uint32_t lane = actor_id_lane(to.actor);
    struct mail_content content;
    struct tell_content *tell;

    if (ref_is_nobody(to) || !takes_body(node, to, body.size))
        return false;
    *to_machine = 1;
    if (to.node == node->identity.node.uid && lane < node->settings.lanes)
        *to_machine = lane + 1;
    tell = mem_alloc(sizeof *tell);
    tell->to = to;
    tell->msg = msg;
    buf_put(&tell->body, body.data, body.size);
    content = MAIL(tell, .own = { tell });
    *mail = mail_seal(&content);
    return true;
}

struct mail node_mail_wake(struct sherd_ref actor, uint32_t *to_machine)
{
    struct mail_content content = MAIL(wake, .actor = actor.actor);

    *to_machine = actor_id_lane(actor.actor) + 1;
    return mail_seal(&content);
}

uint32_t node_type_index(const struct node *node, const char *type)
{
    uint32_t count = atomic_load_explicit(&node->type_count, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++)
        if (strcmp(node->names[i].name, type) == 0)
            return i;
    return ACTOR_TYPES_MAX;
}

bool node_has_type(const struct node *node, const char *type)
{
    return node_type_index(node, type) < ACTOR_TYPES_MAX;
}

static bool type_takes_body(const struct node *node, uint32_t type, size_t size)
{
    return size <= SHERD_BODY_MAX ||
           (node->names[type].is_large && size <= large_any_max(&node->settings));
}

static uint32_t lane_of(const struct node *node, uint32_t type, const char *id)
{
    int32_t shard = shard_rule_of(&node->names[type].rule, slice_text(id), 0,
                                  slice_of(NULL, 0));

    return shard_lane(type, shard, node->settings.lanes);
}

/* As actors name the type (actor/entity_ref_calls.c). */
bool node_entity_receiver(const struct node *node, const struct sherd_entity_ref *ref,
                          struct node_receiver *receiver)
{
    char full[2 * (SHERD_TYPE_MAX + 1)];
    const char *name = ref->type;
    uint32_t type;

    if (ref->data_center[0] && strcmp(ref->data_center, node->settings.data_center) != 0) {
        (void)snprintf(full, sizeof full, "%s@%s", ref->type, ref->data_center); /* fits */
        name = full;
    }
    type = node_type_index(node, name);
    if (type == ACTOR_TYPES_MAX)
        return false;
    receiver->type = node->names[type].name;
    receiver->lane = lane_of(node, type, ref->id);
    return true;
}

bool node_region_receiver(const struct node *node, const char *type,
                          struct sherd_extracted *message,
                          struct node_receiver *receiver, bool *is_handled)
{
    uint32_t index = node_type_index(node, type);

    if (index == ACTOR_TYPES_MAX)
        return false;
    receiver->type = node->names[index].name;
    *is_handled = shard_rule_extract(&node->names[index].rule, message);
    receiver->lane = *is_handled ? lane_of(node, index, message->id) : 0;
    return true;
}

struct node_receiver node_actor_receiver(const struct node *node, struct sherd_ref actor)
{
    uint32_t lane = actor_id_lane(actor.actor);

    if (actor.node != node->identity.node.uid || lane >= node->settings.lanes)
        lane = (uint32_t)(hash_bytes(slice_of(&actor, sizeof actor)) % node->settings.lanes);
    return (struct node_receiver){ NULL, lane };
}

bool node_takes_body(const struct node *node, const struct node_receiver *receiver,
                     struct sherd_ref to, size_t size)
{
    if (size <= SHERD_BODY_MAX)
        return true;
    if (!receiver->type)
        return takes_body(node, to, size);
    return type_takes_body(node, node_type_index(node, receiver->type), size);
}

bool node_mail_entity_tell(const struct node *node, const char *type,
                           const char *id, uint32_t msg,
                           struct sherd_bytes body, struct mail *mail,
                           uint32_t *to_machine)
{
    size_t id_size = id ? strlen(id) : 0;
    uint32_t index = node_type_index(node, type);
    struct mail_content content;
    struct tell_content *tell;

    if (!id_size || id_size > SHERD_ID_MAX || index == ACTOR_TYPES_MAX ||
        !type_takes_body(node, index, body.size))
        return false;
    *to_machine = 1 + lane_of(node, index, id);
    tell = mem_alloc(sizeof *tell);
    tell->type = index;
    tell->msg = msg;
    buf_put(&tell->id, id, id_size);
    buf_put(&tell->body, body.data, body.size);
    content = MAIL(tell, .own = { tell });
    *mail = mail_seal(&content);
    return true;
}

struct mail node_mail_command(enum node_command command,
                              const struct address *address)
{
    struct mail_content content =
        MAIL(command, .command = command,
             .own = { address ? mem_copy(address, sizeof *address) : NULL });

    return mail_seal(&content);
}

bool node_mail_active_limit(const struct node *node, const char *type,
                            uint32_t entities, uint64_t bytes, struct mail *mail)
{
    struct active_limit limit = { entities ? entities : UINT32_MAX,
                                  bytes ? bytes : UINT64_MAX };
    uint32_t index = node_type_index(node, type);
    struct mail_content content = mail_for_type(index, MAIL(region_limit, .limit = limit));

    *mail = mail_seal(&content);
    return index < ACTOR_TYPES_MAX;
}

void query_part_free(struct query_part *part)
{
    if (part) {
        mem_free(part->regions.memory);
        mem_free(part->view.memory);
    }
    mem_free(part);
}

bool node_mail_query(const struct node *node, const char *type, struct query_part *part,
                     struct mail *mail)
{
    uint32_t index = node_type_index(node, type);
    struct mail_content content = mail_for_type(index, MAIL(query, .own = { part }));

    *mail = mail_seal(&content);
    return index < ACTOR_TYPES_MAX;
}

uint32_t node_prepare_type(struct node *node, const struct sherd_entity_type *type)
{
    struct sherd_entity_type *types =
        (struct sherd_entity_type *)(uintptr_t)node->settings.types; /* the node's own */
    uint32_t index = node->prepared_types++;

    check(index < types_max(&node->settings));
    copy_type(&types[index], &node->settings, type);
    make_names(node, index);
    return index;
}

struct mail node_mail_view(struct query_part *part)
{
    struct mail_content content = MAIL(query, .own = { part });

    return mail_seal(&content);
}

struct mail node_mail_type_call(struct type_part *part)
{
    struct mail_content content = mail_for_type(part->type, MAIL(type_call, .own = { part }));

    return mail_seal(&content);
}

struct mail node_mail_allocation(const struct sherd_allocation_choice *choice,
                                 const struct address *region)
{
    struct buf *bytes = mem_alloc(sizeof *bytes);
    struct mail_content content = MAIL(allocation, .own = { bytes });

    allocation_call_put(bytes, choice, region);
    return mail_seal(&content);
}

struct mail node_mail_leave(enum sherd_phase from)
{
    struct mail_content content =
        MAIL(command, .command = NODE_LEAVE, .from = from);

    return mail_seal(&content);
}

struct mail node_mail_status(struct status_part *part)
{
    struct mail_content content = MAIL(status, .own = { part });

    return mail_seal(&content);
}
