/* Copies the membership, its observations and the hosted types for a management module
 * (sherd/manage.h). */
#include "node/control/control.h"

#include "base/check.h"

/* The view's texts, in the order in which they are written. */
struct texts {
    struct buf buf;
    VEC(size_t) starts;
};

static void put(struct texts *texts, const char *text)
{
    vec_push(&texts->starts, texts->buf.size);
    buf_put(&texts->buf, text, strlen(text) + 1);
}

static void put_member(struct texts *texts, const struct member_view *view)
{
    const struct traits *traits = view->profile->traits;
    char address[128];

    (void)kept_address_text(view->profile->address, address, sizeof address); /* fits */
    put(texts, address);
    put(texts, traits->app_version);
    put(texts, traits->data_center);
    vec_push(&texts->starts, texts->buf.size);
    for (uint32_t i = 0; i < traits->role_count; i++)
        if (strncmp(traits->roles[i], "dc-", 3) != 0)
            buf_put(&texts->buf, traits->roles[i], strlen(traits->roles[i]) + 1);
    buf_put_u8(&texts->buf, 0);
}

#define TEXTS_OF_MEMBER 4

static void fill_member(const struct control *control, struct sherd_cluster_member *to,
                        const struct member_view *view, const char *const *texts)
{
    to->address = texts[0];
    to->app_version = texts[1];
    to->data_center = texts[2];
    to->roles = texts[3];
    to->uid = view->profile->uid;
    to->status = control_status_of(view->status);
    to->up_number = view->up_number == UP_NUMBER_NONE ? 0 : (uint32_t)view->up_number;
    to->reachable = view->reachable;
    to->self = profile_is(view->profile, &control->machine->self->node);
    to->seen = view->seen;
}

static uint32_t observation_count(const struct member *member)
{
    struct member_observation observation;
    struct member_walk walk = { 0 };
    uint32_t count = 0;

    while (member_next_observation(member, &walk, &observation))
        count++;
    return count;
}

static void fill_observations(const struct member *member, struct sherd_cluster_view *view)
{
    struct member_observation observation;
    struct member_walk walk = { 0 };
    uint32_t count = 0;

    while (member_next_observation(member, &walk, &observation))
        view->observations[count++] = (struct sherd_observation){ observation.observer,
                                                                  observation.subject };
}

static uint32_t put_types(const struct control *control, struct texts *texts)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct type_names *names = &control->machine->node->names[i];

        if (names->is_proxy)
            continue;
        put(texts, names->name);
        count++;
    }
    return count;
}

/* One block of memory has the arrays, and then the texts. */
static void lay_out(struct sherd_cluster_view *view, const struct texts *texts,
                    const char ***starts)
{
    size_t members = view->member_count * sizeof *view->members;
    size_t pointers = texts->starts.count * sizeof **starts;
    size_t observations = view->observation_count * sizeof *view->observations;
    char *block = mem_alloc(members + pointers + observations + texts->buf.size + 1);
    char *bytes = block + members + pointers + observations;

    view->memory = block;
    view->members = (void *)block;
    *starts = (void *)(block + members);
    view->observations = (void *)(block + members + pointers);
    if (texts->buf.size)
        memcpy(bytes, texts->buf.data, texts->buf.size);
    for (uint32_t i = 0; i < texts->starts.count; i++)
        (*starts)[i] = bytes + texts->starts.items[i];
}

void control_view(const struct control *control, struct sherd_cluster_view *view)
{
    const struct member *member = control->member;
    const struct member_view *leader = member_leader(member);
    struct texts texts = { 0 };
    const char **starts;

    *view = (struct sherd_cluster_view){ .member_count = member_count(member),
                                         .observation_count = observation_count(member) };
    for (uint32_t i = 0; i < view->member_count; i++)
        put_member(&texts, member_at(member, i));
    view->type_count = put_types(control, &texts);
    lay_out(view, &texts, &starts);
    view->leader = view->member_count;
    for (uint32_t i = 0; i < view->member_count; i++) {
        const struct member_view *at = member_at(member, i);

        fill_member(control, &view->members[i], at, starts + (size_t)i * TEXTS_OF_MEMBER);
        if (at == leader)
            view->leader = i;
    }
    view->types = starts + (size_t)view->member_count * TEXTS_OF_MEMBER;
    fill_observations(member, view);
    buf_fini(&texts.buf);
    vec_fini(&texts.starts);
}
