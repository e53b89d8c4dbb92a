"""The byte budget: which sessions give up their raw text, in what order and why.

`ingest/retention.py` feeds a plan with what is stored and has it carried out; the settings are in
`settings`, the SQL in `store/sqlite/retention.py`.
"""
