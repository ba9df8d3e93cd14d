/*
 * core.readline: a line editor that shares the loop with probes (readline's callback interface). Nothing of readline is
 * initialised before open(). The editor writes to a stream of its own, so that what is waiting in stdout's buffer is
 * always the output of the script: flush() puts it above the line being edited.
 */
#include <lauxlib.h>
#include <locale.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "lua/core.h"
#include "sys/editor.h"
#include "sys/interrupt.h"
#include "sys/terminal.h"

enum { HISTORY_LINES = 1000, OUTPUT_BUFFER = 256 * 1024 };

static struct {
    bool editing, have_line, whole, shared;
    char *line;   /* NULL: end of input */
    char *before; /* the lines of this entry that are complete; NULL: none */
    char *history;
    int keys;
    char output[OUTPUT_BUFFER]; /* stdout's */
    lua_State *L;
} editor;

/* Writes what the script printed. A line that it has not ended is ended here: the editor clears the line that it stands
 * in. */
static void write_output(void)
{
    size_t waiting = __fpending(stdout);
    bool ended = !waiting || editor.output[waiting - 1] == '\n';
    fflush(stdout);
    if (!ended) {
        fputc('\n', rl_outstream);
        fflush(rl_outstream);
    }
}

/* Called by rl_callback_read_char. The terminal gets its modes back before the line is run. */
static void take_line(char *line)
{
    rl_callback_handler_remove();
    editor.editing = false;
    editor.have_line = true;
    editor.line = line;
}

/* Woken by a signal it reads as NUL, which only sets the mark; the loop then deals with the signal. */
static int read_key(FILE *stream)
{
    (void)stream;
    return terminal_key(editor.keys, interrupt_fd());
}

/* Ctrl-X Ctrl-E: the entry, with the lines before this one, in $VISUAL or $EDITOR; then it stands in the line. */
static int edit_entry(int count, int key)
{
    (void)count;
    (void)key;
    char *entry = NULL, *edited = NULL;
    struct error err = {0};
    if (asprintf(&entry, "%s%s%s\n", editor.before ? editor.before : "", editor.before ? "\n" : "", rl_line_buffer) < 0)
        return 1;
    rl_clear_visible_line();
    fflush(rl_outstream);
    rl_deprep_terminal();
    int code = editor_edit(entry, ".lua", &edited, &err);
    rl_prep_terminal(1);
    if (code) {
        fprintf(rl_outstream, "uplua: %s\n", err.text);
    } else {
        size_t length = strlen(edited);
        while (length && edited[length - 1] == '\n')
            edited[--length] = '\0';
        editor.whole = true;
        rl_replace_line(edited, 0);
        rl_point = rl_end;
        rl_set_prompt("> ");
    }
    free(entry);
    free(edited);
    rl_on_new_line();
    rl_redisplay();
    return 0;
}

/* Where the word begins that is to be completed: a string's at its quote, a name's behind what cannot be in one. */
static char *word_breaks(void)
{
    static char of_string[] = "\"'", of_names[] = " \t\n\"'+-*/%^#=<>(){}[];,~?";
    char quote = 0;
    for (int i = 0; i < rl_point; i++) {
        char c = rl_line_buffer[i];
        if (quote && c == '\\')
            i++;
        else if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
    }
    return quote ? of_string : of_names;
}

