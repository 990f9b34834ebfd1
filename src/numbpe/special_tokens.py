"""Special tokens: checking them, and finding their ids."""

from collections.abc import Iterable, Mapping, Sequence

from numbpe.errors import ArgumentError, shorten_value
from numbpe.recipes import N_BYTES, RECIPES


def check_special_tokens(special_tokens: Iterable[str | bytes] | None) -> tuple[str, ...]:
    """Return ``special_tokens`` as a tuple, in the order given, which fixes their ids.

    Raises:
        ArgumentError: one that is no str (or UTF-8 bytes), is empty, stands twice or holds an
            unpaired surrogate; a bare str, whose letters would each become a special token; a set,
            which has no order; anything else that is no list.

    Example:
        >>> check_special_tokens(["<|endoftext|>", b"<pad>"])
        ('<|endoftext|>', '<pad>')
    """
    if special_tokens is None:
        return ()
    if isinstance(special_tokens, (str, bytes)):
        raise ArgumentError(
            f"special_tokens must be a list of str, not {shorten_value(special_tokens)}; "
            f"write [{shorten_value(special_tokens)}]"
        )
    if isinstance(special_tokens, (set, frozenset)) or not isinstance(special_tokens, Iterable):
        raise ArgumentError(
            "special_tokens must be a list of str, whose order fixes their ids, not the "
            f"{type(special_tokens).__name__} {shorten_value(special_tokens)}; "
            'write ["<|endoftext|>"], or [] for none'
        )
    positions: dict[str, int] = {}
    for position, value in enumerate(special_tokens):
        token = _decode_special_token(value, position)
        if token in positions:
            raise ArgumentError(
                f"the special token {shorten_value(token)} is given twice, as special_tokens"
                f"[{positions[token]}] and [{position}]; give it once"
            )
        positions[token] = position
    return tuple(positions)


def _decode_special_token(value: object, position: int) -> str:
    where = f"special_tokens[{position}]"
    if not isinstance(value, (str, bytes)):
        raise ArgumentError(
            f"{where} is {shorten_value(value)}, of type {type(value).__name__}; "
            "a special token must be a str"
        )
    if not value:
        raise ArgumentError(f"{where} is empty; leave it out or give it some text")
    if isinstance(value, str):
        encode_special_token(value)
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise ArgumentError(f"{where} is {shorten_value(value)}, which is not UTF-8") from None


def encode_special_token(token: str) -> bytes:
    """Return the UTF-8 bytes of a special token; ArgumentError if it holds a surrogate."""
    try:
        return token.encode("utf-8")
    except UnicodeEncodeError:
        raise ArgumentError(
            f"the special token {shorten_value(token)} holds an unpaired surrogate, "
            "which no UTF-8 text can hold"
        ) from None


def assign_special_token_ids(
    tokens: Sequence[bytes],
    merges: Sequence[tuple[bytes, bytes]],
    special_tokens: Iterable[str] | Mapping[str, int] | None,
) -> dict[str, int]:
    """Return the id of every special token of a vocabulary whose ids are given.

    tokens: the bytes of every id, empty where an id is not in use.

    Ids in a mapping are taken as they are. A bare name has the id whose token has its bytes, but a
    byte or what a merge makes is an ordinary token and keeps its id: then the special token has the
    second id with these bytes, if the ids are numbered as a recipe numbers them, or a new id after
    the last. ArgumentError where two ids fit and no recipe tells them apart.
    """
    if isinstance(special_tokens, Mapping):
        check_special_tokens(special_tokens)
        return {name: int(token_id) for name, token_id in special_tokens.items()}
    names = check_special_tokens(special_tokens)
    contents = [encode_special_token(name) for name in names]
    ids_by_content: dict[bytes, list[int]] = {content: [] for content in contents}
    for token_id, token in enumerate(tokens):
        if token in ids_by_content:
            ids_by_content[token].append(token_id)
    made = {left + right for left, right in merges}
    special_ids: dict[str, int] = {}
    next_id = len(tokens)
    for position, (name, content) in enumerate(zip(names, contents, strict=True)):
        candidates = ids_by_content[content]
        n_ordinary = 1 if candidates and (len(content) == 1 or content in made) else 0
        if len(candidates) == n_ordinary:
            special_ids[name] = next_id
            next_id += 1
        elif len(candidates) == 1:
            special_ids[name] = candidates[0]
        else:
            first_id = _find_recipe_block(tokens, len(merges), contents)
            if first_id is None:
                raise ArgumentError(
                    f"the special token {shorten_value(name)} may have any of the ids "
                    f"{shorten_value(candidates)}; say which: special_tokens={{{name!r}: id}}"
                )
            special_ids[name] = first_id + position
    return special_ids


def _find_recipe_block(tokens: Sequence[bytes], n_merges: int, contents: list[bytes]) -> int | None:
    """Return where all special tokens lie in a row as a recipe numbers them, None if nowhere."""
    if len(tokens) != N_BYTES + n_merges + len(contents):
        return None
    for recipe in RECIPES.values():
        first_ids = recipe.first_ids(n_merges=n_merges, n_special_tokens=len(contents))
        first_id = first_ids["special_tokens"]
        if list(tokens[first_id : first_id + len(contents)]) == contents:
            return first_id
    return None
