"""Looking at vocabularies: what one wastes, how several compare on a text, and how a merge happens.

``subjects`` makes plain and combinatorial tokenizers alike for all that follows. ``spellings`` and
``audit`` find rows that spell a word again, ``reachability`` those that encoding never gives,
``usage`` how often each is used by a text. ``stepping`` makes the page on which one encodes step by
step, ``report`` the page that compares tokenizers.
"""
