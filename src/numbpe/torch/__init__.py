"""Language models over tuples of a combinatorial vocabulary, on PyTorch: ``numbpe[torch]``.

Nothing else of numbpe imports this package, and it is the only part that needs PyTorch.

Example:
    >>> import numbpe
    >>> from numbpe.torch import LanguageModel, ModelSettings
    >>> tokenizer = numbpe.CombinatorialTokenizer.load("tokenizer.json")
    >>> model = LanguageModel(tokenizer.sizes, ModelSettings(width=256, n_layers=4, n_heads=4))
    >>> model.loss(torch.tensor(tokenizer.encode(text)[None, :257])).backward()
"""

try:
    import torch as _torch  # noqa: F401 - only to say what is missing
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "cannot import numbpe.torch: PyTorch is not installed; type: pip install 'numbpe[torch]'",
        name="torch",
    ) from None

from numbpe.torch.factors import ChainedHead, FactoredEmbedding
from numbpe.torch.flat import FlatHead
from numbpe.torch.language_model import LanguageModel, ModelSettings
from numbpe.torch.measures import Evaluation, convert_to_bits_per_byte, count_macs
from numbpe.torch.optimizers import Muon
from numbpe.torch.training import TrainingSettings, evaluate_model, train_model

__all__ = [
    "ChainedHead",
    "Evaluation",
    "FactoredEmbedding",
    "FlatHead",
    "LanguageModel",
    "ModelSettings",
    "Muon",
    "TrainingSettings",
    "convert_to_bits_per_byte",
    "count_macs",
    "evaluate_model",
    "train_model",
]
