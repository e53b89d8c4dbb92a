"""From the events of a session to its digest and observations. Rules, no model."""
