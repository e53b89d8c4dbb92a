"""Answers about what is stored, for the MCP server, the command line and Python programs alike.

Each mem_ tool is one function `(context, request) -> answer` in the module of its name. An answer
depends on the store, the request and the time alone. Nothing is written but the record of a
completion check, and not even that in read-only mode (SCP-13, OPS-06).

    context, requests                     the two parameters of those functions
    scope, lanes, routing, breadth        which sessions a question is about
    material, items                       what those sessions said, and how answers show it
    context_pack, pack_*                  the pack: size, selection, sections, text, stats, sync
    search, event_search, same_words      search
    session_fields                        how every answer describes a session
"""
