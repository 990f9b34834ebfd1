"""A vocabulary in the form in which kernels encode with it."""

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray, copy_text
from numbpe.definition import TokenizerDefinition
from numbpe.encoder_state import make_scratch
from numbpe.errors import DataError, shorten_value
from numbpe.recipes import N_BYTES
from numbpe.vocabulary import Vocabulary
from numbpe_kernels import model as kernel
from numbpe_kernels.characters import (
    CHARACTER_PAGE_BITS,
    EMPTY_PAIR,
    N_CODE_POINTS,
    CharacterTable,
    characters_decode,
    characters_fill_pairs,
)
from numbpe_kernels.folding import make_no_folds
from numbpe_kernels.lanes import MAX_LANE_NBYTES, NO_NEIGHBOUR, make_lanes
from numbpe_kernels.ranks import (
    MAX_MERGED_ID,
    MAX_RANK,
    MergeTable,
    make_merge_slots,
    merge_table_fill,
)
from numbpe_kernels.token_table import TokenTable, token_table_fill
from numbpe_kernels.unmade import model_find_unmade
from numbpe_kernels.whole_words import make_no_whole_words

_PAGE_SIZE = 1 << CHARACTER_PAGE_BITS
_NO_IDS = np.empty(0, dtype=np.int64)


def build_encoder_model(definition: TokenizerDefinition) -> kernel.EncoderModel:
    """Return the tables that the encoding kernels read."""
    vocabulary, rules = definition.vocabulary, definition.rules
    over_characters = rules.alphabet == "characters"
    fallback_ids = np.full(N_BYTES, -1, dtype=np.int32)
    if rules.byte_fallback:
        fallback_ids[:] = _find_ids(vocabulary, [b"<0x%02X>" % byte for byte in range(N_BYTES)])
    numbers = np.zeros(kernel.RULES_SIZE, dtype=np.int64)
    numbers[kernel.CHARACTERS] = over_characters
    numbers[kernel.BYTE_FALLBACK] = rules.byte_fallback
    numbers[kernel.UNKNOWN_ID] = -1 if rules.unk_id is None else rules.unk_id
    numbers[kernel.FUSE_UNKNOWN] = rules.fuse_unk
    merges = _build_merge_table(definition)
    byte_ids = merges.byte_ids
    numbers[kernel.USES_LANES] = byte_ids.min() >= 0 and byte_ids.max() < NO_NEIGHBOUR
    numbers[kernel.CHARACTERS_USE_LANES] = over_characters and vocabulary.n_ids <= NO_NEIGHBOUR
    numbers[kernel.SHORTEST_TOKEN] = kernel.NO_TOKENS
    unknown_joins = rules.fuse_unk and bool((fallback_ids < 0).any())
    model = kernel.EncoderModel(
        merges=merges,
        characters=_build_character_table(
            vocabulary if over_characters else None, unknown_joins=unknown_joins
        ),
        tokens=_build_token_table(vocabulary, _NO_IDS),
        fallback_ids=fallback_ids,
        folds=make_no_folds(),
        whole=make_no_whole_words(),
        rules=numbers,
    )
    if rules.ignore_merges:
        return look_up_tokens(vocabulary, model, list_ordinary_ids(vocabulary))
    return model


def _find_ids(vocabulary: Vocabulary, contents: list[bytes]) -> list[int]:
    ids = vocabulary.ordinary_ids
    return [ids.get(content, -1) for content in contents]


def may_cut_at_junctions(definition: TokenizerDefinition, model: kernel.EncoderModel) -> bool:
    """Return whether text may be cut wherever no token can span: tokens are whole characters."""
    rules, vocabulary = definition.rules, definition.vocabulary
    fallback_ids = model.fallback_ids
    # Merges of the bytes of unknown characters, or a look-up of the whole text, might span a junction.
    merges_bytes = np.isin(vocabulary.merge_pairs, fallback_ids[fallback_ids >= 0]).any()
    return not (rules.alphabet == "bytes" or rules.ignore_merges or merges_bytes)


