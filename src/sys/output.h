/* Standard output, and why what was written there is not there. */
#pragma once

/* Writes what is still in the buffer. Returns 0, or, if anything could not be written by now, a positive errno. */
int output_flush(void);
