"""A tokenizer with the methods of other libraries, for code that was written for those."""
