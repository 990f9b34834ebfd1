r"""The patterns of known tokenizers, by name; each is a tuple of splits (see ``patterns``).

Taken from the tokenizer.json files of the models and from tiktoken. Those of falcon, bloom and clip
follow the transcriptions of llama.cpp. Normalizers that a model applies first (NFC for qwen2 and
qwen3.5) are not part of a pattern.
"""

from collections.abc import Mapping
from types import MappingProxyType

_CONTRACTIONS = r"'s|'t|'re|'ve|'m|'ll|'d"
_ANY_CASE_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WHITE_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_GPT2 = rf"{_CONTRACTIONS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)|\s+"

_R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

_LLAMA3 = (
    _ANY_CASE_CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    + _WHITE_SPACE
)

_QWEN2 = (
    _ANY_CASE_CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    + _WHITE_SPACE
)

_QWEN3_5 = (
    _ANY_CASE_CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
    + _WHITE_SPACE
)


def _join_cased_words(but_not: str, contractions: str) -> str:
    """Return the two alternatives for words of o200k and its kin: capitals, then small letters."""
    upper = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{but_not}]"
    lower = rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{but_not}]"
    first = r"[^\r\n\p{L}\p{N}]?"
    return f"{first}{upper}*{lower}+{contractions}|{first}{upper}+{lower}*{contractions}"


_O200K = (
    _join_cased_words("", f"{_ANY_CASE_CONTRACTIONS}?")
    + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
    + _WHITE_SPACE
)

_KIMI_K2 = (
    r"[\p{Han}]+|"
    + _join_cased_words(r"&&[^\p{Han}]", f"{_ANY_CASE_CONTRACTIONS}?")
    + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    + _WHITE_SPACE
)

_TEKKEN = _join_cased_words("", "") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _WHITE_SPACE

_DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|" + _WHITE_SPACE,
)

_GPT4_RUSTBPE = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)

_BPEASY = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _WHITE_SPACE

_FALCON = (
    r"[\p{P}\$\+<=>\^~\|`]+",
    rf"{_CONTRACTIONS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)",
    r"[0-9][0-9][0-9]",
)

_CLIP = (
    r"<\|startoftext\|>|<\|endoftext\|>|" + _CONTRACTIONS + r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
)

NAMED_PATTERNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "gpt2": (_GPT2,),
        "r50k": (_R50K,),
        "p50k": (_R50K,),
        "cl100k": (_CL100K,),
        "o200k": (_O200K,),
        "llama3": (_LLAMA3,),
        "qwen2": (_QWEN2,),
        "qwen3.5": (_QWEN3_5,),
        "deepseek_v3": _DEEPSEEK_V3,
        "kimi_k2": (_KIMI_K2,),
        "tekken": (_TEKKEN,),
        "gpt4_rustbpe": (_GPT4_RUSTBPE,),
        "rustbpe": (_GPT4_RUSTBPE,),
        "bpeasy": (_BPEASY,),
        "starcoder": (r"\p{N}", _GPT2),
        "falcon": _FALCON,
        "bloom": (r" ?[^(\s|.,!?…。，、।۔،)]+",),
        "clip": (_CLIP,),
    }
)
"""Splits by name of pattern."""
