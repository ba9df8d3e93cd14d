-- The chapter "Text" of the API.
return {
  title = "Text",
  modules = { file = "uplua.file" },

  {
    head = { "", "" },
    { [[`up.printf(format: string, ...: any)`]],
      [[`string.format` to standard output; `%d`, `%x` take 64-bit integers, `%s` takes anything; what `%s` and `%c`
        print is escaped. In handlers too: [handlers.md](handlers.md)]],
      raises = "an argument that does not fit its conversion" },
    { [[`up.escape(s: string): string`]],
      [[s with control characters, and bytes that are no UTF-8, as `\x1b`; for Lua's `print`]] },
    { [[`up.hex(b: string|Buffer, separator?: string): string`]],
      [[the bytes of a string or of a buffer, which `up.buf` reads in a handler, in hexadecimal: `7f454c46`]] },
    { [[`up.quote(word: string): string`]],
      [[a word quoted for a shell: `it's` is `'it'\''s'`]] },
    { [[`up.clock(ns: ns): string`]],
      [[the wall clock's `12:34:56.123456` of an event's time]] },
    { [[`up.thousands(n: integer): string`, `up.plural(n: integer, one: string, many?: string): string`]],
      [[`1,204`; `1 stack`, `1,204 stacks`, or `1,204` and MANY]] },
    { [[`up.bar(fraction: number, width: integer): string`]], [[a bar of `width` columns, filled to 0 … 1]] },
    { [[`up.now(): ns`]],
      [[CLOCK_MONOTONIC in ns]] },
    { [[`up.sorted(t: table, less?: fun(a: any, b: any): boolean): fun(): any, any`]],
      [[iterates over a table's keys and values in order; `less` compares two values]] },
    { [[`up.args { … }`]],
      [[the script's options, each with its type, range, default and help; see lua/uplua/args.lua]],
      defines = "`up.args(declaration: table): table`" },
    { [[`up.wrong(format: string, ...: any)`]],
      [[prints what else is wrong with a script's arguments, and ends the script with status 2]] },
  },

  [==[
Lua's `print` prints any bytes: a string that the target chose could drive the terminal, hence `up.escape`. At the
prompt, `print` escapes, too. Shared objects, records and stacks print escaped.
]==],

  {
    head = { "`uplua.file`", "" },
    { [[`file.write(path: string, text: string): boolean?, string?`]],
      [[makes the text the content of the file: true, or nil and why not; what fails only when the file is closed is
        told, too]], gives_nil = "the file cannot be written" },
  },
}
