"""Pure values and decisions that several features share: no files, no SQL, no clock.

schema, facts, event_ids, session_reference   what a session is, and how it is named
cursor, fingerprint, hashing, ownership       how files and events are recognised
pauses, spool, jobs                           what is captured, when, and what waits
digest, work_state, observation_order         what is kept of a session
commands, typed_commands, file_edits          what its calls did
index_text                                    what can be searched
retention, forget, rescan                     what leaves the store, and why
pricing, spend                                what sessions and our own model calls cost
project/, loop/, sharing/, text/              projects; patterns and effects; the hub; text
"""
