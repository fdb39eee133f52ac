/* What a function of the core can report. Python turns each into an exception: exactnoise/errors.py. */
#ifndef EN_STATUS_H
#define EN_STATUS_H

typedef enum {
    EN_OK = 0,
    EN_ENTROPY_FAILED = 1,   /* the operating system gave no random bytes */
    EN_SIMD_UNAVAILABLE = 2, /* this machine or build lacks the named instruction set */
    EN_STATUS_END            /* one past the last code */
} en_status;

#endif
