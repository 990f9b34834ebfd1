"""Parts of text to token ids: the bridge from a tokenizer's definition to the kernels."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets, TextArray, TokenIds, copy_text
from numbpe.definition import TokenizerDefinition
from numbpe.encoder_improving import improve_model, may_improve
from numbpe.encoder_model import build_encoder_model, describe_missing_token, may_cut_at_junctions
from numbpe.encoder_state import SHORT_NBYTES, SHORT_PARTS, ThreadState
from numbpe.folding import build_fold_table
from numbpe.junction_table import Junctions, build_junction_table
from numbpe.patterns import Pattern
from numbpe.quick_ways import AS_IS, CutText, QuickWay
from numbpe.scanner_tables import (
    AUTOMATON,
    CL100K,
    DEEPSEEK,
    GPT2,
    O200K,
    find_family,
    make_scanner,
)
from numbpe.small_pages import small_pages
from numbpe.utf8 import write_utf8
from numbpe_kernels import encoder_arrays as kernel
from numbpe_kernels._jit import prepare_kernel
from numbpe_kernels.automaton import automaton_find_cut
from numbpe_kernels.characters import characters_find_cut
from numbpe_kernels.encoder_runs import (
    encoder_run_at_junctions,
    encoder_run_by_automaton,
    encoder_run_cl100k,
    encoder_run_deepseek,
    encoder_run_gpt2,
    encoder_run_o200k,
    encoder_run_whole_parts,
)
from numbpe_kernels.encoder_views import JUNCTIONS_SIZE, EncoderCall
from numbpe_kernels.utf8 import utf8_count_beyond_ascii

MUCH_NBYTES: Final = 1 << 16
"""Bytes outside ASCII after which a vocabulary is asked which characters fold: that takes as long as encoding some
megabytes. English text has so many after some ten megabytes, Chinese text soon."""

MORE_NBYTES: Final = 1 << 19
"""Bytes of text after which it is asked how its tokens are made, see ``encoder_improving``. That takes 5 ms with
GPT-2's, 40 with that of Llama 3, and saves 0.4 and 1.4 ms a megabyte of English that was never seen."""

LEAN_NBYTES: Final = 1 << 25
LEAN_BEYOND_NBYTES: Final = 1 << 20
"""Bytes of text, and of them outside ASCII, that a stream waits for before tables are made for it: it is encoded within
a megabyte of memory until then, and making them takes several."""

PLAIN_SHARE: Final = 128
"""Text with fewer bytes beyond one a character than one in this many, or fewer than two outside ASCII, is
encoded without looking for words to cut at junctions: the look takes a twentieth of the time of English
text, and changes no ids."""

_NO_JUNCTIONS: Final = np.zeros(JUNCTIONS_SIZE, dtype=np.int64)


