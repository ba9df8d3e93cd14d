-- The chapter "Text" of the API.
return {
  title = "Text",
  modules = { args = "uplua.args", text = "uplua.text", file = "uplua.file" },

  {
    head = { "", "" },
    { [[`up.printf(format: string, ...: any)`]],
      [[`string.format` to standard output; `%d`, `%x` take 64-bit integers, `%s` takes anything; what `%s` and `%c`
        print is escaped. In handlers too: [handlers.md](handlers.md)]],
      raises = "an argument that does not fit its conversion" },
    { [[`up.hex(b: string|Buffer, separator?: string): string`]],
      [[the bytes of a string or of a buffer, which `up.buf` reads in a handler, in hexadecimal: `7f454c46`;
      `…` stands at the end where the buffer was cut]] },
    { [[`up.clock(ns: ns): string`]],
      [[the wall clock's `12:34:56.123456` of an event's time]] },
    { [[`up.now(): ns`]],
      [[CLOCK_MONOTONIC in ns]] },
    { [[`up.sorted(t: table, less?: fun(a: any, b: any): boolean): fun(): any, any`]],
      [[iterates over a table's keys and values in order; `less` compares two values]] },
    { [[`up.args { … }`]],
      [[the script's options, each with its type, range, default and help, declared in one table (below)]],
      defines = "`up.args(declaration: table): table`" },
    { [[`up.args.fail(format, …)`]],
      [[prints what else is wrong with a script's arguments, and ends the script with status 2; `up.args` is the
        module `uplua.args`]],
      defines = "`args.fail(format: string, ...: any)`" },
  },

  [==[
Options are declared by the usage line and a row each:

    local opts = up.args {
      "leak.lua [interval [count]] [-- TARGET]",
      { "top,n",  "N",    "number",   10, "print the N largest stacks", least = 1, most = 100 },
      { "older",  "TIME", "duration", 0,  "only blocks older than TIME, such as 500ms or 5s" },
      { "combined-only",                  "one line for each stack" },
      arguments = 2,
    }

A row is a name (with `,n` for the letter `-n`), what its value is called, its type, default and help; a row of a name
and help is a flag. Types are `string`, `number`, `integer` (0 and up), `duration` (ns) and `size` (bytes). A default of
false means that the option may be missing. With `of_argument = true` in its row an option behind an argument is that
argument's, `opts.of[1].where`, and one before all of them `opts.where`. With `several = true` it may be given several
times, and is a list; any other option with a value that is given twice is refused. `arguments`: so many other arguments
at most.
Above, `opts.top` is a number, `opts.older` ns, `opts.combined_only` true or false, and `opts[1]` the first of the
others, a text. `--help` prints the help and ends the script with status 0; a wrong option ends it with a message and
status 2. What every script has, unless it declares its own, `--help` lists: `--output`, `--format`, `--strict`,
`--top`, for stacks `--lines`, `--modules`, `--addresses`, `--kernel` and `--user` (`e:stack()` is that part alone),
and, where reports are made by `up.report`, `--interval`.
]==],

  {
    head = { "`uplua.text`", "" },
    { [[`text.time(ns: ns): string`]], [[a time for people: `1.2 ms` of 1200000]] },
    { [[`text.bytes(n: integer): string`]], [[`1.2 MB` of 1258291: units are powers of 1024]] },
    { [[`text.thousands(n: integer): string`, `text.integer(n: integer): string`]],
      [[`1,204,551`; `1204551`; also of 64-bit integers]] },
    { [[`text.plural(n: integer, one: string, many?: string): string`]],
      [[`1 stack`, `1,204 stacks`, or `1,204` and MANY]] },
    { [[`text.duration(value: duration): ns?`]], [[the ns of `"100ms"`, of `"5"` (seconds), or of a number, which is ns
        already; nil and why it is none]], gives_nil = "it is no duration" },
    { [[`text.size(value: size): bytes?`]], [[the bytes of `"4M"`, `"64k"` or 4096; nil and why it is none]],
      gives_nil = "it is no size" },
    { [[`text.escape(s: string, keep?: string): string`]],
      [[s with control characters, and bytes that are no UTF-8, as `\x1b`; the characters in `keep`, such as `"\n"`,
        stay]] },
    { [[`text.quote(word: string): string`]], [[a word quoted for a shell: `it's` is `'it'\''s'`]] },
    { [[`text.width(s: string): integer`, `text.cut(s: string, width: integer): string`]],
      [[the columns that s takes on the terminal; s, or as much of it as fits and `…`]] },
    { [[`text.bar(fraction: number, width: integer): string`]], [[a bar of `width` columns, filled to 0 … 1]] },
  },

  [==[
Lua's `print` prints any bytes: a string that the target chose could drive the terminal, hence `text.escape`. At the
prompt, `print` escapes, too. Shared objects, records and stacks print escaped.
]==],

  {
    head = { "`uplua.file`", "" },
    { [[`file.write(path: string, text: string): boolean?, string?`]],
      [[makes the text the content of the file: true, or nil and why not; what fails only when the file is closed is
        told, too]], gives_nil = "the file cannot be written" },
  },
}
