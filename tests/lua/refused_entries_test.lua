-- Functions that begin with an instruction on which the kernel puts no probe, without a word where nobody has mapped
-- the file by then: vector instructions that it takes for others, and prefixes that mean nothing. Each is counted,
-- behind it, or refused; never neither.
local ffi    = require "ffi"
local tap    = require "tap"
local target = require "target"
local is, ok, like = tap.is, tap.ok, tap.like

if ffi.arch ~= "x64" or not target.read "/proc/cpuinfo":find "avx" then
  tap.skip_rest "the instructions are those of x86_64 with AVX"
end
local cc = tap.compiler()

-- Instructions that a function may begin with, or has in its middle; each function is called 23 times.
local INSTRUCTIONS = {
  "vmovd %esi,%xmm0", "vmovq %rsi,%xmm1", "vmovdqu (%rdi),%xmm0", "vmovdqu (%rdi),%ymm0", "vmovdqa %ymm1,%ymm2",
  "vmovdqu %xmm0,(%rdi)", "vmovups %xmm0,(%rdi)", "vmovups (%rdi),%xmm1", "vmovaps %xmm1,%xmm2", "vmovsd (%rdi),%xmm0",
  "vpxor %xmm0,%xmm0,%xmm0", "vpaddq %xmm1,%xmm2,%xmm3", "vpaddd %xmm1,%xmm2,%xmm3", "vpmullw %xmm1,%xmm2,%xmm3",
  "vpminsw %xmm1,%xmm2,%xmm3", "vcomisd %xmm1,%xmm2", "vucomiss %xmm1,%xmm2", "vmovhpd %xmm1,(%rdi)",
  "vmovhps (%rdi),%xmm1,%xmm2", "vmovlps (%rdi),%xmm1,%xmm2", "vpunpcklbw %xmm1,%xmm2,%xmm3",
  "vpunpckldq %xmm1,%xmm2,%xmm3", "vpunpcklqdq %xmm1,%xmm2,%xmm3", "vaddps %xmm1,%xmm2,%xmm3", "vzeroupper",
  "vpor %xmm1,%xmm2,%xmm3", "vpshufd $1,%xmm1,%xmm2", "vxorps %xmm0,%xmm0,%xmm0", "vcvtsi2sd %rdi,%xmm0,%xmm1",
  "vmovq %xmm2,-0x10(%rsp)", "vmovaps %xmm1,-0x18(%rsp)", "vpextrq $1,%xmm0,%rdx",
  ".byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0", ".byte 0x2e,0x90", ".byte 0x3e,0x48,0x89,0xf8", "lock incl (%rdi)",
  ".byte 0x3e,0x48,0x89,0xd0", ".byte 0x26,0x90", "xchg %ax,%ax", "lea 1f(%rip),%rdx; notrack jmp *%rdx; 1: nop",
}
local FOLLOWS = { "mov %rdi,%rax; ret", "vmovdqu %xmm0,(%rdi); ret", "push %rbx; pop %rbx; ret", "ret",
                  "vmovd %esi,%xmm0; vpxor %xmm0,%xmm0,%xmm0; xor %eax,%eax; ret" }
local lines, names = { "\t.text" }, {}
for i, instruction in ipairs(INSTRUCTIONS) do
  for k, follows in ipairs(FOLLOWS) do
    local name = ("f%d_%d"):format(i, k)
    names[#names + 1] = name
    lines[#lines + 1] = (".globl %s\n.type %s,@function\n%s:\n%s\n%s\n.size %s,.-%s"):format(name, name, name,
      (instruction:gsub("; ", "\n")), (follows:gsub("; ", "\n")), name, name)
  end
end
local folder = target.folder() .. "-own"
local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text)
  file:close()
end
os.execute("mkdir -p " .. folder)
write("begins.s", table.concat(lines, "\n") .. '\n.section .note.GNU-stack,"",@progbits\n')
local calls = {}
for i, name in ipairs(names) do calls[i] = ("%s(place, 5);"):format(name) end
write("main.c", ("long %s(void *, long);\nstatic char place[256] __attribute__((aligned(64)));\n" ..
  "int main(void) { for (int i = 0; i < 23; i++) { %s } return 0; }\n"):format(table.concat(names, "(void *, long), "),
  table.concat(calls, "\n")))
