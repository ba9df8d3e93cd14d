/*
 * core.screen: the terminal's second screen, on which a view is shown while it lives, and the keys that are pressed
 * meanwhile. What the script prints waits in stdout's buffer until first() or close() writes it to the first
 * screen, where it stays.
 */
#include <lauxlib.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "lua/core.h"
#include "sys/interrupt.h"
#include "sys/terminal.h"

/* The second screen without a cursor, and back (xterm's private modes 1049 and 25, which all terminals have taken
 * over). */
static const char enter[] = "\033[?1049h\033[?25l";
static const char leave[] = "\033[?25h\033[?1049l";

enum { OUTPUT_BUFFER = 256 * 1024, TYPED = 256 };

static struct {
    FILE *terminal; /* NULL: the screen is not open */
    int keys;
    struct termios before;
    char output[OUTPUT_BUFFER]; /* stdout's */
} screen;

static void put(const char *text, size_t length)
{
    fwrite(text, 1, length, screen.terminal);
    fflush(screen.terminal);
}

/* open() → a descriptor that is readable when a key has been pressed, and one that is when the size has changed, -1
 * where there is none; nil where standard input and output are no terminal that is ours */
static int screen_open(lua_State *L)
{
    if (screen.terminal || !terminal_is(STDOUT_FILENO))
        return 0;
    interrupt_keep_terminal(STDIN_FILENO, leave);
    if (!terminal_raw(STDIN_FILENO, &screen.before)) {
        interrupt_keep_terminal(STDIN_FILENO, NULL);
        return 0;
    }
    screen.terminal = terminal_stream(STDOUT_FILENO);
    if (!screen.terminal) {
        terminal_restore(STDIN_FILENO, &screen.before);
        return 0;
    }
    screen.keys = terminal_keys(STDIN_FILENO);
    fflush(stdout);
    setvbuf(stdout, screen.output, _IOFBF, sizeof screen.output);
    put(enter, sizeof enter - 1);
    lua_pushinteger(L, screen.keys);
    lua_pushinteger(L, terminal_resizes());
    return 2;
}

/* typed() → the bytes that have been typed since; nil: there will be no more */
static int screen_typed(lua_State *L)
{
    char bytes[TYPED];
    int count = terminal_typed(screen.keys, bytes, sizeof bytes);
    if (count < 0)
        return 0;
    lua_pushlstring(L, bytes, (size_t)count);
    return 1;
}

/* resized(): the size has been looked at */
static int screen_resized(lua_State *L)
{
    (void)L;
    terminal_resized();
    return 0;
}

/* draw(text): in the place of what the screen shows; lines end in "\n". What stood there is overwritten line by line,
 * and is not cleared before, so that nothing flickers. */
static int screen_draw(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length), *end;
    fputs("\033[?2026h\033[H", screen.terminal); /* mode 2026: shown at once, where the terminal knows it */
    for (const char *line = text; line < text + length; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + length - line));
        if (!end)
            end = text + length;
        fputs(line == text ? "" : "\r\n", screen.terminal);
        fwrite(line, 1, (size_t)(end - line), screen.terminal);
        fputs("\033[K", screen.terminal);
    }
    put("\033[J\033[?2026l", strlen("\033[J\033[?2026l"));
    return 0;
}

/* pending() → whether something has been printed that still waits */
static int screen_pending(lua_State *L)
{
    return core_push_boolean(L, __fpending(stdout) > 0);
}

/* first(): shows the first screen, with what has been printed; second(): this one again, which wants to be drawn */
static int screen_first(lua_State *L)
{
    (void)L;
    put(leave, sizeof leave - 1);
    fflush(stdout);
    return 0;
}

static int screen_second(lua_State *L)
{
    (void)L;
    put(enter, sizeof enter - 1);
    return 0;
}

/* close(): back to the first screen, with what has been printed */
static int screen_close(lua_State *L)
{
    (void)L;
    if (!screen.terminal)
        return 0;
    put(leave, sizeof leave - 1);
    fclose(screen.terminal);
    screen.terminal = NULL;
    terminal_restore(STDIN_FILENO, &screen.before);
    interrupt_keep_terminal(STDIN_FILENO, NULL);
    fflush(stdout);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return 0;
}

int screen_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"open", screen_open},     {"typed", screen_typed},     {"resized", screen_resized},
        {"draw", screen_draw},     {"pending", screen_pending}, {"first", screen_first},
        {"second", screen_second}, {"close", screen_close},     {NULL, NULL},
    };
    return core_functions(L, functions);
}