class Encoder:
    """Encodes with one definition; any number of threads may use one object.

    max_cache_nbytes : the most that each thread remembers of words; MAX_CACHE_NBYTES by default
    get_ready : called once, when the encoder is improved after half a megabyte: more text may be expected then
    """

    def __init__(
        self,
        definition: TokenizerDefinition,
        pattern: Pattern | None,
        max_cache_nbytes: int | None = None,
        get_ready: Callable[[], None] | None = None,
    ) -> None:
        self._definition = definition
        self._get_ready = get_ready
        self._max_cache_nbytes = max_cache_nbytes
        self._pattern = pattern
        self._automaton = None if pattern is None else pattern.automaton
        self._model = build_encoder_model(definition)
        # A pattern that is no automaton cuts before a kernel is called.
        self._cuts_slowly = pattern is not None and pattern.automaton is None
        self._scanner = make_scanner(pattern)
        self._cuts_at_junctions = pattern is None and may_cut_at_junctions(definition, self._model)
        self._run_kernel = encoder_run_whole_parts
        if self._cuts_at_junctions:
            self._run_kernel = encoder_run_at_junctions
        elif self._automaton is not None:
            self._run_kernel = _RUNS[find_family(pattern)]
        self._may_improve = may_improve(self._model)
        self._may_refine = not (self._cuts_at_junctions or definition.rules.alphabet != "bytes")
        self._may_fold = self._may_refine
        self._improving = threading.Lock()
        self._idle_states: deque[ThreadState] = deque()

    def encode_parts(
        self, text: TextArray, parts: NDArray[np.int64], *, is_lean: bool = False
    ) -> tuple[TokenIds, Offsets]:
        """Return the ids of parts of ``text`` and where those of each part begin.

        text: readable ``TEXT_PADDING`` bytes past the last stop.
        parts: (p, 3) int64: start, stop, and the id of the added token behind it, -1 for none. Each
            is a text of its own, or ends where pieces end; it may be empty.
        is_lean: whether memory counts more than time, see LEAN_NBYTES.

        Returns (n,) uint32 and (p + 1,) int64: the ids of part i, with the added token behind it,
        are ``values[offsets[i]:offsets[i + 1]]``.

        Raises DataError for a byte or a character that has no token.
        """
        if self._cuts_slowly:
            assert self._pattern is not None
            pieces, first_pieces = self._pattern.cut_parts(text, parts)
            values, offsets = self._encode(text, pieces, is_lean)
            return values, offsets[first_pieces]
        return self._encode(text, parts, is_lean)

    def encode_text(
        self, content: bytes, n_characters: int = 0, *, is_lean: bool = False
    ) -> TokenIds:
        """Return the ids of one text without added tokens, quickly if it is short.

        n_characters: about how many characters it has, 0 where that is not known.
        is_lean: as for encode_parts.
        """
        if len(content) > SHORT_NBYTES or self._cuts_slowly:
            parts = np.array([[0, len(content), -1]], dtype=np.int64)
            return self.encode_parts(copy_text(content), parts, is_lean=is_lean)[0]
        ids = self._encode_bytes(content, n_characters, is_lean=is_lean)
        assert ids is not None  # since nothing cuts it
        return ids

    def encode_parts_of(
        self, content: bytes, cut: CutText, special: str, n_characters: int = 0
    ) -> TokenIds | None:
        """Return the ids of one text that ``cut`` divides; None if it is not short.

        cut, special: ``special`` is its last argument.
        n_characters: as for encode_text.
        """
        if len(content) > SHORT_NBYTES or self._cuts_slowly:
            return None
        return self._encode_bytes(content, n_characters, QuickWay(cut, None), special)

    def encode_str(self, text: str, special: str, way: QuickWay) -> TokenIds | None:
        """Return the ids of a str, in most cases of a short one, else None.

        special: as for encode_parts_of.

        What Python does for a text of 512 bytes takes as long as the kernel: here it is the least.
        """
        n_characters = len(text)
        if n_characters > SHORT_NBYTES or self._cuts_slowly:
            return None
        try:
            state = self._idle_states.pop()
        except IndexError:
            return None
        try:
            if state.model is not self._model:
                return None
            if self._may_improve and state.n_encoded_nbytes >= MORE_NBYTES:
                return None
            if text.isascii():
                state.text_view[:n_characters] = text.encode()
                return self._encode_short(state, n_characters, 0, way, special)
            n_bytes = write_utf8(text, state.text, state.text_view)
            if n_bytes < 0:
                return None
            n_beyond = n_bytes - n_characters
            if not self._may_refine or n_beyond * PLAIN_SHARE <= n_bytes:
                n_beyond = 0
            return self._encode_short(state, n_bytes, n_beyond, way, special)
        finally:
            self._return_state(state)

    def _encode_bytes(
        self,
        content: bytes,
        n_characters: int,
        way: QuickWay = AS_IS,
        special: str = "allow",
        *,
        is_lean: bool = False,
    ) -> TokenIds | None:
        """Return the ids of a short text; None if its parts find no room."""
        n_bytes = len(content)
        state = self._borrow_state(LEAN_NBYTES if is_lean else MORE_NBYTES)
        try:
            state.text_view[:n_bytes] = content
            is_ascii = n_bytes == n_characters
            n_beyond = 0 if is_ascii else self._count_beyond(state, content, n_characters)
            return self._encode_short(state, n_bytes, n_beyond, way, special, is_lean)
        finally:
            self._return_state(state)

    def _encode_short(
        self,
        state: ThreadState,
        n_bytes: int,
        n_beyond: int,
        way: QuickWay,
        special: str,
        is_lean: bool = False,
    ) -> TokenIds | None:
        """Return the ids of what the text of the state begins with; None where ``way`` leads nowhere."""
        # In arrays that are there already: making new ones takes as long as encoding does.
        n_parts, parts = 1, state.part
        cut, change = way
        if cut is not None:
            n_parts = cut(state.text, state.parts, n_bytes, special)
            if n_parts == 0:
                return None
        if change is not None:
            n_bytes = change(state.text, n_bytes, state.parts, n_parts)
            if n_bytes < 0:
                return None
        state.begin_part(n_bytes)
        if n_parts > 1:
            parts = state.parts[:n_parts]
            state.take_parts(n_parts)
        try:
            if n_beyond:
                self._run(state, state.text, parts, n_beyond, is_lean)
            else:
                while status := self._run_kernel(state.descriptor, _NO_JUNCTIONS, False):
                    self._go_on(status, state, state.text, parts)
            return state.ids[: state.offsets_view[n_parts]].copy()
        finally:
            if n_parts > 1:
                state.set_call()

    def _count_beyond(self, state: ThreadState, content: bytes, n_characters: int) -> int:
        """Return about how many bytes are not ASCII, 0 where no words are looked for to cut at junctions.

        content: what the text of the state begins with. See PLAIN_SHARE.
        """
        n_bytes = len(content)
        n_beyond = n_bytes - n_characters
        if not self._may_refine or n_beyond * PLAIN_SHARE <= n_bytes or content.isascii():
            return 0
        return n_beyond if n_characters else int(utf8_count_beyond_ascii(state.text[:n_bytes]))

    def _encode(
        self, text: TextArray, parts: NDArray[np.int64], is_lean: bool
    ) -> tuple[TokenIds, Offsets]:
        n_parts = len(parts)
        is_short = len(text) <= SHORT_NBYTES and n_parts <= SHORT_PARTS
        n_beyond = int(utf8_count_beyond_ascii(text)) if self._may_refine else 0
        if n_beyond * PLAIN_SHARE <= 2 * len(text):
            n_beyond = 0
        state = self._borrow_state(LEAN_NBYTES if is_lean else MORE_NBYTES)
        try:
            # Of a stream ``text`` holds more than the parts at hand.
            n_bytes = int(parts[-1, 1] - parts[0, 0]) if n_parts else 0
            if is_short:
                state.set_short_parts(text, parts)
                ids, offsets = state.ids, state.offsets[: n_parts + 1]
            else:
                n_bytes = int((parts[:, 1] - parts[:, 0]).sum())
                ids = state.make_ids(n_bytes + n_parts + kernel.ID_SLACK)
                offsets = np.zeros(n_parts + 1, dtype=np.int64)
                state.set_call(EncoderCall(text, parts, ids, offsets))
            state.n_encoded_nbytes += n_bytes
            state.begin()
            self._run(state, text, parts, n_beyond, is_lean)
            # What is not used must not stay allocated: most texts have far fewer ids than bytes.
            offsets = offsets.copy() if is_short else offsets
            with small_pages():
                return ids[: int(offsets[-1])].copy(), offsets
        finally:
            state.set_call()
            self._return_state(state)

    def _run(
        self,
        state: ThreadState,
        text: TextArray,
        parts: NDArray[np.int64],
        n_beyond: int,
        is_lean: bool = False,
    ) -> None:
        """Encode what the state was told to.

        n_beyond: bytes outside ASCII, 0 where no words are to be cut at junctions.
        """
        junctions, is_refined = _NO_JUNCTIONS, False
        if n_beyond > 0:
            n_before = state.n_beyond_ascii
            state.n_beyond_ascii += n_beyond
            if self._may_fold and n_before >= (LEAN_BEYOND_NBYTES if is_lean else MUCH_NBYTES):
                self._improve_model(state, self._fold_characters)
            is_known = not is_lean or n_before >= LEAN_BEYOND_NBYTES or "_junctions" in vars(self)
            if is_known and self._junctions is not None:
                junctions, is_refined = self._junctions.descriptor, True
        while status := self._run_kernel(state.descriptor, junctions, is_refined):
            self._go_on(status, state, text, parts)

    def _go_on(
        self, status: int, state: ThreadState, text: TextArray, parts: NDArray[np.int64]
    ) -> None:
        """Make room where the kernel asked for it; DataError where a byte or character has no token."""
        if status == kernel.NO_TOKEN:
            # Words that were entered with this one have no ids.
            state.empty_cache()
            raise describe_missing_token(self._model, text, state.needed, parts)
        if status != kernel.PAUSED:
            state.make_room(status)

    @cached_property
    def _junctions(self) -> Junctions | None:
        # Made when the first text outside ASCII comes; for streams, see LEAN_BEYOND_NBYTES.
        table = build_junction_table(self._definition, self._model)
        return None if table is None else Junctions(table)

    def _borrow_state(self, more_nbytes: int | None = None) -> ThreadState:
        try:
            state = self._idle_states.pop()
        except IndexError:
            state = ThreadState(self._scanner, self._model, self._max_cache_nbytes)
            # What every text needs; of other kernels a call takes longer to find its way.
            self._run_kernel = prepare_kernel(
                self._run_kernel, state.descriptor, _NO_JUNCTIONS, False
            )
            return state
        if state.model is self._model and not self._may_improve:
            return state
        if state.model is not self._model:
            state.use_model(self._model)
        elif state.n_encoded_nbytes >= (more_nbytes or MORE_NBYTES):
            self._improve_model(state, self._study_tokens)
        return state

    def _improve_model(self, state: ThreadState, improve: Callable[[], None]) -> None:
        """Go on with a model that gives the same ids sooner, unless another thread is making one.

        It is tried once: where there is no memory for it, there is enough to go on as before.
        """
        if self._improving.acquire(blocking=False):
            try:
                with contextlib.suppress(MemoryError):
                    improve()
            finally:
                self._improving.release()
            state.use_model(self._model)

    def _study_tokens(self) -> None:
        if self._may_improve:
            self._may_improve = False
            self._model = improve_model(self._definition, self._model)
            if self._get_ready is not None:
                self._get_ready()

    def _fold_characters(self) -> None:
        if self._may_fold:
            self._may_fold = False
            folds = build_fold_table(self._definition, self._model)
            if folds is not None:
                self._model = self._model._replace(folds=folds)

    def _return_state(self, state: ThreadState) -> None:
        if state.is_large:
            state.shrink()
        self._idle_states.append(state)

    def find_cut(self, text: TextArray, start: int, stop: int) -> int:
        """Return the last position inside text[start:stop] where cutting changes no ids, or -1.

        text: UTF-8 as the encoder gets it, of which ``start`` and ``stop`` may lie inside a
            character; the characters on both sides of the position lie inside text[start:stop].
        """
        if self._automaton is not None:
            return int(automaton_find_cut(self._automaton, text, start, stop))
        if self._cuts_at_junctions:
            return int(characters_find_cut(self._model.characters, text, start, stop))
        return -1


_RUNS = {
    AUTOMATON: encoder_run_by_automaton,
    CL100K: encoder_run_cl100k,
    DEEPSEEK: encoder_run_deepseek,
    GPT2: encoder_run_gpt2,
    O200K: encoder_run_o200k,
}
"""Kernels by family of patterns."""
