"""Detection, measuring and distilling over many machines, with the answers of a single one.

Sessions travel as Parquet. Dask runs the same pure functions as the local commands, part by part;
DuckDB does the grouping. Packages of the extra `fleet` are imported here and nowhere else.
"""
