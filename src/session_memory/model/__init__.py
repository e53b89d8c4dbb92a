"""The one door to language models: typed requests, answers with usage, a hard budget."""
