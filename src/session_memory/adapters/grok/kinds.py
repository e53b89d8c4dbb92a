"""Kinds of Grok Build updates that are known and hold nothing to keep: they are only counted."""

from __future__ import annotations

IGNORED = frozenset(
    {
        "agent_changed",
        "auto_compact_started",
        "auto_continue_completed",
        "available_commands_update",
        "background_tasks",
        "config_option_update",
        "current_mode_update",
        "diff_review",
        "feedback_request",
        "goal_updated",
        "hook_annotation",
        "hooks_changed",
        "image_compressed",
        "interaction_resolved",
        "last_turn_summary",
        "memory_dream_completed",
        "memory_files",
        "memory_flush_completed",
        "memory_flush_started",
        "memory_session_saved",
        "pending_interaction",
        "plugin_updates_installed",
        "plugins_changed",
        "reasoning_completed",
        "response_completed",  # with -started: parts of what turn_completed sums up
        "response_started",
        "scheduled_task_created",
        "scheduled_task_deleted",
        "scheduled_task_fired",
        "session_info_update",
        "session_recap_unavailable",
        "session_status",
        "session_summary_generated",  # the title also stands in summary.json
        "subagent_permission_decision",
        "subagent_progress",
        "tool_call_delta_chunk",
        "usage_update",
        "workflow_updated",
    }
)
