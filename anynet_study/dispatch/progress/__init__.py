"""How far a study is, how fast it gets on, and when it will be done."""
