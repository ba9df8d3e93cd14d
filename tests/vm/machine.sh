# The emulated machines of each CPU, for tests/vm/run and tests/static/machine, which source it: $ARCH → what qemu is called with, and where
# what is built for that CPU lies.
case $ARCH in
x86_64)
    OUT=build SYSROOT= UPLUA=uplua
    # What qemu translates, it keeps by address: with norandmaps a program or library is translated once, not whenever it is mapped, which
    # halves the time of all. And rep movsb and stosq are emulated step by step, by which the kernel would clear and copy pages.
    # With a thread for each CPU, qemu 7.2 lets one go on in code that another has patched, as kernels do where probes come and go: they crash.
    QEMU="qemu-system-x86_64 -accel tcg,thread=single" CPU=max,erms=off CONSOLE=ttyS0 RESULTS=ttyS1 SERIAL=isa-serial PREEMPT=chosen
    OPTIONS="no_timer_check norandmaps clearcpuid=rep_good"
    ;;
aarch64)
    OUT=build/aarch64 SYSROOT=$PWD/build/aarch64/sysroot UPLUA=build/aarch64/uplua
    # A CPU that signs return addresses, in a way that is cheap to emulate; 6.1 does not boot with 52 bits of addresses (lpa2). With norandmaps a
    # stack would lie where the kernel otherwise puts the code that probed functions return to (bpf/arch.h, IS_TRAMPOLINE).
    QEMU="qemu-system-aarch64 -M virt -accel tcg,thread=single" CPU=max,pauth-impdef=on,lpa2=off CONSOLE=ttyAMA0 RESULTS=ttyS0 SERIAL=pci-serial OPTIONS= PREEMPT=
    ;;
*)
    echo "$0: ARCH is $ARCH; there are machines for x86_64 and aarch64" >&2
    exit 1
    ;;
esac
