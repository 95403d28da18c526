/* Every limit of the library: its value, its unit, its reason. A section for each core; a limit that is reached is counted,
 * and a test reaches it. Defaults that users can set stand with their setting's name. */
#ifndef SHERD_BASE_LIMITS_H
#define SHERD_BASE_LIMITS_H

/* base */
#define TRACE_TEXT_MAX 1024 /* bytes of one log line; longer ones are cut */
#define TRACE_LINES_MAX 4096 /* lines kept between two turns of a machine */

/* artery */
#define FRAME_SIZE_MAX (256 * 1024) /* bytes after the length field; Akka's maximum-frame-size */
#define FRAME_LARGE_SIZE_MAX (2 * 1024 * 1024) /* maximum-large-frame-size */

#endif
