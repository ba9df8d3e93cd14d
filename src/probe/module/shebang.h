/* Scripts: which program will run them. */
#pragma once

/*
 * The program that executing the file PATH ends in: PATH itself, or where it is a script the interpreter of its "#!"
 * line, through further scripts and through env(1). Malloc'd; NULL if there is no memory.
 */
char *shebang_program(const char *path);
