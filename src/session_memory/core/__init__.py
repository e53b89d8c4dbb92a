"""Pure values and functions: no files, no SQL, no clock."""
