"""One folder per agent: how its logs are found and turned into `Normalized` values."""
