"""Definitions of fewer tokens."""

from dataclasses import replace

from numbpe.arrays import Tokens
from numbpe.definition import (
    AddedToken,
    Template,
    TemplatePiece,
    TokenizerDefinition,
)
from numbpe.errors import ArgumentError, shorten_value


def truncate_definition(definition: TokenizerDefinition, vocab_size: int) -> TokenizerDefinition:
    """Return the definition of ``vocab_size`` tokens that has the first merges of this one.

    All ids move along. An added token that a merge makes goes with it unless it is special.

    Raises ArgumentError for a size that is not possible.
    """
    vocabulary, new_ids = definition.vocabulary.truncated_with_ids(vocab_size)
    unk_id = definition.rules.unk_id
    template = definition.template
    return replace(
        definition,
        vocabulary=vocabulary,
        rules=replace(
            definition.rules, unk_id=None if unk_id is None else _move(new_ids, unk_id, "unk_token")
        ),
        added_tokens=_move_added_tokens(definition.added_tokens, new_ids),
        template=Template(
            _move_pieces(template.single, new_ids), _move_pieces(template.pair, new_ids)
        ),
        roles={role: _move(new_ids, id, role) for role, id in definition.roles.items()},
    )


def _move(new_ids: Tokens, token_id: int, what: str) -> int:
    new_id = int(new_ids[token_id])
    if new_id < 0:
        raise ArgumentError(
            f"cannot cut the vocabulary so far: the token {token_id} is needed ({what}), and no "
            "merge that is left makes it; choose a greater size"
        )
    return new_id


def _move_pieces(pieces: tuple[TemplatePiece, ...], new_ids: Tokens) -> tuple[TemplatePiece, ...]:
    return tuple(
        (piece if isinstance(piece, str) else _move(new_ids, piece, "template"), type_id)
        for piece, type_id in pieces
    )


def _move_added_tokens(
    added_tokens: tuple[AddedToken, ...], new_ids: Tokens
) -> tuple[AddedToken, ...]:
    return tuple(
        replace(token, id=_move(new_ids, token.id, shorten_value(token.content)))
        for token in added_tokens
        if token.special or new_ids[token.id] >= 0
    )
