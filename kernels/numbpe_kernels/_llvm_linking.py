"""Object files to memory by LLVM, on all systems that it knows."""

import functools
from collections.abc import Callable

import llvmlite.binding as llvm

from numbpe_kernels._object_files import keep_forever


@functools.cache
def _start_llvm() -> None:
    """Make LLVM ready for machine code of this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def link_by_llvm(
    objects: tuple[bytes, ...],
    functions: tuple[str, ...],
    find_function: Callable[[str], int],
    *names: str,
) -> dict[str, int]:
    """Bring object files into memory that can be run; return the addresses of ``names`` in them.

    functions : names of what the files may call and LLVM might not find; find_function : finds them
    """
    _start_llvm()
    for name in functions:
        llvm.add_symbol(name, find_function(name))
    # An engine of its own: kernels hold copies of the functions that they share, of the same name.
    # The module that it is made with would be compiled, which takes longer than all the rest.
    module = llvm.parse_assembly("")
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.remove_module(module)
    for content in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    keep_forever(engine)  # it holds the memory
    return {name: engine.get_global_value_address(name) for name in names}
