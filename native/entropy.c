/* The only file that asks the operating system for random bytes; the contract is in entropy.h. */
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
/* after windows.h */
#include <bcrypt.h>
#else
#define _DEFAULT_SOURCE 1 /* getentropy and getrandom under -std=c11 */
#include <errno.h>
#if defined(__linux__)
#include <sys/random.h>
#include <sys/types.h>
#elif defined(__APPLE__)
#include <sys/random.h>
#else
#include <unistd.h>
#endif
#endif

#include "entropy.h"

#if defined(_WIN32)

enum { CHUNK = 1 << 20 };

static int draw(unsigned char *bytes, size_t size) {
    return BCryptGenRandom(NULL, bytes, (ULONG)size, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0 ? (int)size : -1;
}

const char *en_entropy_source(void) {
    return "BCryptGenRandom";
}

#elif defined(__linux__)

enum { CHUNK = 1 << 20 };

static int draw(unsigned char *bytes, size_t size) {
    ssize_t got;
    do
        got = getrandom(bytes, size, 0);
    while (got < 0 && errno == EINTR);
    return (int)got;
}

const char *en_entropy_source(void) {
    return "getrandom";
}

#else

enum { CHUNK = 256 }; /* the most that getentropy gives at once */

static int draw(unsigned char *bytes, size_t size) {
    return getentropy(bytes, size) == 0 ? (int)size : -1;
}

const char *en_entropy_source(void) {
    return "getentropy";
}

#endif

en_status en_entropy(void *bytes, size_t size) {
    unsigned char *next = bytes;
    while (size > 0) {
        int got = draw(next, size < CHUNK ? size : (size_t)CHUNK);
        if (got <= 0)
            return EN_ENTROPY_FAILED;
        next += got;
        size -= (size_t)got;
    }
    return EN_OK;
}
