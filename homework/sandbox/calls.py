"""System calls that a submission has no use for: after `refuse` they fail.

What is refused takes memory that counts for no process (`memfd_create`, `shmget`),
makes namespaces in which one is an administrator, looks into other processes or the
keys of who marks, or is a part of the kernel that programs rarely need. The filter is
seccomp's: a list of instructions that the kernel runs at each call. Whoever has it
cannot take it off, nor can what they start (Linux, `man 2 seccomp`).
"""

import ctypes
import platform
import struct
import sys

# By machine: what the kernel calls it, the call that sets a filter, and the numbers.
_MACHINES = {
    "x86_64": (
        0xC000003E,
        {
            **{"seccomp": 317, "socket": 41, "clone": 56, "clone3": 435},
            **{"memfd_create": 319, "memfd_secret": 447, "shmget": 29, "msgget": 68},
            **{"unshare": 272, "setns": 308, "mount": 165, "umount2": 166},
            **{"pivot_root": 155, "open_tree": 428, "move_mount": 429, "fsopen": 430},
            **{"fsmount": 432, "mount_setattr": 442, "bpf": 321, "userfaultfd": 323},
            **{"perf_event_open": 298, "io_uring_setup": 425, "ptrace": 101},
            **{"process_vm_readv": 310, "process_vm_writev": 311},
            **{"add_key": 248, "request_key": 249, "keyctl": 250},
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            **{"seccomp": 277, "socket": 198, "clone": 220, "clone3": 435},
            **{"memfd_create": 279, "memfd_secret": 447, "shmget": 194, "msgget": 186},
            **{"unshare": 97, "setns": 268, "mount": 40, "umount2": 39},
            **{"pivot_root": 41, "open_tree": 428, "move_mount": 429, "fsopen": 430},
            **{"fsmount": 432, "mount_setattr": 442, "bpf": 280, "userfaultfd": 282},
            **{"perf_event_open": 241, "io_uring_setup": 425, "ptrace": 117},
            **{"process_vm_readv": 270, "process_vm_writev": 271},
            **{"add_key": 217, "request_key": 218, "keyctl": 219},
        },
    ),
}
KNOWN = tuple(_MACHINES)
_APART = ("seccomp", "socket", "clone", "clone3")
# Of sockets: unix, the two of IP, and netlink; no virtual machine's.
_FAMILIES = (1, 2, 10, 16)
_NAMESPACES = 0x7E020000  # flags of clone: every CLONE_NEW… but that of time
_ALLOW, _NOT_PERMITTED, _NO_SUCH_CALL = 0x7FFF0000, 0x00050001, 0x00050026
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST = 0, 4, 16  # where they stand in what a filter is given
_OF_ALL_THREADS = 1


def program(machine: str) -> bytes:
    """The filter's instructions, eight bytes each.

    Args:
        machine: As `platform.machine` has it.

    Raises:
        KeyError: The numbers of its calls are not known here.
    """
    word, numbers = _MACHINES[machine]
    lines: list[tuple[int, int, int, int]] = []  # code, skip if so, if not, value

    def refuse_unless(code: int, value: int, answer: int, *, so: bool) -> None:
        """Go on if the comparison comes out `so`."""
        lines.append((code, int(so), int(not so), value))
        lines.append((_RETURN, 0, 0, answer))

    lines.append((_LOAD, 0, 0, _MACHINE))
    refuse_unless(_EQUAL, word, _NO_SUCH_CALL, so=True)
    lines.append((_LOAD, 0, 0, _NUMBER))
    refuse_unless(_AT_LEAST, 0x40000000, _NO_SUCH_CALL, so=False)  # another ABI's
    # The C library then asks with `clone`, whose flags a filter can read.
    refuse_unless(_EQUAL, numbers["clone3"], _NO_SUCH_CALL, so=False)
    for name, number in numbers.items():
        if name not in _APART:
            refuse_unless(_EQUAL, number, _NOT_PERMITTED, so=False)
    lines.append((_EQUAL, 0, 4, numbers["clone"]))
    lines.append((_LOAD, 0, 0, _FIRST))
    refuse_unless(_ANY_BIT, _NAMESPACES, _NOT_PERMITTED, so=False)
    lines.append((_RETURN, 0, 0, _ALLOW))
    lines.append((_EQUAL, 0, 2 + len(_FAMILIES), numbers["socket"]))
    lines.append((_LOAD, 0, 0, _FIRST))
    for n, family in enumerate(_FAMILIES):
        lines.append((_EQUAL, len(_FAMILIES) - n, 0, family))
    lines.append((_RETURN, 0, 0, _NOT_PERMITTED))
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def refuse() -> bool:
    """Refuse them to this process, all its threads and all that it starts.

    Returns:
        Whether it was done. On other systems and machines nothing is.
    """
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _MACHINES:
        return False
    made = program(machine)

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_char_p)]

    library = ctypes.CDLL(None, use_errno=True)
    given = Program(len(made) // 8, made)
    number = _MACHINES[machine][1]["seccomp"]
    library.prctl(38, 1, 0, 0, 0)  # no new privileges, without which none may filter
    failed = library.syscall(number, 1, _OF_ALL_THREADS, ctypes.byref(given))
    return failed == 0