local program = folder .. "/begins"
is(os.execute(("%s -O1 -w -o %s %s/main.c %s/begins.s"):format(cc, program, folder, folder)), 0, "a program")

-- By a pattern: what is counted is counted exactly, and what is not is said to be left out.
local run = target.uplua(("-e 'n = count() uprobe(\"%s:f*_*\", function(e) n[e.func]:inc() end)' -- %s"):format(program,
  program))
local counted, wrong, sure = {}, {}, 0
for name, n in run.out:gmatch "(f%d+_%d) +(%d+)" do
  counted[name], sure = true, sure + 1
  if n ~= "23" then wrong[#wrong + 1] = name .. " " .. n end
end
is(table.concat(wrong, ", "), "", "a pattern counts each call of a function")
local left = tonumber(run.err:match "(%d+) functions are left out")
is(sure + (left or 0), #names, "… and says how many it leaves out")
ok(sure > #names * 0.6, "… which is not most of them", sure .. " of " .. #names)

-- By their names, many at once: one that the pattern counts, and those that it leaves out, one by one.
local refused, silent = 0, {}
for _, name in ipairs(names) do
  if not counted[name] then
    run = target.uplua(("-e 'n = count() uprobe(\"%s:%s\", function(e) n:inc() end)' -- %s"):format(program, name,
      program))
    if run.status == 1 and run.err:find "the kernel puts no probe on the instruction at" or
       run.err:find "would corrupt the program" then
      refused = refused + 1
    elseif run.out ~= "n: 23\n" then
      silent[#silent + 1] = name .. " " .. INSTRUCTIONS[tonumber(name:match "%d+")] .. ": " .. run.out .. run.err
    end
  end
end
is(table.concat(silent, "\n"), "", "by its name each that is left out is refused, or counted")
ok(refused > 0, "… and some are refused")

-- In the middle: the notrack jump, on which the kernel puts no probe either.
run = target.uplua(("-e 'n = count() uprobe(\"%s:f%d_1+7\", function(e) n:inc() end)' -- %s"):format(program,
  #INSTRUCTIONS, program))
like(run.err, "the kernel puts no probe on the instruction at %+0x7 of f%d+_1; the next one is at %+0xa\n",
  "a prefix that means nothing, in the middle")

-- What handlers read behind a vector instruction, and returns.
run = target.uplua(("-e 'n = count() uprobe(\"%s:f3_1\", function(e) n[{ e.arg1, e.caller ~= 0 }]:inc() end)' -- %s")
  :format(program, program))
is(run.out, "n: 5, true  23\n", "arguments and the caller are there behind it")
run = target.uplua(("-e 'n = count() uretprobe(\"%s:f3_2\", function(e) n[e.arg1]:inc() end)' -- %s"):format(program,
  program))
is(run.out, "n: 5  23\n", "… and returns")

-- Code that the loader maps writable.
write("writable.c", [[
#define CODE(name) long name(long x) { __asm__ volatile(""); return x; }
__attribute__((noinline, section(".wtext,\"awx\",@progbits#"))) CODE(writable)
__attribute__((noinline)) CODE(plain)
int main(void) { for (int i = 0; i < 23; i++) writable(plain(i)); return 0; }
]])
program = folder .. "/writable"
if os.execute(("%s -O1 -g -w -o %s %s.c 2>/dev/null"):format(cc, program, program)) ~= 0 then
  tap.skip "this linker makes no code that is writable"
else
  run = target.uplua(("-e 'n = count() uprobe(\"%s:writable\", function(e) n:inc() end)' -- %s"):format(program,
    program))
  is(run.status, 1, "code that is mapped writable is refused")
  like(run.err, "the kernel puts no probe in code that is mapped writable, as writable is in ",
    "… and the message says so")
  run = target.uplua(("-e 'n = count() uprobe(\"%s:*l*\", function(e) n[e.func]:inc() end)' -- %s"):format(program,
    program))
  like(run.out, "plain +23\n", "a pattern counts the other functions")
  like(run.err, "1: the kernel puts no probe in code that is mapped writable\n", "… and leaves it out")
  run = target.uplua(("trace.lua \"%s:*l*\" -- %s"):format(program, program))
  like(run.err, "1: the kernel puts no probe in code that is mapped writable\n", "so does trace.lua, and says it")
end
target.done()
tap.done_testing()
