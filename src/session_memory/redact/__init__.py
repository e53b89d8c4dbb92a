"""Secrets become placeholders before anything is stored, indexed, prompted or printed.

Where a new rule goes:

    a token with a fixed prefix of a service or model API   service_rules
    the same of a cloud provider                            cloud_rules
    private keys and password hashes                        key_rules
    a value by the name before it (`db_password = ...`)     named_value_rules; names: secret_names
    a value by its place: header, cookie, URL, command      context_rules
    a value among the arguments of a call                   call_rules
    a password or phrase, judged with its line              assigned_rules
    a value by the lines around it: table, manifest         structure_rules
    an encoding that hides a name or a quote                encoding_rules
    a field of a JSON object by its name                    json_fields; names: secret_names
    rules of the user, gitleaks files                       user_rules

`frozen_rules` never changes. Every rule brings samples that must and must not match; the tests
take them from the rule. `value_checks` holds the checks that tell a secret from a placeholder,
`well_known` those that know defaults and examples, `surroundings` those that look at the text
around a value, `rule` what a rule can say, `rule_table` the order of all rules.
"""

from session_memory.redact.engine import Hit, Redactor
from session_memory.redact.placeholder import render
from session_memory.redact.private_tags import drop_private
from session_memory.redact.rule_table import RULES, Rule
from session_memory.redact.user_rules import load_user_rules, make_redactor

__all__ = [
    "RULES",
    "Hit",
    "Redactor",
    "Rule",
    "drop_private",
    "load_user_rules",
    "make_redactor",
    "render",
]
