"""The specification in plain Python: what every kernel must equal, written to be read, not to be quick.

Tests and benchmarks compare against this module. It shares no code with what it checks.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import regex

Merge = tuple[bytes, bytes]

GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def split_specials(text: str, special_tokens: Sequence[str]) -> list[str]:
    """Return the documents of ``text``: what lies between special tokens.

    Special tokens are literal; where several begin at one place the longest one counts.
    """
    if not special_tokens:
        return [text]
    longest_first = sorted(special_tokens, key=len, reverse=True)
    separator = "|".join(regex.escape(token) for token in longest_first)
    return list(regex.split(separator, text))


def split_pieces(text: str, patterns: Sequence[str]) -> list[str]:
    """Return the pieces of a document, cut by each of ``patterns`` in turn.

    What lies between two matches is a piece of its own, so that the pieces add up to the text.
    """
    pieces = [text] if text else []
    for pattern in patterns:
        compiled = regex.compile(pattern, flags=regex.V1)
        finer: list[str] = []
        for piece in pieces:
            end = 0
            for match in compiled.finditer(piece):
                if match.start() == match.end():
                    continue
                if match.start() > end:
                    finer.append(piece[end : match.start()])
                finer.append(match.group())
                end = match.end()
            if end < len(piece):
                finer.append(piece[end:])
        pieces = finer
    return pieces


def count_words(
    documents: Iterable[str],
    *,
    patterns: Sequence[str] = (GPT2_PATTERN,),
    special_tokens: Sequence[str] = (),
) -> dict[bytes, int]:
    """Return how often each piece occurs in ``documents``, which are cut at special tokens first."""
    counts: Counter[bytes] = Counter()
    for text in documents:
        for document in split_specials(text, special_tokens):
            counts.update(piece.encode() for piece in split_pieces(document, patterns))
    return dict(counts)


def count_pairs(words: Mapping[tuple[int, ...], int]) -> Counter[tuple[int, int]]:
    """Return how often each pair of adjacent symbols stands in ``words``; overlaps all count."""
    pairs: Counter[tuple[int, int]] = Counter()
    for word, count in words.items():
        for pair in itertools.pairwise(word):
            pairs[pair] += count
    return pairs


def merge_pair(word: Sequence[int], pair: tuple[int, int], new: int) -> tuple[int, ...]:
    """Return ``word`` with ``pair`` replaced by ``new``, from the left, without overlaps."""
    merged: list[int] = []
    i = 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


def train_symbols(
    words: Mapping[tuple[int, ...], int],
    n_merges: int,
    *,
    tie: str,
    n_symbols: int = 256,
    min_frequency: int = 1,
    max_length: int | None = None,
) -> list[tuple[tuple[int, int], int]]:
    """Return the merges over any alphabet, each with its count, every pair recounted at each step.

    words : symbols of each word and its count
    tie : "greatest_bytes", the greatest (left string, right string) among equal counts, or
        "smallest_ids", the smallest (left number, right number)
    max_length : pairs that would make a longer token are not merged
    """
    present = Counter(dict(words))
    strings: list[tuple[int, ...]] = [(symbol,) for symbol in range(n_symbols)]
    merges: list[tuple[tuple[int, int], int]] = []

    def precedence(item: tuple[tuple[int, int], int]) -> tuple[object, ...]:
        (left, right), count = item
        if tie == "greatest_bytes":
            return count, strings[left], strings[right]
        return count, -left, -right

    for _ in range(n_merges):
        candidates = [
            item
            for item in count_pairs(present).items()
            if item[1] >= max(1, min_frequency)
            and (max_length is None or sum(len(strings[s]) for s in item[0]) <= max_length)
        ]
        if not candidates:
            break
        pair, count = max(candidates, key=precedence)
        new = len(strings)
        strings.append(strings[pair[0]] + strings[pair[1]])
        merges.append((pair, count))
        remerged: Counter[tuple[int, ...]] = Counter()
        for word, number in present.items():
            remerged[merge_pair(word, pair, new)] += number
        present = remerged
    return merges


def train_bpe(
    words: Mapping[bytes, int],
    n_merges: int,
    *,
    tie: str = "greatest_bytes",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
) -> list[Merge]:
    """Return the merges of byte-level BPE over word counts, as pairs of byte strings."""
    symbols = {tuple(word): count for word, count in words.items()}
    merges = train_symbols(
        symbols, n_merges, tie=tie, min_frequency=min_frequency, max_length=max_token_bytes
    )
    strings = [bytes([byte]) for byte in range(256)]
    result: list[Merge] = []
    for (left, right), _ in merges:
        result.append((strings[left], strings[right]))
        strings.append(strings[left] + strings[right])
    return result


def extend_bpe(
    words: Mapping[bytes, int],
    vocab: Mapping[bytes, int],
    merges: Sequence[Merge],
    n_tokens: int,
    *,
    tie: str = "greatest_bytes",
    ignore_merges: bool = False,
) -> tuple[dict[bytes, int], list[Merge], list[int]]:
    """Return a vocabulary of ``n_tokens`` that goes on where another ends, and the new merges' counts.

    At each step words are encoded anew with all merges so far. A merge that makes what is a token
    already makes that token.
    """
    grown, all_merges, counts = dict(vocab), list(merges), []
    while len(grown) < n_tokens:
        present: Counter[tuple[int, ...]] = Counter()
        for word, count in words.items():
            ids = encode_piece(word, grown, all_merges, ignore_merges=ignore_merges)
            present[tuple(ids)] += count
        contents = {token_id: content for content, token_id in grown.items()}

        def precedence(
            item: tuple[tuple[int, int], int], contents: Mapping[int, bytes] = contents
        ) -> tuple[object, ...]:
            (left, right), count = item
            if tie == "greatest_bytes":
                return count, contents[left], contents[right]
            return count, -left, -right

        candidates = count_pairs(present).items()
        if not candidates:
            break
        (left, right), count = max(candidates, key=precedence)
        all_merges.append((contents[left], contents[right]))
        counts.append(count)
        grown.setdefault(contents[left] + contents[right], max(grown.values()) + 1)
    return grown, all_merges, counts


def encode_word(word: bytes, merges: Sequence[Merge]) -> list[bytes]:
    """Return the tokens of one word: the merge of lowest rank, then leftmost, one at a time."""
    ranks = {merge: rank for rank, merge in enumerate(merges)}
    tokens = [bytes([byte]) for byte in word]
    while len(tokens) > 1:
        rank, place = min(
            (ranks.get(pair, len(ranks)), i) for i, pair in enumerate(itertools.pairwise(tokens))
        )
        if rank == len(ranks):
            break
        tokens[place : place + 2] = [tokens[place] + tokens[place + 1]]
    return tokens


def encode_piece(
    piece: bytes,
    vocab: Mapping[bytes, int],
    merges: Sequence[Merge],
    *,
    over_characters: bool = False,
    by_result: bool = False,
    ignore_merges: bool = False,
    byte_fallback: bool = False,
    unk_id: int | None = None,
    fuse_unk: bool = False,
) -> list[int]:
    """Return the ids of one piece by all the rules that a model may have.

    vocab: ids by spelling; over characters, that of a byte token is ``<0x0A>``.
    Raises ValueError for a byte or a character without a token where no rule helps.
    """
    if ignore_merges and piece in vocab:
        return [vocab[piece]]
    ids: list[int] = []
    was_unknown = False
    for symbol in _list_symbols(piece) if over_characters else [bytes([byte]) for byte in piece]:
        names = [b"<0x%02X>" % byte for byte in symbol]
        is_unknown = False
        if symbol in vocab:
            ids.append(vocab[symbol])
        elif byte_fallback and all(name in vocab for name in names):
            ids += [vocab[name] for name in names]
        elif unk_id is None:
            raise ValueError(symbol)
        else:
            is_unknown = True
            if not (was_unknown and fuse_unk):
                ids.append(unk_id)
        was_unknown = is_unknown
    results = [vocab[left + right] for left, right in merges]
    ranks = results if by_result else range(len(merges))
    table = {
        (vocab[left], vocab[right]): (rank, result)
        for (left, right), rank, result in zip(merges, ranks, results, strict=True)
    }
    return _merge_ids(ids, table)


def _list_symbols(piece: bytes) -> list[bytes]:
    """Return the characters of ``piece``, and each byte that belongs to none."""
    text = piece.decode("utf-8", "surrogateescape")
    return [character.encode("utf-8", "surrogateescape") for character in text]


def _merge_ids(ids: list[int], table: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    while True:
        candidates = [
            (*table[pair], place)
            for place, pair in enumerate(itertools.pairwise(ids))
            if pair in table
        ]
        if not candidates:
            return ids
        _, result, place = min(candidates, key=lambda candidate: (candidate[0], candidate[2]))
        ids[place : place + 2] = [result]
