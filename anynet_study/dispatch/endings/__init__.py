"""How jobs and runs ended that did not end well, and which are tried again."""
