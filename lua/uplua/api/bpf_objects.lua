-- The chapter "BPF objects brought along" of the API.
return {
  title = "BPF objects brought along",
  types = {
    { "BpfObject", nil, "a BPF object that was compiled elsewhere" },
    { "AttachOptions", "{ slide?: boolean|\"lossy\", cookie?: integer, hertz?: hertz, period?: integer }",
      "of a BPF object's attach" },
  },

  [==[
A BPF object that was written in C and compiled elsewhere (`clang -target bpf -g -O2 -c`, with libbpf's headers) runs
beside the script's own handlers. `up.bpf_object(path)` opens it. Its programs attach by the same means as handlers. Its
maps are objects as `up.hash`, `up.array`, `up.percpu_hash`, `up.lru_hash` and `up.ring` make, typed by its BTF.

```c
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct trip { int customer, stops; };
struct street { char name[16]; };

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 64);
    __type(key, struct street);
    __type(value, __u64);
} trips SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
    __type(value, struct trip); /* what its records are */
} far SEC(".maps");

const volatile int limit = 10;
int driven;
char _license[] SEC("license") = "GPL";

SEC("uprobe/./shop:deliver") /* int deliver(const char *street, int stops) */
int on_deliver(struct pt_regs *ctx)
{
    struct street street = {};
    __u64 one = 1, *count;
    struct trip trip = { .stops = (int)PT_REGS_PARM2(ctx) };
    bpf_probe_read_user_str(street.name, sizeof street.name, (void *)PT_REGS_PARM1(ctx));
    count = bpf_map_lookup_elem(&trips, &street);
    if (count)
        __sync_fetch_and_add(count, 1);
    else
        bpf_map_update_elem(&trips, &street, &one, BPF_ANY);
    __sync_fetch_and_add(&driven, 1);
    if (trip.stops >= limit)
        bpf_ringbuf_output(&far, &trip, sizeof trip, 0);
    return 0;
}
```
```lua
local tool = bpf_object "deliver.bpf.o"
tool.rodata.limit = 3
tool:attach "on_deliver"
local stops = 0
tool.maps.far:each(function(trip) stops = stops + trip.stops end)
at_exit(function()
  for street, count in tool.maps.trips:top(2) do print(street.name, count) end
  print("driven", tool.bss.driven, "stops of the far trips", stops)
end)
```
```text
Elm Street	74
Rue de Rivoli	70
driven	213	stops of the far trips	63
```
]==],

  {
    head = { "of an object", "" }, class = "BpfObject",
    { [[`up.bpf_object(path: string, records?: table<string, string>): BpfObject`]],
      [[opens it; nothing is loaded. `records` gives the types of records in its rings: `{ far = "struct trip" }`]],
      raises = "what is wrong with the file" },
    { [[`tool:attach(name?: string, spec?: string, options?: AttachOptions)`]],
      [[attaches the program `name` where its `SEC` says, or at `spec`, written as for `up.uprobe`, `up.usdt`, …]],
      raises = "a program that is not in it, or that cannot be attached there" },
    { [[`tool:attach()`]],
      [[all programs, where their `SEC` says]], shown = true },
    { [[`tool.maps.NAME: any`]],
      [[a map: `:get`, `:set`, `:pairs`, `:top`, …; a ring: `:each`, `:poll`]] },
    { [[`tool.rodata.NAME: any`, `tool.data.NAME: any`, `tool.bss.NAME: any`]],
      [[variables, to be read and set; `.rodata` until the object is loaded]] },
    { [[`print(tool)`]],
      [[its programs, maps and variables, with their types]] },
  },

  [==[
The object itself may give the type of a ring's records (`__type(value, …)`). Without that and without `records`, it is
a struct with the ring's name, `far`, or `event` for a ring `events`.

Options of `attach`: `slide` as above; `cookie`, the low 16 bits of `bpf_get_attach_cookie` (for USDT,
`bpf_usdt_cookie`); of perf events `hertz` or `period`.

These sections can be attached: `uprobe`, `uretprobe`, `usdt`, `kprobe`, `kretprobe`, `fentry`, `fexit`, with `.s` or
`.multi` too, `uprobe.session`, `ksyscall`, `kretsyscall`, `tp`, `raw_tp`, `tp_btf`, `perf_event`. uplua loads the
object at the end of the main chunk, with the programs that are attached and no others (all of them, if it has a map for
tail calls). It attaches them then, together with the script's probes.

Structs are records with the field names of C, arrays are tables from 0 on, arrays of `char` strings, enums and pointers
integers. If a value is set, fields that are left out are 0. A value without a type in the BTF (`key_size` in place of
`__type`) or without a meaning in Lua (`double`) is a string of its bytes, and a warning says so.

An object's programs may see hits of processes that are not traced:

- of uprobes and USDT probes they see only the target's;
- of `perf_event` they see only the target's threads, except with clocks and `--follow`, which see all;
- tracepoints and functions of the kernel are hit by all processes, uplua's own among them: such a program asks for its
  process itself (`bpf_get_current_pid_tgid`).

`--follow`, `--comm`, `--cgroup`, and `--tid` of functions mean nothing to an object's programs. When a program is
attached, a warning says so wherever more is hit than the traced processes.

An object with a section, symbol or type that refers to a missing one is refused before libbpf reads it. Handlers in Lua
cannot use an object's maps.
]==],
}
