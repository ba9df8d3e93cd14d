-- Commands of Debian's whose system calls systrace.lua and strace show in the same lines: { name, shell words, shell
-- that goes before }. $D is a folder for files.
local PERL_SOCKETS = [[perl -MIO::Socket::INET -e '
  $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1");
  if (!fork) { $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $s->sockport); print $c "hello\n";
    $c->close; exit } $a = $s->accept; print <$a>; wait; kill 0, $$; exit 0']]
local FILES = [[mkdir -p "$D/t/a/b"; for i in 1 2 3 4 5; do echo "line $i of a file" >"$D/t/a/f$i"; done;
  ln -sf f1 "$D/t/a/link"; seq 1 2000 >"$D/t/numbers"]]

return {
  { "ls",       "ls -l /etc" },
  { "cat",      "cat /etc/hostname" },
  { "perl",     [[perl -e 'for (1 .. 23) { -e "/nope$_"; open F, "<", "/etc/hostname"; $x = <F>; close F }
                  $l = readlink "/proc/self/exe"; mkdir "/proc/no\x01p\"\xe4"; rename "/nope", "/nope2";
                  print STDOUT "x" x 300; if (!($p = fork)) { exit 3 } waitpid $p, 0; print `echo a "b\\n"`']] },
  { "sh",       "sh -c 'echo a | cat; (exit 3); exec /bin/true'" },
  { "threads",  "./build/targets/calls 4" },
  -- The five above are part of `make test`.
  { "sockets",  PERL_SOCKETS },
  { "find",     "find /usr/include/linux -name '*.h' -newer /etc/hostname" },
  { "grep",     "grep -r magic /usr/include/linux/if_ether.h /etc/services" },
  { "tar",      'tar cf "$D/x.tar" -C "$D" t', FILES },
  { "tar x",    'tar xf "$D/x.tar" -C "$D/unpacked"', FILES ..
                '; mkdir -p "$D/unpacked"; tar cf "$D/x.tar" -C "$D" t' },
  { "cp",       'cp -a "$D/t" "$D/copy"', FILES },
  { "mv",       'mv "$D/t/a/f1" "$D/t/a/f9"', FILES },
  { "rm",       'rm -r "$D/t"', FILES },
  { "ln",       'ln -s f1 "$D/t/a/other"', FILES },
  { "ln hard",  'ln "$D/t/a/f1" "$D/t/a/hard"', FILES },
  { "mkdir",    'mkdir -p "$D/x/y/z"' },
  { "rmdir",    'rmdir "$D/e"', 'mkdir "$D/e"' },
  { "touch",    'touch -d 2001-02-03 "$D/t/a/f1"', FILES },
  { "chmod",    'chmod -R u=rwx,g=s "$D/t"', FILES },
  { "chown",    'chown -R root:root "$D/t"', FILES },
  { "stat",     "stat /etc/passwd /tmp /dev/null" },
  { "df",       "df /" },
  { "du",       'du -s "$D/t"', FILES },
  { "wc",       'wc "$D/t/numbers"', FILES },
  { "sort",     'sort -r "$D/t/numbers"', FILES },
  { "uniq",     'uniq "$D/t/numbers"', FILES },
  { "head",     'head -c 10 "$D/t/numbers"', FILES },
  { "tail",     'tail -n 3 "$D/t/numbers"', FILES },
  { "sed",      [[sed -i s/1/2/ "$D/t/numbers"]], FILES },
  { "awk",      [[awk '{ n += $1 } END { print n }' "$D/t/numbers"]], FILES },
  { "cut",      'cut -c1-3 "$D/t/numbers"', FILES },
  { "tr",       "sh -c 'echo abc | tr a-c A-C'" },
  { "tee",      [[sh -c 'echo abc | tee "$D/teed"']] },
  { "dd",       'dd if=/dev/zero "of=$D/zero" bs=4096 count=23' },
  { "cmp",      'cmp "$D/t/a/f1" "$D/t/a/f1"', FILES },
  { "diff",     'diff -r "$D/t/a" "$D/t/a"', FILES },
  { "gzip",     'gzip -k "$D/t/numbers"', FILES },
  { "xz",       'xz -k "$D/t/numbers"', FILES },
  { "bzip2",    'bzip2 -k "$D/t/numbers"', FILES },
  { "sha256sum", 'sha256sum "$D/t/numbers"', FILES },
  { "od",       "od -c /etc/hostname" },
  { "date",     "date -u" },
  { "id",       "id" },
  { "uname",    "uname -a" },
  { "hostname", "hostname" },
  { "env",      "env -i A=1 /bin/echo x" },
  { "nice",     "nice -n 5 true" },
  { "timeout",  "timeout 5 true" },
  { "sleep",    "sleep 0.01" },
  { "xargs",    [[sh -c 'seq 1 5 | xargs -n 2 echo']] },
  { "expr",     "expr 23 + 101" },
  { "mktemp",   'mktemp -p "$D"' },
  { "nproc",    "nproc" },
  { "readlink", 'readlink -f "$D/t/a/link"', FILES },
  { "realpath", 'realpath "$D/t/a/link"', FILES },
  { "truncate", 'truncate -s 101 "$D/t/numbers"', FILES },
  { "make",     'make -C "$D/tree"', "tree" },
  { "cc",       'cc -c -o "$D/x.o" "$D/x.c"', [[echo 'int x(void) { return 1; }' >"$D/x.c"]] },
  { "git",      'git -C "$D" status --short', 'git init -q "$D"' },
  { "python3",  [[/usr/bin/python3 -c 'import socket, subprocess; subprocess.run(["true"])']] },
}
