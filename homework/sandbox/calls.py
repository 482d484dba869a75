"""System calls that a submission has no use for: after `refuse` they fail.

What is refused takes memory that counts for no process (`memfd_create`, `shmget`),
makes namespaces in which one is an administrator, looks into other processes or the
keys of who marks, reaches other machines past the network, or is a part of the kernel
that programs rarely need. The filter is seccomp's, which the kernel asks at each call
and nobody can take off (Linux, `man 2 seccomp`); libseccomp writes it.
"""

import ctypes
import errno

REFUSED = (
    *("memfd_create", "memfd_secret", "shmget", "msgget", "unshare", "setns", "mount"),
    *("umount2", "pivot_root", "open_tree", "move_mount", "fsopen", "fsmount"),
    *("mount_setattr", "bpf", "userfaultfd", "perf_event_open", "io_uring_setup"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "add_key", "request_key"),
    "keyctl",
)
FAMILIES = (1, 2, 10, 16)  # of sockets: unix, the two of IP, and netlink
NAMESPACES = (0x20000, *(1 << bit for bit in range(25, 31)))  # flags of clone
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_OTHER_MACHINES, _ALL_THREADS = 2, 4  # attributes of a filter
_EQUAL, _MORE, _HAS = 4, 6, 7  # comparisons


class _Compare(ctypes.Structure):
    """With the first argument of a call."""

    _fields_ = [
        *(("argument", ctypes.c_uint), ("how", ctypes.c_int)),
        *(("first", ctypes.c_uint64), ("second", ctypes.c_uint64)),
    ]


def library() -> ctypes.CDLL | None:
    """libseccomp, if this system has it."""
    try:
        found = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    found.seccomp_init.restype = ctypes.c_void_p
    return found


def refuse() -> bool:
    """Refuse them to this process, all its threads and all that it starts.

    Returns:
        Whether it was done. Where libseccomp or its kernel is missing nothing is.
    """
    seccomp = library()
    if seccomp is None:
        return False
    made = ctypes.c_void_p(seccomp.seccomp_init(_ALLOW))

    def rule(name: str, error: int, *first: int) -> None:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        compare = (_Compare * 1)(_Compare(0, *first)) if first else None
        seccomp.seccomp_rule_add_array(
            made, _ERROR | error, number, len(first) > 0, compare
        )

    for name in REFUSED:
        rule(name, errno.EPERM)
    # The C library then asks with `clone`, whose flags a filter can read.
    rule("clone3", errno.ENOSYS)
    for flag in NAMESPACES:
        rule("clone", errno.EPERM, _HAS, flag, flag)
    for family in set(range(64)) - set(FAMILIES):
        rule("socket", errno.EPERM, _EQUAL, family)
    rule("socket", errno.EPERM, _MORE, 63)
    seccomp.seccomp_attr_set(made, _OTHER_MACHINES, _ERROR | errno.ENOSYS)
    seccomp.seccomp_attr_set(made, _ALL_THREADS, 1)
    return seccomp.seccomp_load(made) == 0
