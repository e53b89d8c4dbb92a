"""Guards: approved rules that an agent's hooks check mechanically, as pure functions."""