/* Lists COUNT matches, [1] and those behind it, by what "uplua.labels" has for them. */
static void list_labels(char **matches, int count, int width)
{
    lua_State *L = editor.L;
    char **shown = calloc((size_t)count + 2, sizeof *shown);
    if (!shown)
        return;
    lua_getfield(L, LUA_REGISTRYINDEX, "uplua.labels"); /* labels */
    for (int i = 0; i <= count; i++) {
        lua_getfield(L, -1, matches[i]); /* labels label */
        const char *label = lua_tostring(L, -1);
        shown[i] = strdup(label ? label : matches[i]);
        if (i && shown[i] && (i == 1 || (int)strlen(shown[i]) > width))
            width = (int)strlen(shown[i]);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    rl_display_match_list(shown, count, width);
    rl_forced_update_display();
    for (int i = 0; i <= count; i++)
        free(shown[i]);
    free(shown);
}

/* Offers the words that complete(text, start) of Lua gives, and lists them by its labels. Errors in it offer nothing.
 */
static char **complete(const char *text, int start, int end)
{
    (void)end;
    rl_attempted_completion_over = 1;
    rl_completion_append_character = '\0'; /* readline sets it anew each time */
    lua_State *L = editor.L;
    char **matches = NULL;
    int top = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, "uplua.complete");
    lua_pushstring(L, text);
    lua_pushlstring(L, rl_line_buffer, (size_t)start);
    rl_completion_display_matches_hook = NULL;
    if (lua_pcall(L, 2, 2, 0) == 0 && lua_istable(L, -2)) { /* words labels: [1] of words is the common prefix */
        if (lua_istable(L, -1))
            rl_completion_display_matches_hook = list_labels;
        lua_setfield(L, LUA_REGISTRYINDEX, "uplua.labels"); /* words */
        size_t count = lua_objlen(L, -1);
        matches = count ? calloc(count + 1, sizeof *matches) : NULL;
        for (size_t i = 0; matches && i < count; i++) {
            lua_rawgeti(L, -1, (int)i + 1);
            const char *word = lua_tostring(L, -1);
            matches[i] = strdup(word ? word : "");
            lua_pop(L, 1);
        }
    }
    lua_settop(L, top);
    return matches;
}

/* The environment's locale is not installed: bytes beyond ASCII are shown and taken as they are, not as \303. */
static void pass_bytes(void)
{
    rl_variable_bind("input-meta", "on");
    rl_variable_bind("output-meta", "on");
    rl_variable_bind("convert-meta", "off");
}

/* open(history file or nil, complete): once */
static int readline_open(lua_State *L)
{
    const char *history = luaL_optstring(L, 1, NULL);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 2);
    lua_setfield(L, LUA_REGISTRYINDEX, "uplua.complete");
    editor.L = L;

    if (!setlocale(LC_CTYPE, "")) /* readline edits characters, not bytes */
        pass_bytes();
    interrupt_keep_terminal(STDIN_FILENO, NULL);
    setvbuf(stdout, editor.output, _IOFBF, sizeof editor.output);
    rl_outstream = terminal_stream(STDOUT_FILENO);
    if (!rl_outstream)
        return luaL_error(L, "cannot open the terminal for the prompt");
    editor.keys = terminal_keys(STDIN_FILENO);
    rl_getc_function = read_key;
    rl_readline_name = "uplua";
    rl_catch_signals = 0;
    rl_attempted_completion_function = complete;
    rl_completion_word_break_hook = word_breaks;
    rl_sort_completion_matches = 0; /* they are: it would take a second for 50,000 */
    rl_ignore_completion_duplicates = 0;
    rl_basic_quote_characters = ""; /* what is completed in a string may go on: no quote is added */

    rl_bind_keyseq("\\C-x\\C-e", edit_entry);

    history_comment_char = '#'; /* times in the file, which tell where an entry of several lines begins */
    history_write_timestamps = 1;
    history_multiline_entries = 1; /* also where the file has been cut, and its first time with it */
    using_history();
    stifle_history(HISTORY_LINES);
    if (history && (editor.history = strdup(history)))
        read_history(editor.history);
    return 0;
}

/* start(prompt, before or nil): shows it and begins to edit a line, which follows the lines BEFORE of its entry */
static int readline_start(lua_State *L)
{
    const char *prompt = luaL_checkstring(L, 1);
    const char *before = luaL_optstring(L, 2, NULL);
    free(editor.before);
    editor.before = before ? strdup(before) : NULL;
    editor.whole = false;
    write_output();
    rl_callback_handler_install(prompt, take_line);
    editor.editing = true;
    return 0;
}

/* Shows the line whole where another program may have written into it, before a key changes it: where the cursor stands
 * by then is not known, but that the line has to begin in its row; of a line that takes several rows not even that. */
static void show_again(void)
{
    int rows, columns;
    rl_get_screen_size(&rows, &columns);
    if (RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH) || (int)strlen(rl_prompt) + rl_end >= columns)
        return;
    fputc('\r', rl_outstream);
    rl_on_new_line();
    rl_redisplay();
}