def _build_merge_table(definition: TokenizerDefinition) -> MergeTable:
    vocabulary, rules = definition.vocabulary, definition.rules
    ranks, results = rank_merges(vocabulary, by_result=rules.merge_order == "result")
    byte_ids = np.full(N_BYTES, -1, dtype=np.int32)
    if rules.alphabet == "bytes":
        byte_ids[:] = _find_ids(vocabulary, [bytes([byte]) for byte in range(N_BYTES)])
    table = MergeTable(
        *make_merge_slots(0),
        results=np.append(results, np.int32(0)),
        byte_ids=byte_ids,
        byte_ranks=np.empty(N_BYTES * N_BYTES, dtype=np.int32),
    )
    return fill_merge_table(table, vocabulary.merge_pairs, ranks)


def fill_merge_table(
    table: MergeTable, merge_pairs: NDArray[np.int32], ranks: NDArray[np.int32]
) -> MergeTable:
    """Return a table with these merges; what each rank makes, and the ids of bytes, are those of ``table``."""
    slots, shift = make_merge_slots(len(ranks))
    byte_ranks = np.empty(N_BYTES * N_BYTES, dtype=np.int32)
    filled = table._replace(slots=slots, shift=shift, byte_ranks=byte_ranks)
    # Kernels are compiled for arrays that can be written to; a vocabulary's cannot.
    merge_table_fill(filled, merge_pairs.copy(), ranks)
    return filled


