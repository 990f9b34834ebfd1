"""The tables of scale: what was measured, what follows for more text, and a line for the README."""

from records import Record
from tables import format_table

SHARE = 0.75
"""Of its free memory a run takes this much where no budget is given."""

KINDS = {
    "free": "",
    "counting": "counting alone, budget {memory:.1f} GB",
    "bounded": "budget and address space {memory:.1f} GB",
}


def render_scale(results: Record) -> str:
    """Return all tables, as Markdown."""
    parts = [
        describe_circumstances(results),
        render_measured(results),
        describe_law(results["law"]),
        describe_checks(results["checks"]),
        render_extrapolated(results),
        describe_fits(results),
    ]
    return "\n\n".join(parts) + "\n"


def render_scale_summary(results: Record) -> str:
    """Return the sentence of the README."""
    run = find_bounded(results)
    far = results["extrapolated"][-1]
    return (
        f"{format_size(run['n_bytes'])} of English with new words put in as they would come: "
        f"{results['vocab_size']:,} tokens in {run['seconds']:.0f} seconds on {results['threads']} "
        f"threads, measured in a bound of {run['memory'] / 1e9:.0f} GB, of which "
        f"{run['peak_rss_nbytes'] / 1e9:.1f} GB were used; for {format_size(far['n_bytes'])} the fits "
        f"say {format_duration(far['counting'] + far['merging'])} on a "
        f"machine with {find_memory(far)} GiB.\n"
    )


def find_bounded(results: Record) -> Record:
    """Return the run on the largest text."""
    return next(run for run in results["runs"] if run["kind"] == "bounded")


def describe_circumstances(results: Record) -> str:
    """Return what holds for all tables: machine, versions, date."""
    machine, memory = results["machine"], results["machine"]["memory_nbytes"]
    versions = ", ".join(f"{name} {text}" for name, text in sorted(results["versions"].items()))
    return (
        f"{machine['cpu']}, {machine['cores']} cores"
        + (f", {memory / 2**30:.0f} GiB" if memory else "")
        + f", {machine['system']}, Python {machine['python']}; {versions}; measured "
        f"{results['date']} in {results['seconds'] / 60:.0f} minutes. {results['vocab_size']:,} tokens, "
        f"{results['threads']} threads; GB are 10⁹ bytes."
    )


def render_measured(results: Record) -> str:
    """Return the table of runs."""
    rows = [
        [
            *("text", "within", "seconds", "counting", "merging", "MB/s", "peak RSS, MB"),
            *("to disk, MB", "distinct words", "by the law"),
        ]
    ]
    law = results["law"]
    for run in results["runs"]:
        predicted = law["factor"] * run["n_bytes"] ** law["exponent"]
        rows.append(
            [
                format_size(run["n_bytes"]),
                KINDS[run["kind"]].format(memory=run.get("memory", 0) / 1e9),
                f"{run['seconds']:.1f}" if "seconds" in run else "",
                f"{run['counting']:.1f}",
                f"{run['merging']:.1f}" if "merging" in run else "",
                f"{run['n_bytes'] / 1e6 / run.get('seconds', run['counting']):.0f}",
                f"{run['peak_rss_nbytes'] / 1e6:,.0f}",
                f"{run['n_bytes_written'] / 1e6:,.0f}" if run["n_bytes_written"] >= 1e6 else "",
                f"{run['n_distinct_words']:,}",
                f"{100 * (run['n_distinct_words'] / predicted - 1):+.1f} %",
            ]
        )
    return "**Measured**\n\n" + format_table(rows, n_left=2)


def describe_law(law: Record) -> str:
    """Return the law by which new words come, and how well it fits the corpus."""
    misses = [
        abs(law["factor"] * n_bytes ** law["exponent"] / n_words - 1)
        for n_bytes, n_words in law["points"]
    ]
    return (
        f"The law, fitted to the corpus itself: *n* bytes have {law['factor']:.3g} · "
        f"*n*^{law['exponent']:.3f} distinct words; from an eighth of the corpus to all of it, "
        f"{format_size(law['round_nbytes'])}, it is off by {100 * max(misses):.1f} % at most."
    )


def describe_checks(checks: list[Record]) -> str:
    """Return what had to hold."""
    phrases = [
        check["what"] if check["equal"] else f"**not so:** {check['what']}" for check in checks
    ]
    return f"Checked: {'; '.join(phrases)}."


def render_extrapolated(results: Record) -> str:
    """Return the table of larger texts."""
    rows = [
        [
            *("text", "distinct words, millions", "counting", "merging", "together"),
            *("memory, GB", "least budget, GB", "a machine with"),
        ]
    ]
    for point in results["extrapolated"]:
        rows.append(
            [
                format_size(point["n_bytes"]),
                f"{point['n_distinct_words'] / 1e6:.1f}",
                format_duration(point["counting"]),
                format_duration(point["merging"]),
                format_duration(point["counting"] + point["merging"]),
                f"{point['peak_rss_nbytes'] / 1e9:.1f}",
                f"{point['least_budget_nbytes'] / 1e9:.1f}",
                f"{find_memory(point)} GiB",
            ]
        )
    sizes = [format_size(point["n_bytes"]) for point in results["extrapolated"]]
    title = (
        f"**Extrapolated: {sizes[0]} from smaller texts, {sizes[1]} from all that were trained on**"
    )
    return f"{title}\n\n{format_table(rows)}"


def describe_fits(results: Record) -> str:
    """Return the exponents, and how far the largest run is from what was foretold of it."""
    near, far = results["extrapolated"]
    run = find_bounded(results)
    said, took = (point["counting"] + point["merging"] for point in (near, run))
    return (
        f"Seconds of counting grow as *n*^{far['counting_exponent']:.2f}, those of merging as "
        f"*n*^{far['merging_exponent']:.2f}, memory by {far['nbytes_a_word']:.0f} bytes a distinct word. "
        f"Of {format_size(near['n_bytes'])}, {said:.0f} s and {near['peak_rss_nbytes'] / 1e9:.1f} GB were "
        f"foretold; measured were {took:.0f} s and {run['peak_rss_nbytes'] / 1e9:.1f} GB."
    )


def format_size(n_bytes: float) -> str:
    """Return bytes of text in a unit that suits them."""
    if n_bytes >= 0.9995e12:
        return f"{n_bytes / 1e12:.3g} TB"
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 0.9995e9 else f"{n_bytes / 1e6:.3g} MB"


def format_duration(seconds: float) -> str:
    """Return seconds in a unit that suits them."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def find_memory(point: Record) -> int:
    """Return the GiB, a power of two, of which three quarters are what a text takes."""
    n_bytes = max(point["peak_rss_nbytes"], point["least_budget_nbytes"])
    n_gibibytes = 1
    while SHARE * n_gibibytes * 2**30 < n_bytes:
        n_gibibytes *= 2
    return n_gibibytes
