"""Burn-in of one GPU: its FP32 rate and its memory, using only NVIDIA's driver library.

It runs as a program of its own (`python -m agents.daemon.gpu.cuda_burn_in`), for the GPU in CUDA_VISIBLE_DEVICES.
So a driver that hangs or crashes takes nothing else down, and when the program ends, the GPU is as free as before.
"""

import ctypes
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

LIBRARY: Final = "libcuda.so.1"
THREADS: Final = 256
BLOCKS_PER_SM: Final = 24  # whole waves, whether an SM holds 4, 6 or 8 blocks at a time
CHAINS: Final = 8  # independent sums in each thread, so that no FMA waits for the one before
UNROLLED: Final = 16
FLOPS_PER_ROUND: Final = CHAINS * UNROLLED * 2  # a fused multiply-add counts as two operations
FACTOR, ADDEND = 0.5, 1.0
EXPECTED: Final = CHAINS * ADDEND / (1 - FACTOR)  # the exact limit of every sum
FIRST_ROUNDS: Final = 512
MOST_ROUNDS: Final = 1 << 24
RUN_SECONDS: Final = 0.4
RUNS: Final = 3
CHUNK: Final = 1 << 28
MIB: Final = 1 << 20
FILL: Final = 0.9  # of the free memory
MULTIPROCESSORS: Final = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT


def kernel_text() -> str:
    """Return PTX that every GPU since Maxwell accepts; the driver compiles it for the GPU."""
    steps = [f"fma.rn.f32 %a{chain}, %a{chain}, %x, %y;" for _ in range(UNROLLED) for chain in range(CHAINS)]
    starts = [f"add.f32 %a{chain}, %start, 0f{_bits(float(chain))};" for chain in range(CHAINS)]
    sums = [f"add.f32 %sum, %sum, %a{chain};" for chain in range(CHAINS)]
    return "\n".join((*_HEAD, *starts, "AGAIN:", *steps, *_LOOP, *sums, *_TAIL, ""))


def _bits(number: float) -> str:
    return f"{ctypes.c_uint32.from_buffer(ctypes.c_float(number)).value:08X}"


_HEAD = (
    ".version 6.0",
    ".target sm_50",
    ".address_size 64",
    ".visible .entry burn(.param .u64 p_out, .param .u32 p_rounds, .param .f32 p_factor, .param .f32 p_addend)",
    "{",
    f".reg .pred %again; .reg .b32 %n, %thread, %block, %size, %place; .reg .b64 %out, %at; .reg .f32 %a<{CHAINS}>;",
    ".reg .f32 %x, %y, %start, %sum;",
    "ld.param.u64 %out, [p_out];",
    "cvta.to.global.u64 %out, %out;",
    "ld.param.u32 %n, [p_rounds];",
    "ld.param.f32 %x, [p_factor];",
    "ld.param.f32 %y, [p_addend];",
    "mov.u32 %thread, %tid.x;",
    "mov.u32 %block, %ctaid.x;",
    "mov.u32 %size, %ntid.x;",
    "mad.lo.u32 %place, %block, %size, %thread;",
    "cvt.rn.f32.u32 %start, %thread;",
)
_LOOP = ("sub.u32 %n, %n, 1;", "setp.ne.u32 %again, %n, 0;", "@%again bra AGAIN;", "mov.f32 %sum, 0f00000000;")
_TAIL = ("mul.wide.u32 %at, %place, 4;", "add.u64 %at, %out, %at;", "st.global.f32 [%at], %sum;", "ret;", "}")


class CudaError(Exception):
    """The driver library is missing, or a call failed."""


class Cuda:
    """The calls of the driver library that are needed, for the first visible GPU."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise CudaError(f"{LIBRARY} cannot be loaded: {error}") from error
        self.call("cuInit", ctypes.c_uint(0))
        self._device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self._device), ctypes.c_int(0))

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(ctypes.c_int(code), ctypes.byref(text))
            raise CudaError(f"{name}: {(text.value or b'error').decode(errors='replace')} ({code})")

    @contextmanager
    def context(self) -> Iterator[None]:
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        try:
            self.call("cuCtxSetCurrent", context)
            yield
        finally:
            self._library.cuDevicePrimaryCtxRelease_v2(self._device)

    def multiprocessors(self) -> int:
        count = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(count), ctypes.c_int(MULTIPROCESSORS), self._device)
        return count.value

    def memory(self) -> tuple[int, int]:
        """Return free and total memory in bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def allocate(self, size: int) -> ctypes.c_uint64:
        place = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(size))
        return place

    def free(self, place: ctypes.c_uint64) -> None:
        self.call("cuMemFree_v2", place)

    def write(self, place: int, content: Any) -> None:
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(place), ctypes.byref(content), ctypes.c_size_t(ctypes.sizeof(content)))

    def read(self, place: int, content: Any) -> None:
        self.call("cuMemcpyDtoH_v2", ctypes.byref(content), ctypes.c_uint64(place), ctypes.c_size_t(ctypes.sizeof(content)))

    def clear(self, place: int, size: int) -> None:
        self.call("cuMemsetD8_v2", ctypes.c_uint64(place), ctypes.c_ubyte(0), ctypes.c_size_t(size))
        self.call("cuCtxSynchronize")

    def kernel(self) -> ctypes.c_void_p:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(kernel_text().encode()))
        self.call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(b"burn"))
        return function

    def launch(self, function: ctypes.c_void_p, blocks: int, arguments: list[Any]) -> None:
        """Run the kernel and wait for its end."""
        places = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(item) for item in arguments))
        grid = [ctypes.c_uint(number) for number in (blocks, 1, 1, THREADS, 1, 1, 0)]
        self.call("cuLaunchKernel", function, *grid, ctypes.c_void_p(), places, ctypes.c_void_p())
        self.call("cuCtxSynchronize")


