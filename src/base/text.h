/* Turns an enum's values into text where a list of X(name, text) has both.
 *
 *   switch (value) { LIST(TEXT_CASE) } */
#ifndef SHERD_BASE_TEXT_H
#define SHERD_BASE_TEXT_H

#define TEXT_CASE(name, text) \
    case name:                \
        return text;

#endif
