/* Lets User Mode Linux 6.1 run on processors whose XSAVE area is larger than it knows.
 *
 * UML keeps 2696 bytes of it (AVX-512). The host takes PTRACE_SETREGSET of NT_X86_XSTATE only
 * with the whole area (arch/x86/kernel/fpu/regset.c, xstateregs_set), 11008 bytes where there
 * is AMX, and answers EFAULT otherwise: "ptrace set fp regs failed, errno = 14" and a panic.
 * Loaded before libc, this hands the part that UML does not know back as it is.
 */
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Not on the stack: UML calls from its kernel's stacks of 16 KiB. It has one thread. */
static char whole[64 * 1024];

long ptrace(enum __ptrace_request request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    long pid = va_arg(arguments, long);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);

    if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
        struct iovec *given = data;
        struct iovec all = {whole, sizeof whole};
        if (!syscall(SYS_ptrace, PTRACE_GETREGSET, pid, address, &all) &&
            all.iov_len > given->iov_len) {
            memcpy(whole, given->iov_base, given->iov_len);
            return syscall(SYS_ptrace, request, pid, address, &all);
        }
    }
    /* libc returns the word of these three, the kernel stores it. */
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        long word;
        long failed = syscall(SYS_ptrace, request, pid, address, &word);
        return failed ? failed : word;
    }
    return syscall(SYS_ptrace, request, pid, address, data);
}
