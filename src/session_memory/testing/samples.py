"""Sample sessions of an invented web shop, for a first look on a machine without agent logs."""

from __future__ import annotations

from pathlib import Path

from session_memory.adapters.claude.log_builder import (
    START,
    ClaudeLog,
    call_block,
    text_block,
    thinking_block,
    tokens,
)

SHOP = "/home/dev/shop"
SITE = "/home/dev/shop-site"
DAY_MS = 24 * 3600 * 1000

_NO_MODULE = (
    "ImportError while loading conftest '/home/dev/shop/tests/conftest.py'.\n"
    "tests/conftest.py:3: in <module>\n    from shop.cart import Cart\n"
    "E   ModuleNotFoundError: No module named 'shop'"
)
_WRONG_TOTAL = (
    "F.....                                                    [100%]\n"
    "=================== FAILURES ===================\n"
    "_______________ test_discount_is_applied_once _______________\n"
    "    assert cart.total() == Decimal('90.00')\n"
    "E   AssertionError: assert Decimal('81.00') == Decimal('90.00')\n"
    "tests/test_cart.py:31: AssertionError\n"
    "1 failed, 5 passed in 0.21s"
)


def write_samples(home: Path) -> list[Path]:
    """Write the sample sessions below a Claude home; the same files every time."""
    fix = bug_fix()
    logs = [fix, second_opinion(fix), refactor(), migration(), *research()]
    return [log.write(home) for log in logs]


def bug_fix() -> ClaudeLog:
    """A failing test, its cause, the cure, and the proof."""
    log = ClaudeLog(101, cwd=SHOP)
    log.prompt("test_discount_is_applied_once fails since yesterday. Find out why and fix it.")
    log.think("The name suggests that the discount is applied twice. Run the test first.")
    log.run("pytest -q tests/test_cart.py", _NO_MODULE, exit_code=4)
    log.say("The package is not on the path; this repository keeps it under src.")
    log.run("PYTHONPATH=src pytest -q tests/test_cart.py", _WRONG_TOTAL, exit_code=1)
    log.read(
        f"{SHOP}/src/shop/cart.py",
        "class Cart:\n    def subtotal(self):\n        return self._discounted(sum(self.prices))\n"
        "\n    def total(self):\n        return self._discounted(self.subtotal())\n",
    )
    log.edit(
        f"{SHOP}/src/shop/cart.py",
        "return self._discounted(self.subtotal())",
        "return self.subtotal()",
    )
    log.run("PYTHONPATH=src pytest -q tests/test_cart.py", "6 passed in 0.19s")
    log.reply(
        thinking_block("", "ZW5jcnlwdGVk"),
        text_block(
            "Fixed: `total` discounted a subtotal that was discounted already. "
            "All 6 tests in tests/test_cart.py pass."
        ),
        usage=tokens(12, 180, read=21_000, write_1h=900),
        streamed=True,
    )
    log.title("Fix double discount in cart total")
    return log


def second_opinion(fix: ClaudeLog) -> ClaudeLog:
    """A fork of the bug fix that tries the other way."""
    log = fix.fork(105)
    log.prompt("Try the other way: keep total as it was and make subtotal plain.")
    log.edit(f"{SHOP}/src/shop/cart.py", "return self._discounted(sum(self.prices))", "return sum")
    log.run("PYTHONPATH=src pytest -q tests/test_cart.py", _WRONG_TOTAL, exit_code=1)
    log.say("That breaks the receipt test, so I would keep the first fix.")
    return log


def refactor() -> ClaudeLog:
    """A refactoring in which the user sets the agent right, and refuses one call."""
    log = ClaudeLog(102, cwd=SHOP, start=START + DAY_MS)
    log.branch = "tidy-prices"
    log.prompt("Move price formatting out of the templates into one function.")
    log.run("grep -rn 'format_price' src", "src/shop/views.py:14:    price = format_price(item)")
    log.edit(f"{SHOP}/src/shop/helpers.py", "", "def format_price(value): ...")
    log.prompt(
        "No, not in a new helpers module. Put it into src/shop/money.py, as with currencies."
    )
    log.say("Understood: money.py. I will move it and delete the new file.")
    log.edit(f"{SHOP}/src/shop/money.py", "", "def format_price(value): ...")
    log.run("rm src/shop/helpers.py", "")
    log.deny("Bash", {"command": "git push --force", "description": "publish the branch"})
    log.prompt("Never push by yourself, I review first.")
    log.run("pytest -q", _NO_MODULE, exit_code=4)
    log.run("PYTHONPATH=src pytest -q", "48 passed in 2.10s")
    log.say("Done: `format_price` lives in src/shop/money.py and 48 tests pass. Nothing is pushed.")
    log.title("Move price formatting into money.py")
    return log


def migration() -> ClaudeLog:
    """A long task: a plan, a crowded API, a compaction, a prompt typed meanwhile, an open end."""
    log = ClaudeLog(104, cwd=SHOP, start=START + 2 * DAY_MS)
    log.branch = "orders-v2"
    log.prompt("Migrate the orders table to integer cents. Plan first.")
    todos = [
        {"content": "write migration 0012", "status": "completed", "activeForm": "writing"},
        {"content": "convert reports", "status": "in_progress", "activeForm": "converting"},
        {"content": "drop the old column", "status": "pending", "activeForm": "dropping"},
    ]
    plan = log.new_id("toolu_")
    log.reply(
        text_block("Three steps; I start with the migration."),
        call_block(plan, "TodoWrite", {"todos": todos}),
        usage=tokens(40, 310, read=60_000, write_5m=4_000),
    )
    log.result(plan, "Todos have been modified successfully.", {"newTodos": todos, "oldTodos": []})
    log.edit(f"{SHOP}/migrations/0012_cents.sql", "", "alter table orders add column cents bigint;")
    log.queue("Keep the old column for one release, please.")
    log.api_error("529 Overloaded")
    log.wait(1800)
    log.compact(
        "Migration 0012 is written; the old column stays for one release; reports are next."
    )
    log.run("pytest -q tests/test_reports.py", _NO_MODULE, exit_code=4)
    log.run("PYTHONPATH=src pytest -q tests/test_reports.py", "2 failed, 9 passed", exit_code=1)
    log.say(
        "Two report tests still fail: they read the old column. Next step: convert the reports."
    )
    log.title("Migrate orders to integer cents", "ai")
    return log


def research() -> list[ClaudeLog]:
    """A question handed to a sub-agent, in another project."""
    log = ClaudeLog(103, cwd=SITE, start=START + 3 * DAY_MS)
    log.prompt("Which pages still use the old checkout script?")
    child = log.subagent("List every page that loads checkout-v1.js and report the paths.")
    child.run("grep -rln checkout-v1.js pages", "pages/gift.html\npages/basket.html")
    child.say("Two pages load it: pages/gift.html and pages/basket.html.")
    answer = log.rows[-1]["message"]["content"][0]["id"]
    log.wait(60)
    detail = {"status": "completed", "agentId": child.agent_id, "totalToolUseCount": 1}
    log.result(answer, [text_block("Two pages: pages/gift.html, pages/basket.html.")], detail)
    log.say("pages/gift.html and pages/basket.html still load checkout-v1.js.")
    log.title("Find pages with the old checkout script")
    return [log, child]