def rank_merges(
    vocabulary: Vocabulary, *, by_result: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rank of every merge, and by rank the token that is made."""
    results = vocabulary.merge_results.copy()
    greatest_id = max(int(vocabulary.merge_pairs.max(initial=0)), int(results.max(initial=0)))
    if greatest_id > MAX_MERGED_ID or len(results) > MAX_RANK:
        raise DataError(
            f"cannot encode with {len(results):,} merges of tokens with ids up to {greatest_id:,}: "
            f"at most {MAX_RANK:,} merges and ids up to {MAX_MERGED_ID:,} are supported; number "
            "the tokens that merges make without gaps"
        )
    if by_result:
        made, ranks = np.unique(results, return_inverse=True)
        return ranks.astype(np.int32), made
    return np.arange(len(results), dtype=np.int32), results


def look_up_tokens(
    vocabulary: Vocabulary, model: kernel.EncoderModel, ids: NDArray[np.int64]
) -> kernel.EncoderModel:
    """Return a model that looks words up among the tokens ``ids`` before it merges them."""
    rules = model.rules.copy()
    lengths = np.diff(vocabulary.offsets)[ids]
    rules[kernel.SHORTEST_TOKEN] = lengths.min(initial=kernel.NO_TOKENS)
    return model._replace(tokens=_build_token_table(vocabulary, ids), rules=rules)


def find_unmade(
    vocabulary: Vocabulary, model: kernel.EncoderModel, ids: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell for each of ``ids`` whether its bytes merge to something else."""
    rules = model.rules.copy()
    rules[kernel.SHORTEST_TOKEN] = kernel.NO_TOKENS
    longest = int(np.diff(vocabulary.offsets).max(initial=1))
    unmade = np.zeros(len(ids), dtype=np.uint8)
    model_find_unmade(
        model._replace(rules=rules),
        make_lanes(),
        make_scratch(max(longest, MAX_LANE_NBYTES)),
        copy_text(vocabulary.contents.tobytes()),
        vocabulary.offsets.copy(),
        ids,
        unmade,
    )
    return unmade > 0


def _build_token_table(vocabulary: Vocabulary, ids: NDArray[np.int64]) -> TokenTable:
    """Return the table of some ordinary tokens, an empty one for none."""
    table = TokenTable(
        slots=np.zeros(1 << (2 * len(ids) + 1).bit_length(), dtype=np.uint64),
        contents=copy_text(vocabulary.contents.tobytes() if len(ids) else b""),
        offsets=vocabulary.offsets.copy() if len(ids) else np.zeros(1, dtype=np.int64),
    )
    token_table_fill(table, ids)
    return table


def list_ordinary_ids(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return the ids of the ordinary tokens, ascending."""
    is_ordinary = np.diff(vocabulary.offsets) > 0
    is_ordinary[list(vocabulary.special_tokens.values())] = False
    return np.flatnonzero(is_ordinary)


def _build_character_table(vocabulary: Vocabulary | None, *, unknown_joins: bool) -> CharacterTable:
    """Return the table of a vocabulary over characters, an empty one for None."""
    page_numbers = np.zeros((N_CODE_POINTS >> CHARACTER_PAGE_BITS) + 1, dtype=np.uint16)
    pages = np.full(_PAGE_SIZE, -1, dtype=np.int32)
    keys = np.empty(0, dtype=np.int64)
    if vocabulary is not None:
        code_points, ids = _list_characters(vocabulary)
        used, numbers = np.unique(code_points >> CHARACTER_PAGE_BITS, return_inverse=True)
        page_numbers[used] = np.arange(1, len(used) + 1)
        pages = np.full((len(used) + 1) * _PAGE_SIZE, -1, dtype=np.int32)
        pages[(numbers + 1) * _PAGE_SIZE + code_points % _PAGE_SIZE] = ids
        keys = _list_joined_pairs(vocabulary)
    table = CharacterTable(
        page_numbers=page_numbers,
        pages=pages,
        ascii_pairs=np.zeros(1 << 14, dtype=np.uint8),
        pairs=np.full(1 << (2 * len(keys) + 1).bit_length(), EMPTY_PAIR, dtype=np.int64),
        unknown_joins=int(unknown_joins),
    )
    characters_fill_pairs(table, keys)
    if unknown_joins:
        ascii_ids = pages[(int(page_numbers[0]) * _PAGE_SIZE) + np.arange(128)]
        unknown = np.flatnonzero(ascii_ids < 0)
        table.ascii_pairs[(unknown[:, None] << 7 | unknown[None, :]).ravel()] = 1
    return table


def _list_characters(vocabulary: Vocabulary) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the code points of the tokens that are one character, and their ids."""
    ids = list_ordinary_ids(vocabulary)
    tokens = vocabulary.tokens
    short = [
        (token_id, tokens[token_id].decode("utf-8", "surrogateescape"))
        for token_id in ids.tolist()
        if len(tokens[token_id]) <= 4
    ]
    found = [(ord(text), token_id) for token_id, text in short if len(text) == 1]
    table = np.array(found, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _list_joined_pairs(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return ``left << 21 | right`` of the characters that stand together in what merges make."""
    results = np.unique(vocabulary.merge_results).tolist()
    tokens = vocabulary.tokens
    # A line feed between tokens would do, if tokens did not hold line feeds: U+10FFFF is no character.
    border = "\U0010ffff"
    joined = border.join(tokens[i].decode("utf-8", "surrogateescape") for i in results)
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    points = points.astype(np.int64)
    keys = points[:-1] << 21 | points[1:]
    is_inside = (points[:-1] != ord(border)) & (points[1:] != ord(border))
    return np.unique(keys[is_inside])


def describe_missing_token(
    model: kernel.EncoderModel, text: TextArray, position: int, parts: NDArray[np.int64]
) -> DataError:
    """Return the error for a byte or a character at ``position`` of some parts that has no token."""
    is_part = (parts[:, 0] <= position) & (position < parts[:, 1])
    stop = int(parts[is_part, 1][0])
    kind = "byte"
    found = f"0x{int(text[position]):02X}"
    if model.rules[kernel.CHARACTERS]:
        character = int(characters_decode(text, position, stop))
        kind = "character"
        content = text[position : position + (character & 7)].tobytes()
        found = shorten_value(content.decode("utf-8", "backslashreplace"))
    return DataError(
        f"cannot encode the {kind} {found} at byte {position} of the text: the vocabulary has "
        f"no token for it; use a vocabulary with all {kind}s of the text, or one with an "
        "unknown token"
    )
