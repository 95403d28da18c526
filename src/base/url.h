/* Encodes names in paths as java.net.URLEncoder does in UTF-8: letters, digits and ".-*_" stay, a
 * space becomes "+", every other byte "%XX". */
#ifndef SHERD_BASE_URL_H
#define SHERD_BASE_URL_H

#include <stdbool.h>

#include "base/bytes.h"

void url_put(struct buf *buf, struct slice text);
bool url_take(struct buf *buf, struct slice encoded); /* false when malformed */

#endif
