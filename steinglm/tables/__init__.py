"""A person's own table: read from a file without trust, understood column by column, made ready for the networks.

`reading` turns bytes into a table, `columns` tells what each column is, `cleaning` makes a data set and a report of it.
"""
