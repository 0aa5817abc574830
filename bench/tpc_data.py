"""The tables and queries of a benchmark as DuckDB makes them, for bench/tpc and bench/restore.

usage: tpc_data.py tpch|tpcds SCALE DIRECTORY

Writes TABLE.csv for each table, tables.sql, which makes them and loads the files in psql, one statement in a line, and queries.csv: a
number and a query. DuckDB and its generators are Python packages, which come by pip, as it is configured, into the directory: without
a network, from a directory of wheels, with PIP_NO_INDEX=1 and PIP_FIND_LINKS in the environment.
"""
import csv
import glob
import importlib
import os
import subprocess
import sys

DUCKDB_VERSION = "1.5.5"
GENERATORS = {"tpch": "dbgen", "tpcds": "dsdgen"}

# The primary keys, and what else the queries of TPC-H look rows up by; the tables of TPC-DS that are not here have their first column.
KEYS = {
    "tpch": {
        "customer": "c_custkey",
        "lineitem": "l_orderkey, l_linenumber",
        "nation": "n_nationkey",
        "orders": "o_orderkey",
        "part": "p_partkey",
        "partsupp": "ps_partkey, ps_suppkey",
        "region": "r_regionkey",
        "supplier": "s_suppkey",
    },
    "tpcds": {
        "catalog_returns": "cr_item_sk, cr_order_number",
        "catalog_sales": "cs_item_sk, cs_order_number",
        "inventory": "inv_date_sk, inv_item_sk, inv_warehouse_sk",
        "store_returns": "sr_item_sk, sr_ticket_number",
        "store_sales": "ss_item_sk, ss_ticket_number",
        "web_returns": "wr_item_sk, wr_order_number",
        "web_sales": "ws_item_sk, ws_order_number",
    },
}
INDEXES = {
    "tpch": ["lineitem (l_partkey, l_suppkey)", "orders (o_custkey)", "customer (c_nationkey)"],
    "tpcds": ["customer (c_current_addr_sk)", "date_dim (d_date)"],
}


def postgres_type(name):
    return {"VARCHAR": "text"}.get(name, name.lower())


def install_packages(benchmark, directory):
    packages = [f"{name}=={DUCKDB_VERSION}" for name in ("duckdb", f"duckdb-extension-{benchmark}")]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--target", directory]
    subprocess.run(pip + packages, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}, check=True)
    sys.path.insert(0, directory)


def main(benchmark, scale, directory):
    install_packages(benchmark, os.path.join(directory, "packages"))
    database = importlib.import_module("duckdb").connect()
    package = importlib.import_module(f"duckdb_extension_{benchmark}").__path__[0]
    (extension,) = glob.glob(f"{package}/extensions/*/{benchmark}.duckdb_extension")
    database.execute(f"LOAD '{extension}'")
    database.execute(f"CALL {GENERATORS[benchmark]}(sf = {float(scale)})")
    tables = [row[0] for row in database.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
    with open(os.path.join(directory, "tables.sql"), "w", encoding="utf-8") as script:
        for table in tables:
            columns = database.execute(
                "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table]
            ).fetchall()
            file = os.path.join(directory, f"{table}.csv")
            database.execute(f"COPY {table} TO '{file}' (HEADER false, DELIMITER ',', NULL '')")
            key = KEYS[benchmark].get(table, columns[0][0])
            script.write(f"CREATE TABLE {table} ({', '.join(f'{name} {postgres_type(kind)}' for name, kind in columns)});\n")
            script.write(f"\\copy {table} FROM '{file}' (FORMAT csv)\n")
            script.write(f"ALTER TABLE {table} ADD PRIMARY KEY ({key});\n")
        for index in INDEXES[benchmark]:
            script.write(f"CREATE INDEX ON {index};\n")
    with open(os.path.join(directory, "queries.csv"), "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(database.execute(f"SELECT query_nr, query FROM {benchmark}_queries() ORDER BY 1").fetchall())


main(*sys.argv[1:])
