"""The house rules, measured: sizes, names, layers, texts, and what work costs as its input grows."""
