/* Asks for the facts of an explanation, and writes what its rules say. */
#include "mgmt/explain.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "look/kinds.h"
#include "mgmt/api_inside.h"
#include "mgmt/fields.h"
#include "mgmt/json.h"
#include "mgmt/rows.h"

struct rule_row {
    enum explain_of of;
    enum explain_severity severity;
    const char *name, *sentence, *cause, *remedy;
};

static const struct rule_row rules[RULE_COUNT] = {
#define X(rule, of, severity, sentence, cause, remedy) \
    [RULE_##rule] = { EXPLAIN_##of, EXPLAIN_##severity, #rule, sentence, cause, remedy },
    EXPLAIN_RULES(X)
#undef X
};

static const char *const of_names[] = {
#define X(name, text) text,
    EXPLAIN_OF(X)
#undef X
};

static const char *const severities[] = { "critical", "warning", "notice" };

const char *explain_rule_text(enum explain_rule rule)
{
    return rules[rule].name;
}

enum explain_of explain_of_named(const char *name)
{
    int of = 0;

    while (name && of < EXPLAIN_OF_COUNT && strcmp(of_names[of], name) != 0)
        of++;
    return name ? (enum explain_of)of : EXPLAIN_OF_COUNT;
}

/* ---- looks ---- */

static void add_type(const struct api_request *request, enum sherd_look_kind kind, struct api_ask *asks, uint32_t *count)
{
    api_ask_add(request, kind, asks, count)->options.type = request->words[API_TYPE];
}

static uint32_t plan_node(const struct api_request *request, struct api_ask *asks)
{
    const char *node = api_node(request->words[API_NODE]);
    uint32_t count = 0;

    (void)api_ask_add(request, SHERD_LOOK_MEMBERS, asks, &count);
    api_ask_add(request, SHERD_LOOK_TYPES, asks, &count)->options.node = node ? node : request->self;
    api_ask_add(request, SHERD_LOOK_CONFIG, asks, &count)->options.node = node ? node : request->self;
    api_ask_add(request, SHERD_LOOK_TIMELINE, asks, &count)->options.count = 0;
    api_ask_add(request, SHERD_LOOK_NODES, asks, &count)->options.node = node ? node : request->self;
    api_ask_add(request, SHERD_LOOK_HOT, asks, &count)->options.node = node ? node : request->self;
    return count;
}

/* Adds the looks that explain a shard. */
static void add_shard(const struct api_request *request, const char *shard, struct api_ask *asks, uint32_t *count)
{
    struct api_ask *ask;

    api_ask_add(request, SHERD_LOOK_MEMBERS, asks, count)->options.node = request->self;
    add_type(request, SHERD_LOOK_COORDINATORS, asks, count);
    add_type(request, SHERD_LOOK_REGIONS, asks, count);
    if (!shard)
        return;
    api_ask_shard(request, shard, asks, count);
    ask = api_ask_add(request, SHERD_LOOK_TIMELINE, asks, count);
    (void)snprintf(ask->shard, sizeof ask->shard, "%s", shard);
    ask->options.type = request->words[API_TYPE];
    ask->options.shard = strlen(shard) < sizeof ask->shard ? ask->shard : shard;
    ask->options.count = 0;
}

static uint32_t plan_first(const struct api_request *request, enum explain_of of, struct api_ask *asks)
{
    struct api_ask *ask;
    uint32_t count = 0;

    switch (of) {
    case EXPLAIN_NODE:
        return plan_node(request, asks);
    case EXPLAIN_ENTITY:
    case EXPLAIN_MESSAGE:
        if (!request->words[API_TYPE] || !request->words[API_ID])
            return 0;
        (void)api_ask_add(request, SHERD_LOOK_TYPES, asks, &count);
        (void)api_ask_add(request, SHERD_LOOK_NODES, asks, &count);
        if (strlen(request->words[API_ID]) <= SHERD_ID_MAX) {
            ask = api_ask_add(request, SHERD_LOOK_ENTITY, asks, &count);
            ask->options.type = request->words[API_TYPE];
            ask->options.entity = request->words[API_ID];
        }
        (void)api_ask_add(request, SHERD_LOOK_LANES, asks, &count);
        if (of == EXPLAIN_MESSAGE)
            (void)api_ask_add(request, SHERD_LOOK_UNDELIVERED, asks, &count);
        return count;
    case EXPLAIN_SHARD:
    case EXPLAIN_REBALANCE:
        if (!request->words[API_TYPE] || (of == EXPLAIN_SHARD && !request->words[API_SHARD]))
            return 0;
        (void)api_ask_add(request, SHERD_LOOK_TYPES, asks, &count);
        (void)api_ask_add(request, SHERD_LOOK_NODES, asks, &count);
        add_shard(request, of == EXPLAIN_SHARD ? request->words[API_SHARD] : NULL, asks, &count);
        return count;
    case EXPLAIN_READY:
    case EXPLAIN_OF_COUNT:
        break;
    }
    return 0;
}

/* The facts of a kind; null: there are none. */
static const struct facts *facts_of(const struct facts *facts, uint32_t count, enum sherd_look_kind kind)
{
    for (uint32_t i = 0; i < count; i++)
        if (facts[i].kind == kind && facts[i].parts.count)
            return &facts[i];
    return NULL;
}

/* The shard that the question is about. False: it is not known. */
static bool find_shard(const struct api_request *request, const struct facts *facts, uint32_t count,
                       char shard[API_SHARD_SIZE])
{
    const struct facts *types = facts_of(facts, count, SHERD_LOOK_TYPES);

    if (!types || !request->words[API_ID])
        return false;
    for (uint32_t i = 0; i < facts_count(types); i++) {
        struct type_sums sums;

        if (fact_is(types, i, LOOK_TYPES_TYPE, slice_text(request->words[API_TYPE])) && type_first(types, i, &sums) &&
            sums.shards)
            return api_shard_number(request->words[API_ID], sums.shards, shard);
    }
    return false;
}

uint32_t explain_plan(const struct api_request *request, const struct facts *facts, uint32_t had, struct api_ask *asks)
{
    enum explain_of of = explain_of_named(request->words[API_OF]);
    char shard[API_SHARD_SIZE];
    uint32_t count = 0;

    if (!had)
        return plan_first(request, of, asks);
    if ((of != EXPLAIN_ENTITY && of != EXPLAIN_MESSAGE) || facts_of(facts, had, SHERD_LOOK_MEMBERS) ||
        !find_shard(request, facts, had, shard))
        return 0;
    add_shard(request, shard, asks, &count);
    return count;
}

/* ---- sentences ---- */

static void put_word(struct buf *text, struct slice name, const struct explained *explained,
                     const struct explain_words *words)
{
    const struct {
        const char *name;
        struct slice value;
    } rows[] = {
        { "type", slice_text(explained->request->words[API_TYPE]) },
        { "id", slice_text(explained->request->words[API_ID]) },
        { "shard", slice_text(explained->shard) },
        { "node", words->node },
        { "other", words->other },
        { "text", words->text },
        { "since", slice_text(words->since) },
    };
    char number[24];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (slice_is(name, rows[i].name)) {
            buf_put_slice(text, rows[i].value);
            return;
        }
    (void)snprintf(number, sizeof number, "%" PRIu64, slice_is(name, "count") ? words->count : words->most);
    buf_put_text(text, number);
}

static void put_sentence(struct buf *body, const char *name, const char *sentence, const struct explained *explained,
                         const struct explain_words *words)
{
    struct buf text = { 0 };

    while (*sentence) {
        size_t size = strcspn(sentence, "{");

        buf_put(&text, sentence, size);
        sentence += size;
        if (!*sentence)
            break;
        size = strcspn(sentence, "}");
        put_word(&text, slice_of(sentence + 1, size - 1), explained, words);
        sentence += size + 1;
    }
    field_slice(body, name, buf_slice(&text));
    buf_fini(&text);
}

static void put_finding(struct buf *body, enum explain_rule rule, const struct explained *explained,
                        const struct explain_words *words)
{
    const struct rule_row *row = &rules[rule];

    field_text(body, "rule", row->name);
    field_text(body, "severity", severities[row->severity]);
    put_sentence(body, "text", row->sentence, explained, words);
    put_sentence(body, "cause", row->cause, explained, words);
    put_sentence(body, "remedy", row->remedy, explained, words);
}

/* Rules of the shard and the entity explain what belongs to them, too. */
static bool applies(const struct rule_row *rule, const struct explained *explained)
{
    bool has_shard = explained->of == EXPLAIN_ENTITY || explained->of == EXPLAIN_MESSAGE;

    if (has_shard && rule->of == EXPLAIN_SHARD)
        return rule->severity != EXPLAIN_NOTICE;
    if (rule->of == EXPLAIN_ENTITY && explained->of == EXPLAIN_MESSAGE)
        return rule->severity != EXPLAIN_NOTICE;
    if (rule == &rules[RULE_N10])
        return has_shard || explained->of == EXPLAIN_NODE;
    if (rule == &rules[RULE_M1])
        return explained->of != EXPLAIN_NODE && explained->of != EXPLAIN_READY;
    return rule->of == explained->of;
}

static uint32_t put_findings(const struct explained *explained, struct buf *body)
{
    uint32_t found = 0;

    field_name(body, "findings");
    buf_put_u8(body, '[');
    for (int severity = 0; severity <= EXPLAIN_NOTICE; severity++)
        for (int i = 0; i < RULE_COUNT; i++) {
            struct explain_words words = { .count = 0 };

            if ((int)rules[i].severity != severity || !applies(&rules[i], explained) ||
                !explain_holds((enum explain_rule)i, explained, &words))
                continue;
            found++;
            json_next(body);
            buf_put_u8(body, '{');
            put_finding(body, (enum explain_rule)i, explained, &words);
            buf_put_u8(body, '}');
        }
    buf_put_u8(body, ']');
    return found;
}

/* ---- problems of the whole cluster ---- */

/* Adds the findings about one member or one type. */
static void put_problems(const struct explained *explained, struct buf *body, enum explain_severity *worst)
{
    for (int i = 0; i < RULE_COUNT; i++) {
        struct explain_words words = { .count = 0 };

        if (rules[i].of != explained->of || rules[i].severity == EXPLAIN_NOTICE ||
            !explain_holds((enum explain_rule)i, explained, &words))
            continue;
        if (rules[i].severity < *worst)
            *worst = rules[i].severity;
        json_next(body);
        buf_put_u8(body, '{');
        field_text(body, "of", of_names[explained->of]);
        field_text(body, "node", explained->of == EXPLAIN_NODE ? explained->request->words[API_NODE] : NULL);
        field_text(body, "type", explained->request->words[API_TYPE]);
        put_finding(body, (enum explain_rule)i, explained, &words);
        buf_put_u8(body, '}');
    }
}

enum explain_severity explain_problems(const struct api_request *request, const struct facts *facts, uint32_t count,
                                       struct buf *body)
{
    static const struct {
        enum explain_of of;
        enum api_param param;
        enum sherd_look_kind kind;
        uint32_t column;
    } rows[] = {
        { EXPLAIN_NODE, API_NODE, SHERD_LOOK_MEMBERS, LOOK_MEMBERS_ADDRESS },
        { EXPLAIN_SHARD, API_TYPE, SHERD_LOOK_TYPES, LOOK_TYPES_TYPE },
    };
    enum explain_severity worst = EXPLAIN_NOTICE;

    field_name(body, "problems");
    buf_put_u8(body, '[');
    for (int i = 0; i < 2; i++) {
        const struct facts *of = facts_of(facts, count, rows[i].kind);
        struct api_request one = { .route = request->route, .self = request->self };
        struct explained explained = { .request = &one, .of = rows[i].of, .facts = facts, .count = count };

        for (uint32_t row = 0; of && row < facts_count(of); row++) {
            struct slice name = fact_text(of, row, rows[i].column);

            if (type_row(of, rows[i].column, name) != row)
                continue;
            one.words[rows[i].param] = mem_copy(name.data, name.size);
            put_problems(&explained, body, &worst);
            mem_free(one.words[rows[i].param]);
        }
    }
    buf_put_u8(body, ']');
    return worst;
}

/* ---- the answer ---- */

/* Members whose facts are missing, each once. */
static uint32_t put_not_known(const struct explained *explained, struct buf *body)
{
    uint32_t missing = 0;

    field_name(body, "notKnown");
    buf_put_u8(body, '[');
    for (uint32_t i = 0; i < explained->count; i++)
        for (uint32_t j = 0; j < explained->facts[i].parts.count; j++) {
            const struct sherd_look_part *part = &explained->facts[i].parts.items[j];
            struct buf text = { 0 };
            bool is_told = part->state == SHERD_LOOK_OK;

            for (uint32_t k = 0; k < i && !is_told; k++) {
                const struct sherd_look_part *before = facts_part_of(&explained->facts[k], slice_text(part->address));

                is_told = before && before->state != SHERD_LOOK_OK;
            }
            if (is_told)
                continue;
            missing++;
            buf_put_text(&text, part->address);
            buf_put_text(&text, " did not answer: ");
            buf_put_text(&text, sherd_look_state_text(part->state));
            json_next(body);
            json_slice(body, buf_slice(&text));
            buf_fini(&text);
        }
    buf_put_u8(body, ']');
    return missing;
}

/* Whether the request names what is to be explained. */
static bool is_whole(const struct api_request *request, enum explain_of of)
{
    bool has_type = request->words[API_TYPE] != NULL;

    switch (of) {
    case EXPLAIN_SHARD:
        return has_type && request->words[API_SHARD];
    case EXPLAIN_ENTITY:
    case EXPLAIN_MESSAGE:
        return has_type && request->words[API_ID];
    case EXPLAIN_REBALANCE:
        return has_type;
    case EXPLAIN_NODE:
    case EXPLAIN_READY:
        return true;
    case EXPLAIN_OF_COUNT:
        break;
    }
    return false;
}

enum mgmt_error explain_answer(const struct api_request *request, const struct facts *facts, uint32_t count,
                               struct buf *body)
{
    struct explained explained = {
        .request = request, .of = explain_of_named(request->words[API_OF]), .facts = facts, .count = count,
        .shard = request->words[API_SHARD],
    };
    char shard[API_SHARD_SIZE];
    uint32_t found, missing;

    if (!is_whole(request, explained.of))
        return ERROR_BAD_PARAMETER;
    if (find_shard(request, facts, count, shard))
        explained.shard = shard;
    buf_put_u8(body, '{');
    field_text(body, "of", request->words[API_OF]);
    found = put_findings(&explained, body);
    missing = put_not_known(&explained, body);
    field_text(body, "text", found ? "see the findings" : missing ? "not known: see notKnown" : "nothing is wrong");
    put_parts(body, facts, count);
    buf_put_u8(body, '}');
    return ERROR_NONE;
}
