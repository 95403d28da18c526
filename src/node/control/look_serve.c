/* Answers requests of looks with what control knows: the node, its members, types, coordinators. */
#include "node/control/looks.h"

#include "artery/extension.h"
#include "base/limits.h"
#include "look/row.h"
#include "node/control/control.h"
#include "node/machine/look_place.h"

/* A part under construction. */
struct part {
    const struct look_request *request;
    struct look_place place; /* of the next row */
    struct look_rows rows;
    bool is_full;
};

static bool is_wanted(const struct control *control, const struct part *part, uint32_t type)
{
    return !part->request->type.size ||
           slice_is(part->request->type, control->machine->node->names[type].name);
}

/* Whether a row may follow. If not, the part ends before it. */
static bool has_room(struct part *part)
{
    part->is_full = part->rows.count >= part->request->limit ||
                    part->rows.bytes.size >= LOOK_PART_SIZE;
    return !part->is_full;
}

/* ---- members ---- */

static void put_roles(struct look_rows *rows, uint32_t column, const struct member_view *view)
{
    const struct traits *traits = view->profile->traits;
    struct buf text = { 0 };

    for (uint32_t i = 0; i < traits->role_count && text.size < LOOK_TEXT_MAX; i++) {
        buf_put_text(&text, text.size ? "," : "");
        buf_put_text(&text, traits->roles[i]);
    }
    look_put_bytes(rows, column, buf_slice(&text));
    buf_fini(&text);
}

static void put_address(struct look_rows *rows, uint32_t column, const struct address *address)
{
    char text[ADDRESS_TEXT_MAX];

    look_put_text(rows, column, address_text(address, text, sizeof text));
}

static uint32_t count_unreachable(const struct control *control)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < member_count(control->member); i++)
        count += !member_at(control->member, i)->reachable;
    return count;
}

/* Null: no cordon. */
static const char *cordon_text(enum cordon_level level)
{
    if (level == CORDON_NOT)
        return NULL;
    return level == CORDON_DRAINING ? "draining" : "cordoned";
}

/* The lane whose turn has lasted longest. */
static void put_stalled(struct control *control, struct look_rows *rows)
{
    uint32_t worst = 0;

    for (uint32_t i = 1; i < control->machine->settings->lanes; i++)
        if (control->stalled[i] && (!control->stalled[worst] || control->stalled[i] < control->stalled[worst]))
            worst = i;
    if (!control->stalled[worst])
        return;
    look_put(rows, LOOK_NODES_STALLED_LANE, worst);
    look_put(rows, LOOK_NODES_STALLED, (control->machine->now - control->stalled[worst]) / MS);
}

static void put_node(struct control *control, struct part *part)
{
    struct machine *machine = control->machine;
    const struct member_view *self = member_self(control->member);
    const struct member_view *leader = member_leader(control->member);
    struct look_rows *rows = &part->rows;

    look_row_begin(rows);
    look_put(rows, LOOK_NODES_UID, machine->self->node.uid);
    if (self) {
        look_put_text(rows, LOOK_NODES_CENTER, self->profile->traits->data_center);
        put_roles(rows, LOOK_NODES_ROLES, self);
        look_put_text(rows, LOOK_NODES_VERSION, self->profile->traits->app_version);
        look_put_text(rows, LOOK_NODES_STATUS, member_status_text(self->status));
    }
    look_put(rows, LOOK_NODES_READY, control->is_ready);
    look_put(rows, LOOK_NODES_LEAVING, control->shutdown != SHUTDOWN_NOT);
    look_put(rows, LOOK_NODES_UPTIME, (machine->now - machine->settings->now) / MS);
    look_put(rows, LOOK_NODES_LANES, machine->settings->lanes);
    look_put(rows, LOOK_NODES_TYPES, control->type_count);
    look_put(rows, LOOK_NODES_MEMBERS, member_count(control->member));
    look_put(rows, LOOK_NODES_UNREACHABLE, count_unreachable(control));
    if (leader)
        put_address(rows, LOOK_NODES_LEADER, &PROFILE_NODE(leader->profile)->address);
    look_put(rows, LOOK_NODES_CONVERGED, member_is_converged(control->member));
    look_put(rows, LOOK_NODES_MALFORMED, machine->malformed + control->unknown);
    look_put_text(rows, LOOK_NODES_CORDON, cordon_text(control->cordon));
    put_stalled(control, rows);
    look_row_end(rows);
}

