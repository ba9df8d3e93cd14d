/* The functions of the C library that scripts find in the file without any library. */
#pragma once

/* The address of the function NAME; NULL where it is none of them. */
void *function_find(const char *name);