def measure_rate(cuda: Cuda, clock: Callable[[], float] = time.perf_counter) -> tuple[float, bool]:
    """Return the TFLOPS of the best run, and whether the GPU computed correctly."""
    function, blocks = cuda.kernel(), cuda.multiprocessors() * BLOCKS_PER_SM
    out = cuda.allocate(blocks * THREADS * 4)

    def run(rounds: int) -> float:
        begun = clock()
        cuda.launch(function, blocks, [out, ctypes.c_uint32(rounds), ctypes.c_float(FACTOR), ctypes.c_float(ADDEND)])
        return max(clock() - begun, 1e-9)

    run(FIRST_ROUNDS)  # raises the clocks and loads the code
    rounds = max(1, min(MOST_ROUNDS, int(FIRST_ROUNDS * RUN_SECONDS / run(FIRST_ROUNDS))))
    fastest = min(run(rounds) for _ in range(RUNS))
    results = (ctypes.c_float * (blocks * THREADS))()
    cuda.read(out.value, results)
    cuda.free(out)
    return blocks * THREADS * rounds * FLOPS_PER_ROUND / fastest / 1e12, all(item == EXPECTED for item in results)


def prove_memory(cuda: Cuda) -> int:
    """Return how many bytes of memory hold what was written to them.

    A GPU with a forged name has less than it reports, and wraps around or refuses.
    """
    free, _ = cuda.memory()
    chunk = min(CHUNK, max(MIB, int(free * FILL)))
    held: list[ctypes.c_uint64] = []
    try:
        while (len(held) + 1) * chunk <= free * FILL:
            held.append(cuda.allocate(chunk))
    except CudaError:
        pass  # only the memory that exists counts
    try:
        ends = [(number, place.value + chunk - 8) for number, place in enumerate(held)]
        for number, place in ends:
            cuda.write(place, ctypes.c_uint64(number + 1))
        mark, proven = ctypes.c_uint64(), 0
        for number, place in ends:
            cuda.read(place, mark)
            proven += mark.value == number + 1
        return proven * chunk
    finally:
        for item in held:
            cuda.free(item)


def wipe_memory(cuda: Cuda) -> tuple[int, bool]:
    """Overwrite all free memory, to the last MiB, with zeros; return its bytes and whether it reads so."""
    held: list[tuple[int, int]] = []
    size = CHUNK
    while size >= MIB:
        try:
            held.append((cuda.allocate(size).value, size))
        except CudaError:
            size //= 2
    clean = True
    for place, length in held:
        cuda.clear(place, length)
    for place, length in held:
        for at in (place, place + length - 8):
            found = ctypes.c_uint64()
            cuda.read(at, found)
            clean &= found.value == 0
    return sum(length for _, length in held), clean  # the driver frees all of it when the process ends


def wipe() -> int:
    """Wipe the memory and print the outcome as `main` does."""
    try:
        cuda = Cuda()
        with cuda.context():
            size, clean = wipe_memory(cuda)
    except (CudaError, AttributeError) as error:
        print(json.dumps({"error": str(error)}))
        return 1
    print(json.dumps({"wiped_mib": size // MIB, "clean": clean}))
    return 0


def main() -> int:
    """Print one line of JSON; return 1 and print the reason if the GPU cannot be measured."""
    if sys.argv[1:] == ["wipe"]:
        return wipe()
    try:
        cuda = Cuda()
        with cuda.context():
            free, total = cuda.memory()
            proven = prove_memory(cuda)
            tflops, correct = measure_rate(cuda)
    except (CudaError, AttributeError) as error:
        print(json.dumps({"error": str(error)}))
        return 1
    outcome = {"tflops": tflops, "correct": correct, "proven_mib": proven // MIB, "asked_mib": int(free * FILL) // MIB}
    print(json.dumps({**outcome, "total_mib": total // MIB}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
