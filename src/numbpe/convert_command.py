"""``numbpe convert``: a tokenizer's file in another format, with the same ids."""

import argparse

from numbpe.command_options import (
    CommandReport,
    add_output_options,
    add_tokenizer_options,
    collect_load_options,
)

_DESCRIPTION = """Write a tokenizer in another format: NAME.json (a tokenizer.json), NAME.tiktoken, NAME.pkl (for
NAME_vocab.pkl and NAME_merges.pkl), or a folder for vocab.json and merges.txt.

The new file is loaded again and must give the same ids; if it does not, nothing is written."""

_EPILOG = """examples:
  numbpe convert artifacts/owt.json owt.tiktoken
  numbpe convert cl100k_base.tiktoken out/tokenizer.json --check owt.txt"""


def run(arguments: argparse.Namespace) -> CommandReport:
    """Convert as the command line says, and return the figures."""
    from numbpe.converting import convert

    report = convert(
        arguments.tokenizer,
        arguments.target,
        text_files=arguments.check,
        **collect_load_options(arguments),
    )
    left_out = list(report.left_out)
    lines = [
        f"wrote    {report.target}: {report.vocab_size:,} tokens, {report.n_merges:,} merges",
        f"checked  {report.n_texts:,} texts, {report.n_tokens:,} tokens: the same ids",
    ]
    if left_out:
        lines.append(
            f"note     the file does not hold: {', '.join(left_out)}; give it when loading"
        )
    figures = {
        "source": str(report.source),
        "target": str(report.target),
        "vocab_size": report.vocab_size,
        "n_merges": report.n_merges,
        "n_texts": report.n_texts,
        "n_tokens": report.n_tokens,
        "left_out": left_out,
    }
    return CommandReport(figures, lines)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``convert`` to the sub-commands."""
    parser = commands.add_parser(
        "convert",
        help="write a tokenizer in another format",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_tokenizer_options(parser, is_positional=True)
    parser.add_argument("target", metavar="TARGET", help="the file or folder to write")
    parser.add_argument(
        "--check",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="text files to compare the ids of, the first 4 MB of each",
    )
    add_output_options(parser)