static void put_member(struct control *control, struct part *part, const struct member_view *view)
{
    const struct node_id *node = PROFILE_NODE(view->profile);
    struct look_rows *rows = &part->rows;

    look_row_begin(rows);
    put_address(rows, LOOK_MEMBERS_ADDRESS, &node->address);
    look_put(rows, LOOK_MEMBERS_UID, node->uid);
    look_put_text(rows, LOOK_MEMBERS_CENTER, view->profile->traits->data_center);
    put_roles(rows, LOOK_MEMBERS_ROLES, view);
    look_put_text(rows, LOOK_MEMBERS_VERSION, view->profile->traits->app_version);
    look_put_text(rows, LOOK_MEMBERS_STATUS, member_status_text(view->status));
    look_put(rows, LOOK_MEMBERS_REACHABLE, view->reachable);
    look_put(rows, LOOK_MEMBERS_SEEN, view->seen);
    look_put(rows, LOOK_MEMBERS_JVM, control_is_jvm_peer(control, view));
    look_row_end(rows);
}

static void put_members(struct control *control, struct part *part)
{
    for (; part->place.first < member_count(control->member); part->place.first++) {
        if (!has_room(part))
            return;
        put_member(control, part, member_at(control->member, (uint32_t)part->place.first));
    }
}

/* ---- types ---- */

static void put_types(struct control *control, struct part *part)
{
    struct look_rows *rows = &part->rows;

    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct type_names *names = &control->machine->node->names[i];
        const struct region *region = control->types[i].region;
        const struct node_id *coordinator = region_coordinator(region);

        if (!is_wanted(control, part, i))
            continue;
        look_row_begin(rows);
        look_put_text(rows, LOOK_TYPES_TYPE, names->name);
        look_put(rows, LOOK_TYPES_SHARDS, names->shards);
        look_put(rows, LOOK_TYPES_PROXY, names->is_proxy);
        look_put(rows, LOOK_TYPES_PERSISTS, names->persists);
        look_put(rows, LOOK_TYPES_REMEMBERS, names->remembers);
        look_put(rows, LOOK_TYPES_REGISTERED, region_registered(region));
        if (coordinator)
            put_address(rows, LOOK_TYPES_COORDINATOR, &coordinator->address);
        look_put(rows, LOOK_TYPES_TERM, region_term(region));
        look_put(rows, LOOK_TYPES_HOSTED, region_hosted_count(region));
        look_put(rows, LOOK_TYPES_WANTED, region_wanted_count(region));
        look_row_end(rows);
    }
}

/* ---- coordinators ---- */

static void put_coordinator(struct control *control, struct part *part, uint32_t type)
{
    const struct coordinator *coordinator = control->types[type].coordinator;
    struct coordinator_moves moves = coordinator_moves(coordinator);
    struct coordinator_region_view region;
    struct look_rows *rows = &part->rows;
    uint32_t at = 0, regions = 0;

    while (coordinator_next_region(coordinator, &at, &region))
        regions++;
    look_row_begin(rows);
    look_put_text(rows, LOOK_COORDINATORS_TYPE, control->machine->node->names[type].name);
    look_put(rows, LOOK_COORDINATORS_ACTIVE, coordinator_is_active(coordinator));
    look_put(rows, LOOK_COORDINATORS_AWAITED, coordinator_awaited(coordinator));
    look_put(rows, LOOK_COORDINATORS_BEGINNING, moves.beginning);
    look_put(rows, LOOK_COORDINATORS_STOPPING, moves.stopping);
    look_put(rows, LOOK_COORDINATORS_REGIONS, regions);
    look_put(rows, LOOK_COORDINATORS_UNPLACED, coordinator_unplaced(coordinator));
    look_put_bytes(rows, LOOK_COORDINATORS_PAUSED, coordinator_pause(coordinator));
    look_row_end(rows);
}

/* False: the part is full. */
static bool put_regions(struct control *control, struct part *part, uint32_t type)
{
    const struct coordinator *coordinator = control->types[type].coordinator;
    struct coordinator_region_view region;
    uint32_t at = (uint32_t)part->place.second;
    struct look_rows *rows = &part->rows;

    while (has_room(part) && coordinator_next_region(coordinator, &at, &region)) {
        look_row_begin(rows);
        look_put_text(rows, LOOK_REGIONS_TYPE, control->machine->node->names[type].name);
        put_address(rows, LOOK_REGIONS_ADDRESS, &region.node.address);
        look_put(rows, LOOK_REGIONS_SHARDS, region.shard_count);
        look_put(rows, LOOK_REGIONS_LANES, region.lanes);
        look_put(rows, LOOK_REGIONS_PROXY, region.is_proxy);
        look_put(rows, LOOK_REGIONS_LEAVING, region.is_shutting_down);
        look_put_text(rows, LOOK_REGIONS_CORDON, cordon_text(region.cordon));
        look_row_end(rows);
        part->place.second = at;
    }
    return !part->is_full;
}

static void put_home(struct look_rows *rows, const char *type,
                     const struct coordinator_shard_view *shard)
{
    look_row_begin(rows);
    look_put_text(rows, LOOK_HOMES_TYPE, type);
    look_put_bytes(rows, LOOK_HOMES_SHARD, shard->shard);
    if (shard->region.size)
        put_address(rows, LOOK_HOMES_HOME, &shard->node.address);
    look_put(rows, LOOK_HOMES_TERM, shard->fence.term);
    look_put(rows, LOOK_HOMES_EPOCH, shard->fence.epoch);
    look_put(rows, LOOK_HOMES_STARTED, shard->is_started);
    look_put(rows, LOOK_HOMES_MOVING, shard->is_moving);
    look_row_end(rows);
}

