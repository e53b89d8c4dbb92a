"""A daily log per project, compiled into a linked knowledge base."""
