/* The operating system's cryptographic random bytes.
 *
 * Contract: fills `size` bytes and returns EN_OK, or returns EN_ENTROPY_FAILED and the buffer must not be used.
 * Interrupted and short reads are continued. Nothing is buffered between calls, so fork, threads and snapshots of
 * a virtual machine cannot repeat bytes.
 */
#ifndef EN_ENTROPY_H
#define EN_ENTROPY_H

#include <stddef.h>

#include "status.h"

en_status en_entropy(void *bytes, size_t size);

/* The name of the system call in use, for people: "getrandom". */
const char *en_entropy_source(void);

#endif
