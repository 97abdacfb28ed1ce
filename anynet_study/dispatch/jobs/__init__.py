"""The jobs of a study: which were submitted, which live, their logs and their end."""
