/* Reads the settings of deliveries between entities. */
#include "host/settings.h"

int settings_read_delivery(struct settings *settings, char *error, size_t size)
{
    static const char forget[] = "delivery.forget-after";
    static const char most[] = "delivery.repeat-interval-max";
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;

    node->delivery_repeat = config_duration_ns(config, "delivery.repeat-interval");
    node->delivery_repeat_max = config_duration_ns(config, most);
    node->delivery_give_up = config_duration_ns(config, "delivery.give-up-after");
    node->delivery_forget = config_duration_ns(config, forget);
    node->commands_max = (uint32_t)config_int(config, "delivery.commands-max");
    node->commands_age = config_duration_ns(config, "delivery.commands-max-age");
    if (node->delivery_repeat_max < node->delivery_repeat)
        return settings_refuse(settings, error, size, most,
                               "\"%s\" is shorter than delivery.repeat-interval",
                               config_text(config, most));
    if (node->delivery_forget < node->delivery_give_up)
        return settings_refuse(settings, error, size, forget,
                               "\"%s\" is shorter than delivery.give-up-after; a late "
                               "repetition would be handled again",
                               config_text(config, forget));
    return 0;
}