/* share(whether): another program writes to this terminal, too */
static int readline_share(lua_State *L)
{
    editor.shared = lua_toboolean(L, 1);
    return 0;
}

/* feed() → the line once it is complete, and true if the lines before it are in it; false at the end of input, nil
 * before */
static int readline_feed(lua_State *L)
{
    if (!editor.editing)
        return 0;
    if (editor.shared)
        show_again();
    rl_callback_read_char();
    if (!editor.have_line)
        return 0;
    editor.have_line = false;
    if (!editor.line)
        return core_push_boolean(L, false);
    char *line = editor.line;
    editor.line = NULL;
    lua_pushstring(L, line);
    free(line);
    lua_pushboolean(L, editor.whole);
    return 2;
}

/* abandon(): leaves the line as it is and stops editing (Ctrl-C) */
static int readline_abandon(lua_State *L)
{
    (void)L;
    if (editor.editing) {
        rl_free_line_state();
        rl_callback_sigcleanup();
        rl_point = rl_end;
        rl_redisplay();
        fputs("^C\n", rl_outstream); /* before the handler goes: that returns to the beginning of the line */
        rl_callback_handler_remove();
        editor.editing = false;
        rl_replace_line("", 0);
        fflush(rl_outstream);
    }
    return 0;
}

/* editing() → whether a line is being edited */
static int readline_editing(lua_State *L)
{
    return core_push_boolean(L, editor.editing);
}

/* pending() → whether something that the script printed has not been written yet */
static int readline_pending(lua_State *L)
{
    return core_push_boolean(L, __fpending(stdout) > 0);
}

/* put(text): writes it to the terminal before what is pending */
static int readline_put(lua_State *L)
{
    fputs(luaL_checkstring(L, 1), rl_outstream);
    fflush(rl_outstream);
    return 0;
}

/* raw(whether): no line is being edited; whether each key is to be had as it is pressed, and does not show */
static int readline_raw(lua_State *L)
{
    if (lua_toboolean(L, 1))
        rl_prep_terminal(1);
    else
        rl_deprep_terminal();
    return 0;
}

/* key() → the code of a key that has been pressed, -1: there will be no more */
static int readline_key(lua_State *L)
{
    return core_push_number(L, terminal_key(editor.keys, interrupt_fd()));
}

/* flush(): writes what the script printed above the line being edited */
static int readline_flush(lua_State *L)
{
    (void)L;
    if (__fpending(stdout) == 0)
        return 0;
    if (editor.editing) {
        rl_clear_visible_line();
        fflush(rl_outstream);
    }
    write_output();
    if (editor.editing) {
        rl_on_new_line();
        rl_redisplay();
        fflush(rl_outstream);
    }
    return 0;
}

/* remember(line): adds it to the history, also in the file */
static int readline_remember(lua_State *L)
{
    const char *line = luaL_checkstring(L, 1);
    HIST_ENTRY *last = history_get(history_base + history_length - 1);
    if (last && strcmp(last->line, line) == 0)
        return 0;
    add_history(line);
    if (editor.history)
        append_history(1, editor.history);
    return 0;
}

/* Cuts the history file to its last entries, those of other sessions with them. history_truncate_file counts lines, and
 * would cut an entry of several in two. */
static void cut_history(void)
{
    clear_history();
    read_history(editor.history);
    if (history_length == HISTORY_LINES)
        write_history(editor.history);
}

/* close(): gives the terminal back and keeps the history file short */
static int readline_close(lua_State *L)
{
    (void)L;
    if (editor.editing)
        rl_callback_handler_remove();
    editor.editing = false;
    if (editor.history)
        cut_history();
    return 0;
}

int readline_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"open", readline_open},       {"start", readline_start},
        {"feed", readline_feed},       {"share", readline_share},
        {"flush", readline_flush},     {"abandon", readline_abandon},
        {"close", readline_close},     {"remember", readline_remember},
        {"editing", readline_editing}, {"pending", readline_pending},
        {"put", readline_put},         {"raw", readline_raw},
        {"key", readline_key},         {NULL, NULL},
    };
    return core_functions(L, functions);
}