/* False: the part is full. */
static bool put_homes(struct control *control, struct part *part, uint32_t type)
{
    const struct coordinator *coordinator = control->types[type].coordinator;
    struct slice wanted = part->request->shard;
    uint32_t at = (uint32_t)part->place.second;
    struct coordinator_shard_view shard;
    uint32_t seen = 0;

    while (has_room(part) && coordinator_next_shard(coordinator, &at, &shard)) {
        if (seen++ == LOOK_PLACES_OF_TURN) { /* the search for one shard goes on in the next part */
            part->is_full = true;
            break;
        }
        if (!wanted.size || slice_equal(wanted, shard.shard))
            put_home(&part->rows, control->machine->node->names[type].name, &shard);
        part->place.second = at;
    }
    return !part->is_full;
}

static void put_coordinators(struct control *control, struct part *part)
{
    for (; part->place.first < control->type_count; part->place.first++, part->place.second = 0) {
        uint32_t type = (uint32_t)part->place.first;

        if (!control->types[type].coordinator || !is_wanted(control, part, type))
            continue;
        if (part->request->kind == SHERD_LOOK_COORDINATORS)
            put_coordinator(control, part, type);
        else if (!(part->request->kind == SHERD_LOOK_REGIONS ? put_regions : put_homes)(
                     control, part, type))
            return;
    }
}

/* ---- configuration ---- */

static void put_settings(struct control *control, struct part *part)
{
    const struct node_settings *settings = control->machine->settings;
    struct node_setting setting;
    struct look_rows *rows = &part->rows;
    uint32_t at = (uint32_t)part->place.first;

    while (settings->next_setting && has_room(part) &&
           settings->next_setting(settings->configuration, &at, &setting)) {
        look_row_begin(rows);
        look_put_text(rows, LOOK_CONFIG_KEY, setting.key);
        look_put_text(rows, LOOK_CONFIG_VALUE, setting.value);
        look_put_text(rows, LOOK_CONFIG_SOURCE, setting.source);
        look_row_end(rows);
        part->place.first = at;
    }
}

/* ---- requests ---- */

static void put_rows(struct control *control, struct part *part)
{
    switch (part->request->kind) {
    case SHERD_LOOK_NODES:
        put_node(control, part);
        break;
    case SHERD_LOOK_MEMBERS:
        put_members(control, part);
        break;
    case SHERD_LOOK_TYPES:
        put_types(control, part);
        break;
    case SHERD_LOOK_COORDINATORS:
    case SHERD_LOOK_REGIONS:
    case SHERD_LOOK_HOMES:
        put_coordinators(control, part);
        break;
    case SHERD_LOOK_TIMELINE:
        decisions_rows(control, part->request, &part->rows);
        break;
    case SHERD_LOOK_CONFIG:
        put_settings(control, part);
        break;
    default:
        break; /* the lanes' */
    }
}

static void answer(struct control *control, const struct node_id *to,
                   const struct look_reply *reply)
{
    struct buf payload = { 0 };

    look_reply_put(&payload, reply);
    outbox_put(&control->machine->outbox,
               &(struct outbound){ .to = *to,
                                   .manifest = slice_text(MANIFEST_LOOK_PART),
                                   .payload = buf_slice(&payload),
                                   .serializer = SERIALIZER_SHERD,
                                   .stream = STREAM_ORDINARY });
    buf_fini(&payload);
}

static void pass_on(struct control *control, const struct inbound *inbound, uint32_t machine)
{
    struct look_asked *asked = mem_alloc(sizeof *asked);
    struct mail_content content = MAIL(look_asked, .own = { asked });

    asked->from = inbound->from;
    buf_put_slice(&asked->payload, inbound->payload);
    outputs_post(&control->machine->outputs, machine, &content);
}

void looks_serve(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    struct look_request request;
    struct part part = { .request = &request };
    struct look_reply reply = { .wall_ms = (uint64_t)machine->wall_ms };

    if (!look_request_read(inbound->payload, &request, &reply.error)) {
        control->unknown++;
        return;
    }
    reply.id = request.id;
    if (!reply.error && !look_place_read(&request, machine->settings->lanes, &part.place))
        reply.error = LOOK_ERROR_CURSOR;
    if (!reply.error && part.place.machine) {
        pass_on(control, inbound, part.place.machine);
        return;
    }
    if (!reply.error) {
        put_rows(control, &part);
        reply.rows = buf_slice(&part.rows.bytes);
        reply.next = part.is_full ? look_place_put(&part.place)
                                  : look_place_after(request.kind, 0, machine->settings->lanes);
    }
    answer(control, &inbound->from, &reply);
    look_rows_fini(&part.rows);
}
